// Rung 15, overlap: the next launch's blocks start on SMs that this one leaves free, prepare barriers and tensor maps,
// and prefetch their first steps to L2 while they wait for this launch to end (programmatic dependent launch). The
// counter to watch is time at small sizes, where starting a launch takes as long as its work.
// `cargo ladder diff 15`, then `cargo run -p rung15_overlap -- profile`, and with a GPU `bench`.
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
constexpr int PANELS = BN / PANEL;
constexpr bool STORE_BEHIND = PANELS > 2;              // the steps of a smaller tile are too short, so it is stored at once
constexpr int AHEAD = 4;                               // steps that are prefetched to L2; more would delay the first
constexpr int GROUP = 8;                               // rows of clusters that are computed together
__device__ unsigned arrivals;                          // at the grid's barrier; 0 between launches

// A and B of one K step. Every panel begins at a multiple of 1024 bytes, where the swizzle's pattern begins.
struct Stage {
    unsigned short A[BM * BK];                         // (BM, BK)
    unsigned short B[PANELS][BK * PANEL];              // panels of (BK, PANEL)
};

constexpr int STAGES = (226 * 1024 - CONSUMERS * 4 * WM * PANEL) / (int)sizeof(Stage);    // of 227 KiB, 1 KiB is for the barriers

struct Shared {
    Stage stage[STAGES];
    unsigned short C[CONSUMERS][2][WM * PANEL];        // two panels of (WM, PANEL) for each consumer
    unsigned long long full[STAGES], empty[STAGES];    // mbarriers
};

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster, and
// persistent blocks per SM, which compute one tile after the other.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, sizeof(Shared), CLUSTER, 1};
// The box that TMA copies at a time, of A, B and C: columns, rows, bytes of the swizzle.
extern "C" __constant__ int gemm_boxes[] = {BK, BM, 128, PANEL, BK, 128, PANEL, 16, 128};

static_assert(BK == PANEL, "a row of A's tile is as wide as the swizzle");
static_assert(BM % WM == 0 && CONSUMERS <= 3 && (BN == 64 || BN == 128 || BN == 256), "hopper.cuh has a wgmma for these tiles");
static_assert(BN / PANEL % CLUSTER == 0, "each block of a cluster loads the same number of panels of B");
static_assert(STAGES >= PANELS, "each panel of the last tile is stored from a stage of its own");

// Which tile does this block compute? GROUP rows of clusters are computed together, column by column, so that neighbors
// share A and B in L2. The last row may be below C, where TMA reads zeros and writes nothing.
struct Tile { int row, column; };

__device__ Tile tile_of(int number, int M, int N)
{
    const int rows = (M + BM * CLUSTER - 1) / (BM * CLUSTER), columns = (N + BN - 1) / BN;
    const int first = number / (GROUP * columns) * GROUP, height = min(GROUP, rows - first);
    number %= GROUP * columns;
    return {(int)(((first + number % height) * CLUSTER + blockIdx.x % CLUSTER) * BM), number / height * BN};
}

