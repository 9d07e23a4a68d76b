// Broadcast: which words can a warp read at once? One word serves any number of lanes; two words of the same bank are
// serialized. The counter to watch is the wavefronts of the read: the number of different words in the bank that has most.
// `cargo run -p labs -- broadcast profile`.

constexpr int WORDS = 1024;                            // 32 rows of 32 banks: word w is in bank w % 32

// Word w holds 100 w.
__device__ void fill(int* words)
{
    #pragma unroll 1
    for (int w = threadIdx.x; w < WORDS; w += 32)
        words[w] = 100 * w;
    __syncthreads();
}

// Lane l reads word l * stride.
extern "C" __global__ void strided(int stride, int* out)
{
    __shared__ int words[WORDS];
    const int lane = threadIdx.x;
    fill(words);
    out[lane] = words[lane * stride];
}

// Lane l reads the word that `which` names.
extern "C" __global__ void chosen(const int* which, int* out)
{
    __shared__ int words[WORDS];
    const int lane = threadIdx.x;
    fill(words);
    out[lane] = words[which[lane]];
}
