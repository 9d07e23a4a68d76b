// Rung 10, wgmma: a warpgroup of four warps multiplies a tile straight from shared memory; no fragment is loaded, and
// registers hold only the sums.
// The counter to watch is shared-memory wavefronts: those of ldmatrix are gone.
// `cargo ladder diff 10`, then `cargo run -p rung10_wgmma -- profile`.
#include "hopper.cuh"

constexpr int BM = 128, BN = 128, BK = 64;             // the block's tile of C, and its step along K
constexpr int WM = 64;                                 // rows of C that one wgmma computes
constexpr int THREADS = 128;                           // one warpgroup
constexpr int STAGES = 3;                              // tiles of A and B in shared memory
constexpr int CHUNK = 8;                               // elements in 16 bytes: the unit of the swizzle
constexpr int PANEL = 64;                              // columns in 128 bytes: the width of the swizzle

// A and B of one K step. Every panel begins at a multiple of 1024 bytes, where the swizzle's pattern begins.
struct Stage {
    unsigned short A[BM * BK];                         // (BM, BK)
    unsigned short B[BN / PANEL][BK * PANEL];          // panels of (BK, PANEL)
};

struct Shared {
    union {
        Stage stage[STAGES];
        unsigned short C[BN / PANEL][BM * PANEL];      // panels of (BM, PANEL), after the last use of the stages
    };
    unsigned long long full[STAGES];                   // mbarriers
};

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, sizeof(Shared), 1};
// The box that TMA copies at a time, of A, B and C: columns, rows, bytes of the swizzle.
extern "C" __constant__ int gemm_boxes[] = {BK, BM, 128, PANEL, BK, 128, PANEL, BM, 128};

static_assert(BK == PANEL, "a row of A's tile is as wide as the swizzle");

// A is (M, K), B is (K, N), C is (M, N), all row-major f16, of any size with rows that are a multiple of 16 bytes:
// outside, TMA reads zeros and writes nothing. Two blocks share an SM: while one waits at its barrier, the other computes.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
gemm(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const __grid_constant__ TensorMap C,
     int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char dynamic[];
    Shared& s = *(Shared*)dynamic;

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = (M + BM - 1) / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I? Each warp has 16 of the 64 rows of C.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    // The barriers are initialized before any thread, or TMA, uses them.
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i)
            mbarrier_init(&s.full[i], 1);
        fence_mbarrier_init();
    }
    __syncthreads();

    // Starts the copies of a tile: one thread starts all of them.
    auto load = [&](int stage, int k0) {
        if (threadIdx.x > 0)
            return;
        mbarrier_expect(&s.full[stage], sizeof(Stage));
        tma_load(s.stage[stage].A, A, k0, tileRow, &s.full[stage]);
        for (int panel = 0; panel < BN / PANEL; ++panel)
            tma_load(s.stage[stage].B[panel], B, tileCol + panel * PANEL, k0, &s.full[stage]);
    };

    // Fill all stages but one.
    for (int stage = 0; stage < STAGES - 1 && stage * BK < K; ++stage)
        load(stage, stage * BK);

    float acc[BM / WM][BN / 2];
    for (int k0 = 0, stage = 0; k0 < K; k0 += BK, stage = (stage + 1) % STAGES) {
        // Wait for the oldest tile in flight, and until no thread reads the one before.
        mbarrier_wait(&s.full[stage], k0 / BK / STAGES % 2);
        __syncthreads();

        // Load the tile that replaces it.
        if (k0 + (STAGES - 1) * BK < K)
            load((stage + STAGES - 1) % STAGES, k0 + (STAGES - 1) * BK);

        // Compute. The swizzle repeats every 8 rows, 1024 bytes. In A the next 16 columns begin 32 bytes further
        // on; in B the next 16 rows of K 2048 bytes, and the next panel BK * 128.
        const unsigned long long a = descriptor(s.stage[stage].A, 16, 1024);
        const unsigned long long b = descriptor(s.stage[stage].B[0], BK * PANEL * 2, 1024);
        wgmma_fence();
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k)
            #pragma unroll
            for (int m = 0; m < BM / WM; ++m)
                wgmma(acc[m], a + (m * WM * BK * 2 + k * 32 >> 4), b + (k * 2048 >> 4), k0 + k);
        wgmma_commit();
        wgmma_wait<0>();
    }
    __syncthreads();

    // Store, through shared memory, from where TMA copies the tile to C.
    #pragma unroll
    for (int m = 0; m < BM / WM; ++m)
        #pragma unroll
        for (int n = 0; n < BN / 8; ++n)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = m * WM + warp * 16 + half * 8 + lane / 4, chunk = n % 8;
                *(unsigned*)&s.C[n / 8][row * PANEL + (chunk ^ (row & 7)) * CHUNK + lane % 4 * 2] =
                    float2_to_half2(acc[m][n * 4 + half * 2], acc[m][n * 4 + half * 2 + 1]);
            }
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int panel = 0; panel < BN / PANEL; ++panel)
            tma_store(C, tileCol + panel * PANEL, tileRow, s.C[panel]);
        tma_store_wait<0>();
    }
}
