// Rung 17's kernel for bf16 in TN layout: B is stored as (N, K), so that A and B are both K-major. Public Hopper kernels are timed like
// this. The differences are the types of wgmma and of the rounding, and B's boxes and descriptor:
// `diff rungs/17_narrow_tiles/kernel.cu book/labs/bf16_tn/kernel.cu`.
// The counter to watch is the wavefronts of wgmma: there are as many as in rung 17, whichever way B is stored.
// `cargo run -p labs -- bf16_tn`; on an H100 or H200, compared with cuBLAS: `cargo run --release -p labs -- bf16_tn time`.
#include "hopper.cuh"

// hopper.cuh's wgmma for bf16, N = 64. The last two numbers: A and B are both contiguous along K.
__device__ void wgmma_tn(float (&c)[32], unsigned long long a, unsigned long long b, int accumulate)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES() NAMES(1) NAMES(2)
                 "%30, %31}, %32, %33, p, 1, 1, 0, 0;}"
                 : FLOATS(), FLOATS(1), FLOATS(2), "+f"(c[30]), "+f"(c[31]) : "l"(a), "l"(b), "r"(accumulate));
}

// N = 128.
__device__ void wgmma_tn(float (&c)[64], unsigned long long a, unsigned long long b, int accumulate)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" NAMES() NAMES(1) NAMES(2) NAMES(3) NAMES(4)
                 NAMES(5) "%60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 0;}"
                 : FLOATS(), FLOATS(1), FLOATS(2), FLOATS(3), FLOATS(4), FLOATS(5), "+f"(c[60]), "+f"(c[61]),
                   "+f"(c[62]), "+f"(c[63]) : "l"(a), "l"(b), "r"(accumulate));
}

// N = 240.
__device__ void wgmma_tn(float (&c)[120], unsigned long long a, unsigned long long b, int accumulate)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %122, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n240k16.f32.bf16.bf16 {" NAMES() NAMES(1) NAMES(2) NAMES(3) NAMES(4)
                 NAMES(5) NAMES(6) NAMES(7) NAMES(8) NAMES(9) NAMES(10)
                 "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119}, %120, %121, p, 1, 1, 0, 0;}"
                 : FLOATS(), FLOATS(1), FLOATS(2), FLOATS(3), FLOATS(4), FLOATS(5), FLOATS(6), FLOATS(7), FLOATS(8),
                   FLOATS(9), FLOATS(10), FLOATS(11) : "l"(a), "l"(b), "r"(accumulate));
}

// N = 256.
__device__ void wgmma_tn(float (&c)[128], unsigned long long a, unsigned long long b, int accumulate)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" NAMES() NAMES(1) NAMES(2) NAMES(3) NAMES(4)
                 NAMES(5) NAMES(6) NAMES(7) NAMES(8) NAMES(9) NAMES(10) NAMES(11)
                 "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, p, 1, 1, 0, 0;}"
                 : FLOATS(), FLOATS(1), FLOATS(2), FLOATS(3), FLOATS(4), FLOATS(5), FLOATS(6), FLOATS(7), FLOATS(8),
                   FLOATS(9), FLOATS(10), FLOATS(11), "+f"(c[120]), "+f"(c[121]), "+f"(c[122]), "+f"(c[123]),
                   "+f"(c[124]), "+f"(c[125]), "+f"(c[126]), "+f"(c[127]) : "l"(a), "l"(b), "r"(accumulate));
}

__device__ unsigned float2_to_bf162(float low, float high)
{
    unsigned h;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(high), "f"(low));
    return h;
}

// A configuration's tile of C. The host passes it on the compiler's command line.
#ifndef TILE_M
#define TILE_M 128
#define TILE_N 256
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = 64;       // the block's tile of C, and its step along K
constexpr int WM = 64;                                 // rows of a consumer's tile of C: the M of a wgmma
constexpr int CONSUMERS = BM / WM;                     // warpgroups that multiply
constexpr int THREADS = 128 * (1 + CONSUMERS);         // the first warpgroup loads
constexpr int CLUSTER = BN == 256 ? 2 : 1;             // blocks, one above the other, that share the rows of B
constexpr int CHUNK = 8;                               // elements in 16 bytes: the unit of the swizzle
constexpr int PANEL = 64;                              // columns in 128 bytes: the width of the swizzle
constexpr int PANELS = BN / PANEL;                     // of C
constexpr int NARROW = BN == 256 ? 240 : BN;           // columns of a narrow tile; 16 of them leave room for one more
constexpr bool STORE_BEHIND = PANELS > 2;              // the steps of a smaller tile are too short, so it is stored at once
constexpr int AHEAD = 4;                               // steps that are prefetched to L2; more would delay the first
constexpr int GROUP = 8;                               // rows of clusters that are computed together
__device__ unsigned arrivals;                          // at the grid's barrier; 0 between launches

