// Half masks: five ways to permute the 16-byte chunks of a row, some of which halve the conflicts, and some of which lose
// data. The counter to watch is the wavefronts of `ldmatrix`: 1 per matrix if its eight rows are in eight groups of banks.
// `cargo run -p labs -- half_masks profile`.

constexpr int ROWS = 16, CHUNK = 8;                    // a chunk is 8 f16, 16 bytes
constexpr int SPARE = 128 / 2;                         // room for what a bad mask stores after the last row

// Position of chunk `chunk` in row `row`, in f16 from the row's beginning.
__device__ int column(int mask, int row, int chunk)
{
    switch (mask) {
    case 1:  return (chunk ^ (row & 3)) * CHUNK;
    case 2:  return (chunk ^ (row >> 1 & 3)) * CHUNK;
    case 3:  return (chunk ^ (row & 7)) * CHUNK;
    case 4:  return (chunk ^ (row & 0b1100) >> 2) * CHUNK;
    case 5:  return chunk * CHUNK ^ (row & 0b1100) >> 2;         // counted in f16, not in chunks
    default: return chunk * CHUNK;
    }
}

// Four 8x8 matrices: lane l gives the address of row l % 8 of matrix l / 8.
__device__ void ldmatrix(unsigned (&r)[4], const unsigned short* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

// in is (ROWS, chunks * CHUNK) f16; out holds the fragments of its (16, 16) parts, four registers per lane. One warp.
extern "C" __global__ void masked(const uint4* in, uint4* out, int chunks, int mask)
{
    __shared__ __align__(128) unsigned short tile[ROWS * 64 + SPARE];
    const int lane = threadIdx.x, width = chunks * CHUNK;

    // Store: each lane copies a chunk, neighboring lanes copy neighboring chunks of a row.
    #pragma unroll 1
    for (int i = lane; i < ROWS * chunks; i += 32) {
        const int row = i / chunks, chunk = i % chunks;
        *(uint4*)&tile[row * width + column(mask, row, chunk)] = in[i];
    }
    __syncthreads();

    // Load: lanes 0 to 15 give the row addresses for one chunk, lanes 16 to 31 for the next.
    #pragma unroll 1
    for (int k = 0; k < chunks; k += 2) {
        const int row = lane % 16, chunk = k + lane / 16;
        unsigned r[4];
        ldmatrix(r, &tile[row * width + column(mask, row, chunk)]);
        out[k / 2 * 32 + lane] = make_uint4(r[0], r[1], r[2], r[3]);
    }
}
