// Assignment 09, find the bug: tiles of A and B are copied two K steps before they are multiplied, in a ring of three stages.
// The loop is unrolled three times, so that each stage has a constant address. It is almost always right.
// `cargo ladder grade course/assignments/09_pipeline_bug my_kernel.cu`.

// The grader passes other tiles on the compiler's command line.
#ifndef TILE_M
#define TILE_M 32
#define TILE_N 64
#define TILE_K 64
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // the block's tile of C, and its step along K
constexpr int WM = BM, WN = 16;                        // the warp's tile of C
constexpr int STAGES = 3;                              // tiles of A and B in shared memory
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 128
constexpr int CHUNK = 8;                               // elements in 16 bytes: a copy, or a row of a matrix
constexpr int ROW = 64;                                // elements in a row of any tile: 128 bytes
constexpr int CHUNKS = ROW / CHUNK;                    // chunks in such a row
constexpr int STAGE = BM * BK + BK * BN;               // elements of a stage

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

static_assert(BK == ROW && BN == ROW, "the rows of A's, B's and C's tiles are equally long");
static_assert(BM * CHUNKS % THREADS == 0 && BK * CHUNKS % THREADS == 0, "the threads copy whole rows at a time");
static_assert(BM * BN <= STAGE, "the tile of C takes the place of a stage");
static_assert(STAGES == 3, "the loop is unrolled three times");

// The position of a chunk: its first element, counted from the tile's. All code that accesses a tile calls this.
__device__ int place(int row, int chunk) { return row * ROW + (chunk ^ (row & 7)) * CHUNK; }

// Starts a copy of 16 bytes from global to shared memory.
__device__ void copy_async(unsigned short* to, const unsigned short* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

// Waits until my copies have arrived, except those of the PENDING latest groups.
template <int PENDING>
__device__ void wait_group() { asm volatile("cp.async.wait_group %0;" :: "n"(PENDING) : "memory"); }

// Four 8x8 matrices: lane l gives the address of row l % 8 of matrix l / 8.
__device__ void ldmatrix(unsigned (&r)[4], const unsigned short* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

// The same, each matrix transposed: B's columns from row-major B.
__device__ void ldmatrix_trans(unsigned (&r)[4], const unsigned short* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

// c += a b for a (16, 16), b (16, 8), c (16, 8).
__device__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ unsigned float2_to_half2(float low, float high)
{
    unsigned h;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(high), "f"(low));
    return h;
}

// A is (M, K), B is (K, N), C is (M, N), all row-major f16. Four blocks share an SM.
extern "C" __global__ void __launch_bounds__(THREADS, 4)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    __shared__ __align__(128) unsigned short tiles[STAGES * STAGE];
    unsigned short* Cs = tiles;                        // (BM, BN), after the last use of its stage

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I? Four warps side by side.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warpCol = warp * WN;

    // What do I copy? A chunk in every 16th row.
    const int myRow = threadIdx.x / CHUNKS, myChunk = threadIdx.x % CHUNKS;
    A += tileRow * K + myChunk * CHUNK;
    B += tileCol + myChunk * CHUNK;

    // Starts my copies of the tile at `step`, (BM, BK) of A and (BK, BN) of B, to a stage.
    auto load = [&](int step, int stage) {
        unsigned short* As = tiles + stage * STAGE;
        unsigned short* Bs = As + BM * BK;
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS / CHUNKS) {
            const int row = myRow + i;
            copy_async(&As[place(row, myChunk)], A + row * K + step * BK);
        }
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS / CHUNKS) {
            const int row = myRow + i;
            copy_async(&Bs[place(row, myChunk)], B + (step * BK + row) * N);
        }
    };

    // Multiplies the tile in a stage. Lanes 0 to 15 give the row addresses of 16 x 8 elements, lanes 16 to 31 those of
    // the next 8 columns.
    float acc[WM / 16][WN / 8][4] = {};
    auto multiply = [&](int stage) {
        const unsigned short* As = tiles + stage * STAGE;
        const unsigned short* Bs = As + BM * BK;
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            unsigned regA[WM / 16][4], regB[4];
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                ldmatrix(regA[m], &As[place(m * 16 + lane % 16, k / CHUNK + lane / 16)]);
            ldmatrix_trans(regB, &Bs[place(k + lane % 16, warpCol / CHUNK + lane / 16)]);
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int n = 0; n < WN / 8; ++n)
                    mma(acc[m][n], regA[m], regB[n * 2], regB[n * 2 + 1]);
        }
    };

    const int steps = K / BK;
    // One group of copies for each step, even after the last, so that the number of groups in flight is always the same.
    auto load_group = [&](int step, int stage) {
        if (step < steps)
            load(step, stage);
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    auto next = [&](int step, int stage) {
        // Wait until this step's tile has arrived; the next may be in flight: first my copies, then those of all threads.
        wait_group<1>();
        __syncthreads();

        // Load, to the stage of the previous tile.
        load_group(step + 2, (stage + 2) % STAGES);

        // Compute.
        multiply(stage);
    };
    load_group(0, 0);
    load_group(1, 1);
    int step = 0;
    for (; step + STAGES <= steps; step += STAGES) {
        next(step, 0);
        next(step + 1, 1);
        next(step + 2, 2);
    }

    // One or two steps may be left, whose copies were issued long ago.
    if (step < steps) {
        //: solution
        wait_group<0>();
        //: starter
        //| wait_group<1>();
        //: end
        __syncthreads();
        multiply(0);
        if (step + 1 < steps)
            multiply(1);
    }

    // The tile of C takes the place of a stage that others may still read.
    __syncthreads();

    // Store, through shared memory: a lane holds pairs of C in 8 rows, but writes 16 bytes of one row.
    #pragma unroll
    for (int m = 0; m < WM / 16; ++m)
        #pragma unroll
        for (int n = 0; n < WN / 8; ++n)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = m * 16 + half * 8 + lane / 4, chunk = warpCol / CHUNK + n;
                *(unsigned*)&Cs[place(row, chunk) + lane % 4 * 2] =
                    float2_to_half2(acc[m][n][half * 2], acc[m][n][half * 2 + 1]);
            }
    __syncthreads();
    C += tileRow * N + tileCol + myChunk * CHUNK;
    #pragma unroll
    for (int i = 0; i < BM; i += THREADS / CHUNKS) {
        const int row = myRow + i;
        *(uint4*)&C[row * N] = *(const uint4*)&Cs[place(row, myChunk)];
    }
}
