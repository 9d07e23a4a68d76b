// Rung 12, multicast: two blocks, one above the other in C, form a cluster. Both need the same tile of B, so each loads
// half of it, and TMA writes that half to the shared memory of both.
// The counter to watch is bytes from L2, and time if rows of A and B are not a multiple of 128 bytes.
// `cargo ladder diff 12`, then `cargo run -p rung12_multicast -- profile`.
#include "hopper.cuh"

// The block's tile of C: macros, because rung 16 has several tiles and its host selects one on the compiler's command line.
#ifndef TILE_M
#define TILE_M 128
#define TILE_N 256
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = 64;       // the block's tile of C, and its step along K
constexpr int WM = 64;                                 // rows of a consumer's tile of C: the M of a wgmma
constexpr int CONSUMERS = BM / WM;                     // warpgroups that multiply
constexpr int THREADS = 128 * (1 + CONSUMERS);         // the first warpgroup loads
constexpr int CLUSTER = BN == 256 ? 2 : 1;             // blocks, one above the other, that share the panels of B
constexpr int CHUNK = 8;                               // elements in 16 bytes: the unit of the swizzle
constexpr int PANEL = 64;                              // columns in 128 bytes: the width of the swizzle

// A and B of one K step. Every panel begins at a multiple of 1024 bytes, where the swizzle's pattern begins.
struct Stage {
    unsigned short A[BM * BK];                         // (BM, BK)
    unsigned short B[BN / PANEL][BK * PANEL];          // panels of (BK, PANEL)
};

constexpr int STAGES = 226 * 1024 / (int)sizeof(Stage);              // of 227 KiB, 1 KiB is for the barriers

struct Shared {
    union {
        Stage stage[STAGES];
        unsigned short C[BN / PANEL][BM * PANEL];      // panels of (BM, PANEL), after the last use of the stages
    };
    unsigned long long full[STAGES], empty[STAGES];    // mbarriers
};

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, sizeof(Shared), CLUSTER};
// The box that TMA copies at a time, of A, B and C: columns, rows, bytes of the swizzle.
extern "C" __constant__ int gemm_boxes[] = {BK, BM, 128, PANEL, BK, 128, PANEL, BM, 128};

static_assert(BK == PANEL, "a row of A's tile is as wide as the swizzle");
static_assert(BM % WM == 0 && CONSUMERS <= 3 && (BN == 64 || BN == 128 || BN == 256), "hopper.cuh has a wgmma for these tiles");
static_assert(BN / PANEL % CLUSTER == 0, "each block of a cluster loads the same number of panels of B");

// A is (M, K), B is (K, N), C is (M, N), all row-major f16, of any size with rows that are a multiple of 16 bytes:
// outside, TMA reads zeros and writes nothing.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const __grid_constant__ TensorMap C,
     int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char dynamic[];
    Shared& s = *(Shared*)dynamic;

    // Which tile? Clusters are numbered down C's columns of tiles, so that neighbors share columns of B. The last row of
    // tiles may be below C, where TMA reads zeros and writes nothing.
    const int cluster = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER;
    const int rowClusters = (M + BM * CLUSTER - 1) / (BM * CLUSTER);
    const int tileRow = (cluster % rowClusters * CLUSTER + rank) * BM;
    const int tileCol = cluster / rowClusters * BN;

    // Where am I? Each warp has 16 of its consumer's 64 rows of C.
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread % 32, warp = thread / 32;

    // The barriers of both blocks are initialized before any thread, or TMA, uses them.
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            mbarrier_init(&s.full[i], 1);
            mbarrier_init(&s.empty[i], CONSUMERS * CLUSTER);
        }
        fence_mbarrier_init();
    }
    if (CLUSTER > 1)
        cluster_barrier();
    else
        __syncthreads();

    int stage = 0, phase = 0;
    auto advance = [&] { if (++stage == STAGES) { stage = 0; phase ^= 1; } };

    if (warpgroup == 0) {
        // Load. One thread starts all copies.
        if (CONSUMERS > 1)
            setmaxnreg_dec<32>();
        for (int k0 = 0; k0 < K && thread == 0; k0 += BK) {
            mbarrier_wait(&s.empty[stage], phase ^ 1);
            mbarrier_expect(&s.full[stage], sizeof(Stage));
            tma_load(s.stage[stage].A, A, k0, tileRow, &s.full[stage]);
            for (int panel = rank; panel < BN / PANEL; panel += CLUSTER)    // the other block loads the rest
                tma_multicast(s.stage[stage].B[panel], B, tileCol + panel * PANEL, k0, &s.full[stage], (1 << CLUSTER) - 1);
            advance();
        }
        // Do not exit before the other block has arrived here for the last time: then every stage is empty.
        for (int i = 0; i < STAGES && thread == 0; ++i, advance())
            mbarrier_wait(&s.empty[stage], phase ^ 1);
        return;
    }

    if (CONSUMERS > 1)
        setmaxnreg_inc<CONSUMERS == 2 ? 232 : 160>();
    const int consumer = warpgroup - 1;
    float acc[BN / 2];
    int previous = -1;                                 // the stage whose wgmmas may still be in flight
    for (int k0 = 0; k0 < K; k0 += BK) {
        mbarrier_wait(&s.full[stage], phase);

        // Compute. The swizzle repeats every 8 rows, 1024 bytes. In A the next 16 columns begin 32 bytes further
        // on; in B the next 16 rows of K 2048 bytes, and the next panel BK * 128.
        const unsigned long long a = descriptor(&s.stage[stage].A[consumer * WM * BK], 16, 1024);
        const unsigned long long b = descriptor(s.stage[stage].B[0], BK * PANEL * 2, 1024);
        wgmma_fence();
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k)
            wgmma(acc, a + (k * 32 >> 4), b + (k * 2048 >> 4), previous >= 0 || k > 0);
        wgmma_commit();

        // While these are in flight, those of the previous step complete, and its stage is free: both blocks may fill it.
        wgmma_wait<1>();
        if (thread < CLUSTER && previous >= 0)
            mbarrier_arrive(&s.empty[previous], thread);
        previous = stage;
        advance();
    }
    wgmma_wait<0>();
    if (thread < CLUSTER)
        mbarrier_arrive(&s.empty[previous], thread);
    named_barrier(1, 128 * CONSUMERS);

    // Store, through shared memory, from where TMA copies the tile to C.
    #pragma unroll
    for (int n = 0; n < BN / 8; ++n)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = consumer * WM + warp * 16 + half * 8 + lane / 4, chunk = n % 8;
            *(unsigned*)&s.C[n / 8][row * PANEL + (chunk ^ (row & 7)) * CHUNK + lane % 4 * 2] =
                float2_to_half2(acc[n * 4 + half * 2], acc[n * 4 + half * 2 + 1]);
        }
    fence_proxy_async();
    named_barrier(1, 128 * CONSUMERS);
    if (consumer == 0 && thread == 0) {
        for (int panel = 0; panel < BN / PANEL; ++panel)
            tma_store(C, tileCol + panel * PANEL, tileRow, s.C[panel]);
        tma_store_wait<0>();
    }
}
