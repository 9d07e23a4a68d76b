// Assignment 02, transpose: tiles of 16-bit words go through shared memory, so that both matrices are accessed row by
// row. The counters to watch are sectors, of loads and of stores, and then wavefronts: the ideal, without an extra byte.
// `cargo ladder grade course/assignments/02_transpose my_kernel.cu`.

#ifndef TILE_M   // the grader compiles other tiles as well
#define TILE_M 32
#define TILE_N 64
#endif

constexpr int TILE_ROWS = TILE_M, TILE_COLS = TILE_N;  // the block's tile of `in`; that of `out` is the transpose
constexpr int THREADS = 256;

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes.
extern "C" __constant__ int transpose_launch[] = {TILE_ROWS, TILE_COLS, THREADS, 0};

static_assert(TILE_ROWS % 32 == 0 && TILE_COLS % 32 == 0, "a warp takes 32 neighbors of a row, or of a column");

//: solution
constexpr int WARPS = THREADS / 32;
constexpr int ROW_BANKS = TILE_COLS / 2;               // words of 4 bytes in a row of the tile: two elements in each
constexpr int SHARING = ROW_BANKS < 32 ? 32 / ROW_BANKS : 1;   // rows that are side by side in the 32 banks

// The position of an element in the tile. A bank's word is a pair of elements, so only whole pairs move: pair p of a
// row is stored in the place of pair p ^ (row / SHARING). Rows that share the banks are in different banks anyway.
__device__ int place(int row, int col)
{
    const int pair = col / 2 ^ row / SHARING % (ROW_BANKS < 32 ? ROW_BANKS : 32);
    return row * TILE_COLS + pair * 2 + col % 2;
}

//: starter
//: end
// `in` is (rows, cols), `out` is (cols, rows), both row-major.
extern "C" __global__ void __launch_bounds__(THREADS)
transpose(const unsigned short* in, unsigned short* out, int rows, int cols)
{
    //: solution
    __shared__ unsigned short tile[TILE_ROWS * TILE_COLS];

    //: starter
    //: end
    // Which tile? Blocks are numbered along a row of tiles of `in`.
    const int colTiles = cols / TILE_COLS;
    const int tileRow = blockIdx.x / colTiles * TILE_ROWS;
    const int tileCol = blockIdx.x % colTiles * TILE_COLS;
    in += tileRow * cols + tileCol;
    out += tileCol * rows + tileRow;

    //: solution
    // Where am I? A warp copies 32 neighboring elements at a time, every WARPS-th group of them.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    // Load. Lanes are along a row of the tile.
    #pragma unroll
    for (int i = warp; i < TILE_ROWS * TILE_COLS / 32; i += WARPS) {
        const int row = i / (TILE_COLS / 32), col = i % (TILE_COLS / 32) * 32 + lane;
        tile[place(row, col)] = in[row * cols + col];
    }

    // Wait until the whole tile has been copied.
    __syncthreads();

    // Store. Lanes are along a column of the tile, which is a row of `out`.
    #pragma unroll
    for (int i = warp; i < TILE_ROWS * TILE_COLS / 32; i += WARPS) {
        const int row = i % (TILE_ROWS / 32) * 32 + lane, col = i / (TILE_ROWS / 32);
        out[col * rows + row] = tile[place(row, col)];
    }
    //: starter
    //| // Your task begins here. As it is, lanes are along a row of `in`, and so along a column of `out`.
    //| #pragma unroll
    //| for (int i = threadIdx.x; i < TILE_ROWS * TILE_COLS; i += THREADS) {
    //|     const int row = i / TILE_COLS, col = i % TILE_COLS;
    //|     out[col * rows + row] = in[row * cols + col];
    //| }
    //: end
}
