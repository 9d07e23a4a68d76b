// Right, coalesced on both sides, and without shared memory: a warp transposes 16x16 elements by shuffles. A lane holds
// eight of them, and takes eight shuffles for each of its eight outputs.

#ifndef TILE_M
#define TILE_M 32
#define TILE_N 64
#endif

constexpr int TILE_ROWS = TILE_M, TILE_COLS = TILE_N, THREADS = 256, WARPS = THREADS / 32;

extern "C" __constant__ int transpose_launch[] = {TILE_ROWS, TILE_COLS, THREADS, 0};

extern "C" __global__ void transpose(const unsigned short* in, unsigned short* out, int rows, int cols)
{
    const int tileRow = blockIdx.x / (cols / TILE_COLS) * TILE_ROWS;
    const int tileCol = blockIdx.x % (cols / TILE_COLS) * TILE_COLS;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int i = warp; i < TILE_ROWS * TILE_COLS / 256; i += WARPS) {
        const int firstRow = tileRow + i / (TILE_COLS / 16) * 16, firstCol = tileCol + i % (TILE_COLS / 16) * 16;
        // Rows 2j and 2j + 1, half a warp each.
        unsigned short held[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j)
            held[j] = in[(firstRow + 2 * j + lane / 16) * cols + firstCol + lane % 16];
        // Columns 2j and 2j + 1: the element of row lane % 16 is element (lane % 16) / 2 of some lane.
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            unsigned short found = 0;
            #pragma unroll
            for (int number = 0; number < 8; ++number) {
                const unsigned short one = __shfl_sync(~0u, held[number], lane % 2 * 16 + 2 * j + lane / 16);
                if (lane % 16 / 2 == number) found = one;
            }
            out[(firstCol + 2 * j + lane / 16) * rows + firstRow + lane % 16] = found;
        }
    }
}
