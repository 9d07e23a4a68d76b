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

// `in` is (rows, cols), `out` is (cols, rows), both row-major.
extern "C" __global__ void __launch_bounds__(THREADS)
transpose(const unsigned short* in, unsigned short* out, int rows, int cols)
{
    // Which tile? Blocks are numbered along a row of tiles of `in`.
    const int colTiles = cols / TILE_COLS;
    const int tileRow = blockIdx.x / colTiles * TILE_ROWS;
    const int tileCol = blockIdx.x % colTiles * TILE_COLS;
    in += tileRow * cols + tileCol;
    out += tileCol * rows + tileRow;

    // Your task begins here. As it is, lanes are along a row of `in`, and so along a column of `out`.
    #pragma unroll
    for (int i = threadIdx.x; i < TILE_ROWS * TILE_COLS; i += THREADS) {
        const int row = i / TILE_COLS, col = i % TILE_COLS;
        out[col * rows + row] = in[row * cols + col];
    }
}