// A is (M, K), B is (K, N), C is (M, N), all row-major f16, of any size with rows that are a multiple of 16 bytes:
// outside, TMA reads zeros and writes nothing.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const __grid_constant__ TensorMap C,
     int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char dynamic[];
    Shared& s = *(Shared*)dynamic;

    // Where am I? Each warp has 16 of its consumer's 64 rows of C.
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread % 32, warp = thread / 32;

    // The next grid may be scheduled on free SMs. This one waits below until the previous grid is complete.
    launch_dependents();

    // The barriers of both blocks are initialized before any thread, or TMA, uses them.
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            mbarrier_init(&s.full[i], 1);
            mbarrier_init(&s.empty[i], CONSUMERS * CLUSTER);
        }
        fence_mbarrier_init();
    }
    if (threadIdx.x == 32)
        for (const TensorMap* map : {&A, &B, &C})
            prefetch_map(*map);

    // This block's barriers are initialized. Before a thread arrives at those of the other block, or copies to them, it waits for that block;
    // until then, it computes what to load or to multiply.
    cluster_arrive<CLUSTER>();

    const int cluster = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER;
    const int tiles = (M + BM * CLUSTER - 1) / (BM * CLUSTER) * ((N + BN - 1) / BN);    // of clusters
    int stage = 0, phase = 0;
    auto advance = [&] { if (++stage == STAGES) { stage = 0; phase ^= 1; } };

    if (warpgroup == 0) {
        // Load. One thread starts all copies.
        if (CONSUMERS > 1)
            setmaxnreg_dec<32>();
        if (thread == 0) {
            // Until the previous launch ends, prefetch the first steps to L2. Blocks of a row share A: column i prefetches step i; B likewise.
            Tile tile = tile_of(cluster, M, N);
            if (tile.column < AHEAD * BN)
                tma_prefetch(A, tile.column / BN * BK, tile.row);
            for (int panel = rank; panel < PANELS && tile.row < AHEAD * BM * CLUSTER; panel += CLUSTER)
                tma_prefetch(B, tile.column + panel * PANEL, tile.row / (BM * CLUSTER) * BK);
            wait_for_previous_launch();                // it may have written A or B
            // The other block has initialized its barriers.
            cluster_wait<CLUSTER>();
            for (int number = cluster; number < tiles; number += gridDim.x / CLUSTER) {
                if (number > cluster) {
                    grid_barrier(arrivals, rank, number, tiles, gridDim.x / CLUSTER);
                    tile = tile_of(number, M, N);
                }
                for (int k0 = 0; k0 < K; k0 += BK) {
                    mbarrier_wait(&s.empty[stage], phase ^ 1);
                    mbarrier_expect(&s.full[stage], sizeof(Stage));
                    tma_load(s.stage[stage].A, A, k0, tile.row, &s.full[stage]);
                    for (int panel = rank; panel < PANELS; panel += CLUSTER)    // the other block loads the rest
                        tma_multicast(s.stage[stage].B[panel], B, tile.column + panel * PANEL, k0, &s.full[stage],
                                      (1 << CLUSTER) - 1);
                    advance();
                }
            }
            // Do not exit before the other block has arrived here for the last time: then every stage is empty.
            for (int i = 0; i < STAGES; ++i, advance())
                mbarrier_wait(&s.empty[stage], phase ^ 1);
        }
        return;
    }

    // The same, before a stage of that block is freed.
    cluster_wait<CLUSTER>();
    if (CONSUMERS > 1)
        setmaxnreg_inc<CONSUMERS == 2 ? 232 : 160>();
    const int consumer = warpgroup - 1;
    float acc[BN / 2];
    unsigned done[BN / 4];                             // the previous tile, in f16
    Tile tile = {}, doneTile = {};
    int panel = PANELS;                                // its next panel to be stored

    // Stores a panel from registers to shared memory, and from there to C.
    auto store_panel = [&](int panel, unsigned short* Cs) {
        #pragma unroll
        for (int n = 0; n < PANEL / 16; ++n) {
            const int row = warp * 16 + lane % 16, chunk = n * 2 + lane / 16;
            stmatrix(&Cs[row * PANEL + (chunk ^ (row & 7)) * CHUNK], done + panel * PANEL / 4 + n * 4);
        }
        // Each warp stores its own 16 rows, and waits for no other warp.
        fence_proxy_async();
        __syncwarp();
        if (lane == 0)
            tma_store(C, doneTile.column + panel * PANEL, doneTile.row + consumer * WM + warp * 16, Cs + warp * 16 * PANEL);
    };

    // Stores all panels at once, `apart` elements from each other in shared memory.
    auto store_tile = [&](unsigned short* Cs, int apart) {
        if (lane == 0)
            tma_store_wait<0>();
        named_barrier(warpgroup, 128);                 // all four warps are done with A
        #pragma unroll
        for (int p = 0; p < PANELS; ++p)
            store_panel(p, Cs + p * apart);
    };

    for (int number = cluster; number < tiles; number += gridDim.x / CLUSTER) {
        int previous = -1;                             // the stage whose wgmmas may still be in flight
        #pragma unroll 1                               // a small loop stays in the instruction cache
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

            // Meanwhile, store a panel of the previous tile, through two buffers, one of which TMA may still be reading.
            // Not in the first step, so that the second is issued early; in the last step, all remaining panels.
            while (STORE_BEHIND && panel < PANELS && (k0 > 0 || k0 + BK >= K)) {
                unsigned short* Cs = s.C[consumer][panel % 2];
                if (lane == 0)
                    tma_store_wait<1>();
                __syncwarp();
                #pragma unroll
                for (int p = 0; p < PANELS; ++p)
                    if (p == panel)
                        store_panel(p, Cs);
                ++panel;
                if (k0 + BK < K)
                    break;
            }
        }
        tile = tile_of(number, M, N);                  // while the last step is in flight
        wgmma_wait<0>();
        if (thread < CLUSTER)
            mbarrier_arrive(&s.empty[previous], thread);
        #pragma unroll
        for (int i = 0; i < BN / 4; ++i)
            done[i] = float2_to_half2(acc[2 * i], acc[2 * i + 1]);
        doneTile = tile;
        panel = 0;
        if (!STORE_BEHIND)
            store_tile(s.C[consumer][0], WM * PANEL);
    }

    // Nothing more is loaded: the last tile is stored through this consumer's rows of A, a panel in each stage.
    if (STORE_BEHIND && panel < PANELS)
        store_tile(&s.stage[0].A[consumer * WM * BK], sizeof(Stage) / 2);
    if (lane == 0)
        tma_store_wait<0>();
}
