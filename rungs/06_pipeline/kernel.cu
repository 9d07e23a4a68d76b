// Rung 06, pipeline: shared memory holds a ring of stages, so that the copies of the next tiles are in flight while
// one tile is multiplied: work hides the latency of global memory.
// The counter to watch is time, and in the profile how far ahead copies are issued; all wavefronts stay ideal.
// `cargo ladder diff 6`, then `cargo run -p rung06_pipeline -- profile`.

constexpr int BM = 128, BN = 128, BK = 64;             // the block's tile of C, and its step along K
constexpr int WM = 64, WN = 64;                        // the warp's tile of C
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 128
constexpr int STAGES = 3;                              // tiles of A and B in shared memory
constexpr int CHUNK = 8;                               // elements in 16 bytes: a copy, or a row of a matrix
constexpr int A_CHUNKS = BK / CHUNK, B_CHUNKS = BN / CHUNK;    // chunks in a row of the tiles
constexpr int STAGE = BM * BK + BK * BN;               // elements of a stage: A's tile, then B's

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster. It pads
// K to a multiple of BK * (STAGES - 1): STAGES - 1 tiles are loaded before the loop.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK * (STAGES - 1), THREADS, STAGES * STAGE * 2, 1};

static_assert(THREADS % A_CHUNKS == 0 && THREADS % B_CHUNKS == 0, "the threads copy whole rows at a time");
static_assert(BM * BN <= STAGE, "the tile of C takes the place of a stage");

// Starts a copy of 16 bytes from global to shared memory.
__device__ void copy_async(unsigned short* to, const unsigned short* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

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

// A is (M, K), B is (K, N), C is (M, N), all row-major f16. Two blocks share an SM:
// while one waits at its barrier, the other computes.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    extern __shared__ __align__(128) unsigned short tiles[];
    unsigned short* Cs = tiles;                        // (BM, BN), after the last use of the stages

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I? Four warps, 2 x 2.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warpRow = warp / (BN / WN) * WM, warpCol = warp % (BN / WN) * WN;

    // What do I copy? A chunk in every 16th row of A's tile, and in every 8th of B's.
    const int aRow = threadIdx.x / A_CHUNKS, aChunk = threadIdx.x % A_CHUNKS;
    const int bRow = threadIdx.x / B_CHUNKS, bChunk = threadIdx.x % B_CHUNKS;
    A += tileRow * K + aChunk * CHUNK;
    B += tileCol + bChunk * CHUNK;
    C += tileRow * N + tileCol + bChunk * CHUNK;

    // Starts the copies of the next tile.
    auto load = [&](int stage) {
        unsigned short* As = tiles + stage * STAGE;
        unsigned short* Bs = As + BM * BK;
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS / A_CHUNKS) {
            const int row = aRow + i;
            copy_async(&As[row * BK + (aChunk ^ (row & 7)) * CHUNK], A + row * K);
        }
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS / B_CHUNKS) {
            const int row = bRow + i;
            copy_async(&Bs[row * BN + (bChunk ^ (row & 7)) * CHUNK], B + row * N);
        }
        A += BK, B += BK * N;
    };

    // All copies of a tile are one group; after the last tile, groups are empty.
    auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };

    // Fill all stages but one.
    for (int stage = 0; stage < STAGES - 1; ++stage) {
        load(stage);
        commit();
    }

    float acc[WM / 16][WN / 8][4] = {};
    for (int k0 = 0, stage = 0; k0 < K; k0 += BK, stage = (stage + 1) % STAGES) {
        // Wait for the oldest tile in flight: first for my copies, then for those of all threads.
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();

        // Load the tile that replaces the previous one, which no thread reads any more.
        if (k0 + (STAGES - 1) * BK < K)
            load((stage + STAGES - 1) % STAGES);
        commit();

        const unsigned short* As = tiles + stage * STAGE;     // (BM, BK)
        const unsigned short* Bs = As + BM * BK;              // (BK, BN)
        // Compute. Lanes 0 to 15 give the row addresses of 16 x 8 elements, lanes 16 to 31 those of the next 8 columns.
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            unsigned regA[WM / 16][4], regB[WN / 16][4];
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m) {
                const int row = warpRow + m * 16 + lane % 16, chunk = k / CHUNK + lane / 16;
                ldmatrix(regA[m], &As[row * BK + (chunk ^ (row & 7)) * CHUNK]);
            }
            #pragma unroll
            for (int n = 0; n < WN / 16; ++n) {
                const int row = k + lane % 16, chunk = warpCol / CHUNK + n * 2 + lane / 16;
                ldmatrix_trans(regB[n], &Bs[row * BN + (chunk ^ (row & 7)) * CHUNK]);
            }
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int n = 0; n < WN / 8; ++n)
                    mma(acc[m][n], regA[m], regB[n / 2][n % 2 * 2], regB[n / 2][n % 2 * 2 + 1]);
        }
    }
    __syncthreads();

    // Store, through shared memory: a lane holds pairs of C in 8 rows, but writes 16 bytes of one row.
    #pragma unroll
    for (int m = 0; m < WM / 16; ++m)
        #pragma unroll
        for (int n = 0; n < WN / 8; ++n)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = warpRow + m * 16 + half * 8 + lane / 4, chunk = warpCol / CHUNK + n;
                *(unsigned*)&Cs[row * BN + (chunk ^ (row & 7)) * CHUNK + lane % 4 * 2] =
                    float2_to_half2(acc[m][n][half * 2], acc[m][n][half * 2 + 1]);
            }
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < BM; i += THREADS / B_CHUNKS) {
        const int row = bRow + i;
        *(uint4*)&C[row * N] = *(const uint4*)&Cs[row * BN + (bChunk ^ (row & 7)) * CHUNK];
    }
}