// A and B of one K step. Both begin at a multiple of 1024 bytes, where the swizzle's pattern begins.
struct Stage {
    unsigned short A[BM * BK];                         // (BM, BK)
    unsigned short B[BN * BK];                         // (BN, BK)
};

struct Tile { int row, column; };                      // where it begins in C

constexpr int STAGES = (226 * 1024 - CONSUMERS * 4 * WM * PANEL) / (int)sizeof(Stage);    // of 227 KiB, 1 KiB is for the barriers

struct Shared {
    Stage stage[STAGES];
    unsigned short C[CONSUMERS][2][WM * PANEL];        // two panels of (WM, PANEL) for each consumer
    Tile tile[2];                                      // to which this cluster's even and odd pieces belong
    unsigned long long full[STAGES], empty[STAGES], read[2];    // mbarriers; read: of tile
};

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster, persistent
// blocks per SM, and whether the last tiles are split.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, sizeof(Shared), CLUSTER, 1, STORE_BEHIND};
// The box that TMA copies at a time, of A, B and C: columns, rows, bytes of the swizzle.
extern "C" __constant__ int gemm_boxes[] = {BK, BM, 128, BK, BN / CLUSTER, 128, PANEL, 16, 128};

static_assert(BK == PANEL, "a row of A's or B's tile is as wide as the swizzle");
static_assert(BM % WM == 0 && CONSUMERS <= 3 && (BN == 64 || BN == 128 || BN == 256), "there is a wgmma for these tiles");
static_assert(BN / CLUSTER % 8 == 0, "the rows of B that a block loads begin where the swizzle's pattern begins");
static_assert(STAGES >= PANELS, "each panel of the last tile is stored from a stage of its own");

// Which tile does this block compute? GROUP rows of clusters are computed together, column by column, so that neighbors
// share A and B in L2. The last row may be below C, where TMA reads zeros and writes nothing. Each of the last `more` rows of clusters
// has one more tile. Its rightmost tiles, at most 16, are narrow, and are computed last.
__device__ Tile tile_of(int number, int M, int N, int more)
{
    const int rows = (M + BM * CLUSTER - 1) / (BM * CLUSTER);
    int columns = (N + BN - 1) / BN, first = 0, below = rows - more, left = 0, width = BN;
    if (NARROW < BN && number >= below * columns) {
        const int narrow = min(columns + 1, 16);
        number -= below * columns, first = below, below = rows, columns += 1 - narrow;
        if (number >= more * columns)
            number -= more * columns, left = columns * BN, columns = narrow, width = NARROW;
    }
    first += number / (GROUP * columns) * GROUP;
    const int height = min(GROUP, below - first);
    number %= GROUP * columns;
    return {(int)(((first + number % height) * CLUSTER + blockIdx.x % CLUSTER) * BM), left + number / height * width};
}

// What does a cluster compute? Whole tiles while there are enough for all clusters, then a share of the remaining steps.
constexpr int MAX_SHARING = 132;                       // SMs of an H100 or H200; with more blocks, no tile is split
__device__ float partial[STORE_BEHIND ? 2 * MAX_SHARING : 1][CONSUMERS][BN / 2][128];    // sums of a cluster's two pieces
__device__ unsigned arrivals_at[MAX_SHARING][CONSUMERS][4];    // a split tile, by warp; 0 between launches, which do not overlap here

struct Work {
    int cluster = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    int more = 0, wide;                                // rows with one more column; tiles before the first narrow one
    int steps, whole, rest, share, at, end;            // steps of a tile; unsplit tiles; steps of the others; of a share; [at, end) of mine
    int number = cluster - clusters, from = 0, to;     // the current piece: steps [from, to) of a tile

