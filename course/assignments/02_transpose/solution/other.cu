// Assignment 02, another way: `cp.async` copies 16 bytes at a time, and `ldmatrix.trans` transposes. It gives a lane
// two rows of a column from each of four matrices. The addresses choose these rows: here lane l gets rows 8 (l % 4)
// to 8 (l % 4) + 7 of column l / 4, which are 16 contiguous bytes of `out`.

#ifndef TILE_M
#define TILE_M 32
#define TILE_N 64
#endif

constexpr int TILE_ROWS = TILE_M, TILE_COLS = TILE_N;  // the block's tile of `in`
constexpr int THREADS = 128, WARPS = THREADS / 32;
constexpr int CHUNK = 8;                               // elements in 16 bytes
constexpr int CHUNKS = TILE_COLS / CHUNK;              // chunks of a row: 4 or 8
constexpr int TILE_BYTES = TILE_ROWS * TILE_COLS * 2;

extern "C" __constant__ int transpose_launch[] = {TILE_ROWS, TILE_COLS, THREADS, TILE_BYTES};

static_assert(CHUNKS == 4 || CHUNKS == 8, "rows of 64 or 128 bytes");
static_assert(TILE_ROWS % 32 == 0, "four matrices, one below the other");

// Rows 0, 1, 8, 9, 16, 17, 24, 25 are read together, and likewise those 2, 4 and 6 further on: they differ in bits
// 0, 3 and 4, which choose among eight chunks. Two rows of four chunks fill the banks, so bit 0 counts already.
__device__ int place(int row, int chunk)
{
    const int choice = CHUNKS == 8 ? (row & 1) | (row >> 2 & 6) : row >> 3 & 3;
    return row * TILE_COLS + (chunk ^ choice) * CHUNK;
}

extern "C" __global__ void __launch_bounds__(THREADS)
transpose(const unsigned short* in, unsigned short* out, int rows, int cols)
{
    extern __shared__ __align__(128) unsigned short tile[];

    const int colTiles = cols / TILE_COLS;
    const int tileRow = blockIdx.x / colTiles * TILE_ROWS;
    const int tileCol = blockIdx.x % colTiles * TILE_COLS;
    in += tileRow * cols + tileCol;
    out += tileCol * rows + tileRow;

    #pragma unroll
    for (int i = threadIdx.x; i < TILE_ROWS * CHUNKS; i += THREADS) {
        const int row = i / CHUNKS, chunk = i % CHUNKS;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"((unsigned)__cvta_generic_to_shared(&tile[place(row, chunk)])),
                        "l"(&in[row * cols + chunk * CHUNK]) : "memory");
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();

    // 32 rows of a chunk at a time. Lane l gives the address of row l % 8 of matrix l / 8: pairs of rows, 8 apart.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    #pragma unroll
    for (int i = warp; i < TILE_ROWS / 32 * CHUNKS; i += WARPS) {
        const int firstRow = i / CHUNKS * 32, chunk = i % CHUNKS;
        const int row = firstRow + lane % 8 / 2 * 8 + lane / 8 * 2 + lane % 2;
        unsigned r[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"((unsigned)__cvta_generic_to_shared(&tile[place(row, chunk)])) : "memory");
        const int col = chunk * CHUNK + lane / 4;
        *(uint4*)&out[col * rows + firstRow + lane % 4 * 8] = make_uint4(r[0], r[1], r[2], r[3]);
    }
}
