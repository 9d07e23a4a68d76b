// Padding with `ldmatrix`: rows of 128 bytes are `pitch` bytes apart. 16 more bytes move each row by one group of
// banks and keep it aligned; with 4 or 8 more, rows of a matrix would be misaligned. The counter to watch is the
// wavefronts of `ldmatrix`. `cargo run -p labs -- padding_ldmatrix profile --only "16 bytes"`.

constexpr int ROWS = 16, CHUNKS = 8;                   // a row is 8 chunks of 8 f16, 128 bytes
constexpr int MOST = ROWS * 160;

// Four 8x8 matrices: lane l gives the address of row l % 8 of matrix l / 8.
__device__ void ldmatrix(unsigned (&r)[4], const unsigned char* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

// in is (ROWS, CHUNKS * 8) f16; out holds the fragments of its (16, 16) parts, four registers per lane. One warp.
extern "C" __global__ void padded(const unsigned* in, uint4* out, int pitch)
{
    __shared__ __align__(128) unsigned char tile[MOST];
    const int lane = threadIdx.x;

    // Store one word at a time, which any of these paddings allows.
    #pragma unroll 1
    for (int row = 0; row < ROWS; ++row)
        *(unsigned*)&tile[row * pitch + lane * 4] = in[row * 32 + lane];
    __syncthreads();

    // Load: lanes 0 to 15 give the row addresses for one chunk, lanes 16 to 31 for the next.
    #pragma unroll 1
    for (int chunk = 0; chunk < CHUNKS; chunk += 2) {
        unsigned r[4];
        ldmatrix(r, &tile[lane % 16 * pitch + (chunk + lane / 16) * 16]);
        out[chunk / 2 * 32 + lane] = make_uint4(r[0], r[1], r[2], r[3]);
    }
}