    __device__ Work(int rows, int columns, int K) : steps((K + BK - 1) / BK), to(steps)
    {
        // Each piece costs time, so a share has at least 8 steps. Adding up takes about 8, so splitting has to save 16. Split tiles
        // reuse less in L2, so it also has to save a third. Otherwise idle clusters get a tile, for whole groups of rows.
        const int tiles = rows * columns, last = tiles % clusters;
        rest = last * steps;
        const int equal = max(8, (rest + clusters - 1) / clusters);
        share = STORE_BEHIND && gridDim.x <= MAX_SHARING && steps - equal >= max(16, steps / 3) ? equal : 0;
        if (NARROW < BN && share == 0 && last > 0)
            more = min(clusters - last, rows) / GROUP * GROUP;
        whole = share > 0 ? tiles - last : tiles + more;
        wide = tiles + more - more * min(columns + 1, 16);
        at = cluster * share, end = min(at + share, rest);
    }

    __device__ bool next()
    {
        if ((number += clusters) < whole || !STORE_BEHIND)
            return number < whole;
        number = whole + at / steps, from = at % steps;
        to = min(steps, from + end - at), at += to - from;
        return from < to;
    }

    // Which clusters share a split tile: the first, how many have a piece, and how many of them add up: those whose share ends here.
    struct Sharers { int first, pieces, adders; };

    __device__ Sharers sharers(int tile) const
    {
        const int start = tile * steps, stop = start + steps, first = start / share, next = (stop + share - 1) / share;
        return {first, next - first, (stop == rest ? next : stop / share) - first};
    }
};

// A step. In A and B the next 16 columns begin 32 bytes further on.
template <int SUMS>
__device__ void multiply(float (&acc)[SUMS], unsigned long long a, unsigned long long b, bool accumulate)
{
    wgmma_fence();
    #pragma unroll
    for (int k = 0; k < BK / 16; ++k)
        wgmma_tn(acc, a + (k * 32 >> 4), b + (k * 32 >> 4), accumulate || k > 0);
    wgmma_commit();
}

