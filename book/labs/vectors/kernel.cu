// Vectors: a lane reads 16 or 8 bytes at once, so a warp's read has four phases of 8 lanes, or two of 16; each phase
// has its own conflicts. The counter to watch is the wavefronts of the read: the sum of the degrees of its phases.
// `cargo run -p labs -- vectors profile --only "float4: stride 32"`.

constexpr int WORDS = 2048;                            // word w is in bank w % 32

// Word w holds 100 w.
__device__ void fill(int* words)
{
    #pragma unroll 1
    for (int w = threadIdx.x; w < WORDS; w += 32)
        words[w] = 100 * w;
    __syncthreads();
}

// Lane l reads the four words from word first[l] on: a multiple of 4, or it is misaligned.
extern "C" __global__ void fours(const int* first, int4* out)
{
    __shared__ __align__(16) int words[WORDS];
    const int lane = threadIdx.x;
    fill(words);
    out[lane] = *(const int4*)&words[first[lane]];
}

// The two words from word first[l] on: a multiple of 2.
extern "C" __global__ void pairs(const int* first, int2* out)
{
    __shared__ __align__(16) int words[WORDS];
    const int lane = threadIdx.x;
    fill(words);
    out[lane] = *(const int2*)&words[first[lane]];
}