// A is (M, K), B is (N, K), C is (M, N), all row-major bf16, of any size with rows that are a multiple of 16 bytes:
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
        for (unsigned long long& read : s.read)
            mbarrier_init(&read, CONSUMERS * 4);       // each warp arrives
        fence_mbarrier_init();
    }
    if (threadIdx.x == 32)
        for (const TensorMap* map : {&A, &B, &C})
            prefetch_map(*map);

    // This block's barriers are initialized. Before a thread arrives at those of the other block, or copies to them, it waits for that block;
    // until then, it computes what to load or to multiply.
    cluster_arrive<CLUSTER>();

    const int cluster = blockIdx.x / CLUSTER, rank = blockIdx.x % CLUSTER, half = rank * (BN / CLUSTER);
    Work work((M + BM * CLUSTER - 1) / (BM * CLUSTER), (N + BN - 1) / BN, K);
    int stage = 0, phase = 0;
    auto advance = [&] { if (++stage == STAGES) { stage = 0; phase ^= 1; } };

    if (warpgroup == 0) {
        // Load. One thread starts all copies.
        if (CONSUMERS > 1)
            setmaxnreg_dec<32>();
        if (thread == 0) {
            // Until the previous launch ends, prefetch the first steps to L2. Blocks of a row share A: column i prefetches step i; B likewise.
            Tile tile = tile_of(cluster, M, N, work.more);
            if (tile.column < AHEAD * BN)
                tma_prefetch(A, tile.column / BN * BK, tile.row);
            if (tile.row < AHEAD * BM * CLUSTER)
                tma_prefetch(B, tile.row / (BM * CLUSTER) * BK, tile.column + half);
            wait_for_previous_launch();                // it may have written A or B
            // The other block has initialized its barriers.
            cluster_wait<CLUSTER>();
            for (int piece = 0; work.next(); ++piece) {
                if (work.number != cluster) {          // the first is known; the host launches no more clusters than there are tiles
                    grid_barrier(arrivals, rank, work.number, work.whole, work.clusters);
                    tile = tile_of(work.number, M, N, work.more);
                }
                mbarrier_wait(&s.read[piece % 2], piece / 2 % 2 ^ 1);
                s.tile[piece % 2] = tile;              // visible to the consumers that wait for the first stage
                for (int k0 = work.from * BK; k0 < work.to * BK; k0 += BK) {
                    mbarrier_wait(&s.empty[stage], phase ^ 1);
                    mbarrier_expect(&s.full[stage], sizeof(Stage));
                    tma_load(s.stage[stage].A, A, k0, tile.row, &s.full[stage]);
                    tma_multicast(&s.stage[stage].B[half * BK], B, k0, tile.column + half, &s.full[stage],
                                  (1 << CLUSTER) - 1);    // the other block loads the other half
                    if (CLUSTER > 1 && work.number == cluster && k0 == 0)
                        mbarrier_wait(&s.full[0], 0);  // no block's second stage delays another's first
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
    // The same in all lanes; the compiler then keeps descriptors in uniform registers, where wgmma needs them.
    const int consumer = CONSUMERS > 1 ? __shfl_sync(~0u, warpgroup - 1, 0) : 0;
    float acc[BN / 2];
    unsigned done[BN / 4];                             // the previous tile, in bf16
    Tile doneTile = {};                                // known to lane 0, which stores
    int back = 0;                                      // if the previous tile was narrow, columns that are stored twice
    int panel = PANELS + 1;                            // its next panel to be copied to shared memory; the one before is to be stored
    unsigned mine = ~0u;                               // the last tile's panels that are stored here, a bit each

    // Copies a panel from registers to shared memory. The last panel of a narrow tile begins `back` columns earlier: these are stored twice.
    auto put_panel = [&](int panel, unsigned short* Cs) {
        #pragma unroll
        for (int n = 0; n < PANEL / 16; ++n) {
            const int row = warp * 16 + lane % 16, chunk = n * 2 + lane / 16, from = panel * PANEL / 4 + n * 4;
            unsigned r[4];
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                r[i] = panel == PANELS - 1 && back > 0 ? done[from + i - (BN - NARROW) / 4] : done[from + i];
            stmatrix(&Cs[row * PANEL + (chunk ^ (row & 7)) * CHUNK], r);
        }
    };

    // Stores it from there to C. Each warp stores its own 16 rows, and waits for no other warp.
    auto store_panel = [&](int panel, unsigned short* Cs) {
        const int column = doneTile.column + panel * PANEL - (panel == PANELS - 1 ? back : 0);
        fence_proxy_async();
        __syncwarp();
        if (lane == 0)
            tma_store(C, column, doneTile.row + consumer * WM + warp * 16, Cs + warp * 16 * PANEL);
    };

    // Stores all panels at once, `apart` elements from each other in shared memory.
    auto store_tile = [&](unsigned short* Cs, int apart) {
        if (lane == 0)
            tma_store_wait<0>();
        named_barrier(warpgroup, 128);                 // all four warps are done with A
        #pragma unroll
        for (int p = 0; p < PANELS; ++p)
            if (mine >> p & 1)
                put_panel(p, Cs + p * apart), store_panel(p, Cs + p * apart);
    };

    // A cluster has at most two pieces. One that begins a tile is stored in its second slot.
    auto sums = [&](int of, int first) { return &partial[(2 * of + (of == first)) * CLUSTER + rank][consumer][0][thread]; };

    // Stores the sums of a piece. Each warp counts its arrival; the last increment, in add_up, wraps the count to 0.
    auto store_piece = [&] {
        const int tile = work.number - work.whole;
        const auto [first, pieces, adders] = work.sharers(tile);
        #pragma unroll
        for (int i = 0; i < BN / 2; ++i)
            sums(cluster, first)[i * 128] = acc[i];
        __threadfence();
        __syncwarp();
        if (lane == 0)
            atomicInc(&arrivals_at[tile * CLUSTER + rank][consumer][warp], pieces + adders - 1);
        __syncwarp();
    };

    // Adds up this cluster's panels of the split tile in which its share ends, in the order of the pieces. The clusters whose share ends
    // there take its panels in turn. So a cluster waits only after its last piece.
    auto add_up = [&] {
        const int tile = (work.end - 1) / work.steps;
        const auto [first, pieces, adders] = work.sharers(tile);
        unsigned& arrived = arrivals_at[tile * CLUSTER + rank][consumer][warp];
        // Votes, so that the compiler knows that the branches are uniform.
        while (__any_sync(~0u, *(volatile unsigned*)&arrived < pieces)) {}
        __threadfence();
        if (lane == 0)
            atomicInc(&arrived, pieces + adders - 1);
        mine = 0;
        #pragma unroll
        for (int p = 0; p < PANELS; ++p)
            if (__any_sync(~0u, first + (warp * PANELS + p) % adders == cluster)) {
                float sum[PANEL / 2] = {};
                #pragma unroll 2
                for (int of = first; of < first + pieces; ++of)
                    #pragma unroll
                    for (int i = 0; i < PANEL / 2; ++i)
                        sum[i] += sums(of, first)[(p * PANEL / 2 + i) * 128];
                #pragma unroll
                for (int i = 0; i < PANEL / 4; ++i)
                    done[p * PANEL / 4 + i] = float2_to_bf162(sum[2 * i], sum[2 * i + 1]);
                mine |= 1 << p;
            }
    };

    for (int piece = 0; work.next(); ++piece) {
        const bool narrow = NARROW < BN && work.number >= work.wide;
        int previous = -1;                             // the stage whose wgmmas may still be in flight
        #pragma unroll 1                               // a small loop stays in the instruction cache
        for (int step = work.from; step < work.to; ++step) {
            mbarrier_wait(&s.full[stage], phase);

            // Compute. The swizzle repeats every 8 rows, 1024 bytes.
            const unsigned long long a = descriptor(&s.stage[stage].A[consumer * WM * BK], 16, 1024);
            const unsigned long long b = descriptor(s.stage[stage].B, 16, 1024);
            if (narrow)
                multiply((float (&)[NARROW / 2])acc, a, b, previous >= 0);    // the first 120 of 128
            else
                multiply(acc, a, b, previous >= 0);

            // While these are in flight, those of the previous step complete, and its stage is free: both blocks may fill it.
            wgmma_wait<1>();
            if (thread < CLUSTER && previous >= 0)
                mbarrier_arrive(&s.empty[previous], thread);
            previous = stage;
            advance();

            // Meanwhile, store a panel of the previous tile, through two buffers, one of which TMA may still be reading. A panel is copied in
            // one step and stored in the next, so that nothing waits for the copy. Not in the first step, so that the second is issued
            // early; in the last step, all remaining panels.
            while (STORE_BEHIND && panel <= PANELS && (step > work.from || step + 1 == work.to)) {
                if (panel > 0)
                    store_panel(panel - 1, s.C[consumer][(panel - 1) % 2]);
                if (lane == 0)
                    tma_store_wait<1>();
                __syncwarp();
                #pragma unroll
                for (int p = 0; p < PANELS; ++p)
                    if (p == panel)
                        put_panel(p, s.C[consumer][p % 2]);
                ++panel;
                if (step + 1 < work.to)
                    break;
            }
        }
        back = narrow ? BN - NARROW : 0;
        if (lane == 0) {                               // while the last step is in flight
            doneTile = s.tile[piece % 2];
            mbarrier_arrive(&s.read[piece % 2]);
        }
        __syncwarp();
        wgmma_wait<0>();
        if (thread < CLUSTER)
            mbarrier_arrive(&s.empty[previous], thread);
        if (STORE_BEHIND && work.to - work.from < work.steps) {
            store_piece();
            continue;
        }
        #pragma unroll
        for (int i = 0; i < BN / 4; ++i)
            done[i] = float2_to_bf162(acc[2 * i], acc[2 * i + 1]);
        panel = 0;
        if (!STORE_BEHIND)
            store_tile(s.C[consumer][0], WM * PANEL);
    }

    if (STORE_BEHIND && cluster * work.share < work.end)
        add_up();
    // Nothing more is loaded: the last tile is stored through this consumer's rows of A, a panel in each stage.
    if (STORE_BEHIND && (panel <= PANELS || cluster * work.share < work.end))
        store_tile(&s.stage[0].A[consumer * WM * BK], sizeof(Stage) / 2);
    if (lane == 0)
        tma_store_wait<0>();
}
