// Rung 06 on Hopper, pipeline: one warp feeds a ring of stages by TMA, two warpgroups empty it with wgmma, which
// reads both operands straight from shared memory; two blocks share each tile of B by multicast. A tile of C is
// stored while the next one is computed, and the last tiles, of which there is not one for each, are cut along K.
// The counter to watch is time: the loads are hidden, no thread computes an address, conflicts stay 0.
// `cargo run -p rung06_pipeline -- profile --tile 128x256`.

// A configuration's tile of C. The host passes it on the compiler's command line.
#ifndef TILE_M
#define TILE_M 128
#define TILE_N 256
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = 64;       // the block's tile of C, and its step along K
constexpr int WM = 64;                                 // rows of a consumer warpgroup: what one wgmma takes
constexpr int CONSUMERS = BM / WM;
constexpr int THREADS = 128 * (1 + CONSUMERS);         // the first warpgroup loads
constexpr int CLUSTER = BN == 256 ? 2 : 1;             // blocks, one above the other, that share tiles of B
constexpr int PANEL = 64;                              // columns in 128 bytes: the width of the swizzle
constexpr int GROUP = 8;                               // rows of tiles that are worked on together
constexpr int PANELS = BN / PANEL;
constexpr bool STORE_BEHIND = PANELS > 2;                     // whether a tile is stored while the next one is computed

// A and B of one K step. Every panel begins at a multiple of 1024 bytes, where the swizzle's pattern begins.
struct Stage {
    unsigned short A[BM * BK];                         // (BM, BK)
    unsigned short B[PANELS][BK * PANEL];              // panels of (BK, PANEL)
};
constexpr int PANEL_OF_C = WM * PANEL;                        // a panel of C, two to each consumer
constexpr int STAGES = (227 * 1024 - 1024 - CONSUMERS * 2 * PANEL_OF_C * 2) / (int)sizeof(Stage);

struct Shared {
    Stage stage[STAGES];
    unsigned short C[CONSUMERS][2][PANEL_OF_C];               // (WM, PANEL)
    unsigned long long full[STAGES], empty[STAGES];    // mbarriers
    unsigned arrived[CONSUMERS];
};

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster, blocks per
// multiprocessor, which stay there and take one tile after the other, and whether the last tiles are shared out.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, sizeof(Shared), CLUSTER, 1, STORE_BEHIND};
// The box that TMA moves at a time, for A, B and C: columns, rows, bytes of the swizzle.
extern "C" __constant__ int gemm_boxes[] = {BK, BM, 128, PANEL, BK, 128, PANEL, WM, 128};

static_assert(PANELS % CLUSTER == 0, "each block of the cluster loads as many panels of B");
static_assert(BM <= 256, "a box of TMA has at most 256 rows");
static_assert(STAGES >= PANELS, "the last tile goes out by way of as many stages");
static_assert(sizeof(Shared) <= 227 * 1024, "what a block may have");

struct alignas(64) TensorMap { unsigned char opaque[128]; };

// ---- mbarrier: a phase ends when all arrivals and all announced bytes are there ----

__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }

__device__ void init(unsigned long long* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(address(barrier)), "r"(arrivals) : "memory");
}

// Arrives, and announces that TMA will bring this many bytes.
__device__ void expect(unsigned long long* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(address(barrier)), "r"(bytes) : "memory");
}

// Arrives at the same barrier of another block of the cluster.
__device__ void arrive(unsigned long long* barrier, int block)
{
    asm volatile("{.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];}"
                 :: "r"(address(barrier)), "r"(block) : "memory");
}

// Waits for the end of the phase of this parity.
__device__ void wait(unsigned long long* barrier, int parity)
{
    asm volatile("{.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;}"
                 :: "r"(address(barrier)), "r"(parity) : "memory");
}

// ---- TMA: one thread names a box by its first column and row ----

// To the same place in every block of the cluster that has its bit in the mask, each with its own barrier.
__device__ void load(void* to, const TensorMap& map, int column, int row, unsigned long long* barrier,
                     int blocks = (1 << CLUSTER) - 1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;"
                 :: "r"(address(to)), "l"(&map), "r"(column), "r"(row), "r"(address(barrier)),
                    "h"((unsigned short)blocks) : "memory");
}

// Brings a box to L2.
__device__ void fetch(const TensorMap& map, int column, int row)
{
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];"
                 :: "l"(&map), "r"(column), "r"(row) : "memory");
}

__device__ void store(const TensorMap& map, int column, int row, const void* from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n"
                 "cp.async.bulk.commit_group;"
                 :: "l"(&map), "r"(column), "r"(row), "r"(address(from)) : "memory");
}

// Waits until TMA has read what it is to store, but for the last few stores.
template <int PENDING>
__device__ void wait_stored() { asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(PENDING) : "memory"); }

// ---- wgmma: c += a b for a (64, 16) and b (16, BN), both in shared memory ----

// Start address, leading and stride byte offsets in units of 16 bytes, and the 128-byte swizzle.
__device__ unsigned long long descriptor(const void* shared, int leading, int stride)
{
    return (address(shared) & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16
         | (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}

#define NAMES(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define FLOATS(t) "+f"(c[t##0]), "+f"(c[t##1]), "+f"(c[t##2]), "+f"(c[t##3]), "+f"(c[t##4]), \
                  "+f"(c[t##5]), "+f"(c[t##6]), "+f"(c[t##7]), "+f"(c[t##8]), "+f"(c[t##9])

// The last two numbers: A lies along K, B, which is row-major, along N. If add is 0, c = a b.
__device__ void wgmma(float (&c)[128], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" NAMES() NAMES(1) NAMES(2) NAMES(3) NAMES(4)
                 NAMES(5) NAMES(6) NAMES(7) NAMES(8) NAMES(9) NAMES(10) NAMES(11)
                 "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, p, 1, 1, 0, 1;}"
                 : FLOATS(), FLOATS(1), FLOATS(2), FLOATS(3), FLOATS(4), FLOATS(5), FLOATS(6), FLOATS(7), FLOATS(8),
                   FLOATS(9), FLOATS(10), FLOATS(11), "+f"(c[120]), "+f"(c[121]), "+f"(c[122]), "+f"(c[123]),
                   "+f"(c[124]), "+f"(c[125]), "+f"(c[126]), "+f"(c[127])
                 : "l"(a), "l"(b), "r"(add));
}

__device__ void wgmma(float (&c)[64], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" NAMES() NAMES(1) NAMES(2) NAMES(3) NAMES(4)
                 NAMES(5) "%60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 1;}"
                 : FLOATS(), FLOATS(1), FLOATS(2), FLOATS(3), FLOATS(4), FLOATS(5), "+f"(c[60]), "+f"(c[61]),
                   "+f"(c[62]), "+f"(c[63])
                 : "l"(a), "l"(b), "r"(add));
}

// ---- where a cluster's tile lies: GROUP rows of tiles, column by column, so that neighbours share A and B in L2 ----

struct Tile { int row, column; };

__device__ Tile tile_of(int number, int M, int N)
{
    const int rows = (M + BM * CLUSTER - 1) / (BM * CLUSTER), columns = (N + BN - 1) / BN;
    const int first = number / (GROUP * columns) * GROUP, height = min(GROUP, rows - first);
    number %= GROUP * columns;
    return {(first + number % height) * BM * CLUSTER, number / height * BN};
}

// ---- what a cluster computes: whole tiles while there is one for each, and then a share of the steps of the rest ----

constexpr int MAX_SHARING = 132;                       // blocks that may share tiles: as many as Hopper has room for
__device__ float partial[STORE_BEHIND ? 2 * MAX_SHARING : 1][CONSUMERS][BN / 2][128]; // sums of a block's two pieces
__device__ unsigned pieces[MAX_SHARING][CONSUMERS];    // pieces of a tile that are there; 0 between launches

struct Work {
    int cluster = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    int steps, whole, share;                           // steps along K in a tile; whole tiles; steps of a share
    int at, end;                                       // what remains of this cluster's share
    int tile = cluster - clusters, from = 0, to;       // now: steps [from, to) of a tile

    __device__ Work(int tiles, int K) : steps((K + BK - 1) / BK), to(steps)
    {
        // To add up takes some ten steps, so it must save more, and not in too small pieces.
        const int rest = tiles % clusters * steps;
        share = (rest + clusters - 1) / clusters;
        if (!STORE_BEHIND || gridDim.x > MAX_SHARING || share < 4 || steps - share < 16)
            share = 0;
        whole = share > 0 ? tiles - tiles % clusters : tiles;
        at = cluster * share;
        end = min(at + share, rest);
    }

    __device__ bool next()
    {
        tile += clusters;
        if (tile < whole || !STORE_BEHIND)
            return tile < whole;
        tile = whole + at / steps;
        from = at % steps;
        to = min(steps, from + end - at);
        at += to - from;
        return from < to;
    }
};

// A is (M, K), B is (K, N), C is (M, N), all row-major f16, of any size whose rows are whole 16 bytes: outside of them
// TMA reads zeros and writes nothing.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const __grid_constant__ TensorMap C,
     int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char dynamic[];
    Shared& s = *(Shared*)dynamic;

    // Where am I?
    const int warpgroup = threadIdx.x / 128, block = blockIdx.x % CLUSTER;
    Work work((M + BM * CLUSTER - 1) / (BM * CLUSTER) * ((N + BN - 1) / BN), K);

    // The next launch may take what multiprocessors this one leaves free; it waits below until all of it is done.
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");

    // The barriers are there, in every block of the cluster, before anybody uses them.
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(&s.full[i], 1);
            init(&s.empty[i], CONSUMERS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (threadIdx.x == 32)
        for (const TensorMap* map : {&A, &B, &C})
            asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
    if (CLUSTER > 1)
        asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    else
        __syncthreads();

    int stage = 0, phase = 0;
    auto advance = [&] { if (++stage == STAGES) { stage = 0; phase ^= 1; } };

    if (warpgroup == 0) {
        // Load. One thread does it all; the registers go to those who compute.
        if (CONSUMERS > 1)
            asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
        if (threadIdx.x == 0) {
            // While the launch before ends, L2 fetches what the first steps will read, each block another part of it.
            const Tile own = tile_of(work.cluster, M, N);
            fetch(A, own.column / BN * BK, own.row + block * BM);
            for (int panel = block; panel < PANELS; panel += CLUSTER)
                fetch(B, own.column + panel * PANEL, own.row / (BM * CLUSTER) * BK);
            asm volatile("griddepcontrol.wait;" ::: "memory");     // that launch may have written A or B
            while (work.next()) {
                const Tile tile = tile_of(work.tile, M, N);
                for (int k0 = work.from * BK; k0 < work.to * BK; k0 += BK) {
                    wait(&s.empty[stage], phase ^ 1);
                    expect(&s.full[stage], sizeof(Stage));
                    load(s.stage[stage].A, A, k0, tile.row + block * BM, &s.full[stage], 1 << block);
                    #pragma unroll
                    for (int i = 0; i < PANELS / CLUSTER; ++i) {
                        const int panel = i * CLUSTER + block;
                        load(s.stage[stage].B[panel], B, tile.column + panel * PANEL, k0, &s.full[stage]);
                    }
                    advance();
                }
            }
            // Leave when every stage is free: until then another block may still arrive here.
            for (int i = 0; i < STAGES; ++i) {
                wait(&s.empty[stage], phase ^ 1);
                advance();
            }
        }
    } else {
        // Compute.
        if (CONSUMERS > 1)
            asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(CONSUMERS == 2 ? 232 : 160));
        const int consumer = warpgroup - 1, thread = threadIdx.x % 128, lane = thread % 32, warp = thread / 32;
        auto release = [&](int stage) { if (thread < CLUSTER) arrive(&s.empty[stage], thread); };
        auto sync = [&] { asm volatile("bar.sync %0, 128;" :: "r"(warpgroup) : "memory"); };

        float acc[BN / 2];
        unsigned done[BN / 4];                         // the tile before, in f16
        Tile tile = {}, doneTile = {};
        int panel = PANELS;                            // the next of its panels to be stored

        // From registers to shared memory, and from there to C.
        auto store_panel = [&](int panel, unsigned short* Cs) {
            #pragma unroll
            for (int n = 0; n < PANEL / 16; ++n) {
                const unsigned* c = done + panel * PANEL / 4 + n * 4;
                const int row = warp * 16 + lane % 16, chunk = n * 2 + lane / 16;
                asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                             :: "r"(address(Cs + row * PANEL + (chunk ^ (row & 7)) * 8)),
                                "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]) : "memory");
            }
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");       // to TMA, what all threads have put
            sync();
            if (thread == 0)
                store(C, doneTile.column + panel * PANEL, doneTile.row + block * BM + consumer * WM, Cs);
        };
        auto store_all = [&](unsigned short* Cs, int apart) {
            if (thread == 0)
                wait_stored<0>();
            sync();
            #pragma unroll
            for (int p = 0; p < PANELS; ++p)
                store_panel(p, Cs + p * apart);
        };

        // Puts a piece of a tile to the others. The last to come adds all of them, in their order, whoever it is.
        auto add_up = [&] {
            const int tile = work.tile - work.whole, start = tile * work.steps;
            const int first = start / work.share, last = (start + work.steps - 1) / work.share;    // their clusters
            auto sums = [&](int cluster) {             // the piece that begins a tile is its cluster's second
                return &partial[(2 * cluster + (cluster == first)) * CLUSTER + block][consumer][0][thread];
            };
            #pragma unroll
            for (int i = 0; i < BN / 2; ++i)
                sums(work.cluster)[i * 128] = acc[i];
            __threadfence();
            sync();
            if (thread == 0)
                s.arrived[consumer] = atomicInc(&pieces[tile * CLUSTER + block][consumer], last - first);
            sync();
            // A vote, so that the compiler sees all threads take the same way.
            if (!__any_sync(~0u, s.arrived[consumer] == last - first))
                return false;
            __threadfence();
            for (int cluster = first; cluster <= last; ++cluster)
                #pragma unroll
                for (int i = 0; i < BN / 2; ++i)
                    acc[i] = sums(cluster)[i * 128] + (cluster > first ? acc[i] : 0);
            return true;
        };

        while (work.next()) {
            int previous = -1;
            for (int step = work.from; step < work.to; ++step) {
                wait(&s.full[stage], phase);
                // Rows of A are 128 bytes long: 8 of them a pattern, 16 columns on are 32 bytes. B's panels are
                // 128 bytes wide: 8 rows of K a pattern, 16 on are 2048 bytes.
                const unsigned long long a = descriptor(&s.stage[stage].A[consumer * WM * BK], 16, 1024);
                const unsigned long long b = descriptor(s.stage[stage].B[0], BK * PANEL * 2, 1024);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                #pragma unroll
                for (int k = 0; k < BK / 16; ++k)
                    wgmma(acc, a + k * (32 >> 4), b + k * (2048 >> 4), step - work.from + k);
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                // While these run, those of the last step are done.
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (previous >= 0)
                    release(previous);
                previous = stage;
                advance();

                // While they run, there is also time for a division, and to store the tile before: a panel a step,
                // by way of two buffers, one of which TMA may still read. Not in the first, to have the second queued.
                if (step == work.from)
                    tile = tile_of(work.tile, M, N);
                while (STORE_BEHIND && panel < PANELS && (step > work.from || step + 1 == work.to)) {
                    unsigned short* Cs = s.C[consumer][panel % 2];
                    if (thread == 0)
                        wait_stored<1>();
                    sync();
                    #pragma unroll
                    for (int p = 0; p < PANELS; ++p)
                        if (p == panel)
                            store_panel(p, Cs);
                    ++panel;
                    if (step + 1 < work.to)
                        break;
                }
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            release(previous);
            if (STORE_BEHIND && work.to - work.from < work.steps && !add_up())
                continue;
            #pragma unroll
            for (int i = 0; i < BN / 4; ++i)
                asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(done[i]) : "f"(acc[2 * i + 1]), "f"(acc[2 * i]));
            doneTile = tile;
            panel = 0;
            if (!STORE_BEHIND)
                store_all(s.C[consumer][0], PANEL_OF_C);
        }
        // Nothing more is loaded: the last tile goes out at once, by way of this warpgroup's rows of A.
        if (STORE_BEHIND && panel < PANELS)
            store_all(&s.stage[0].A[consumer * PANEL_OF_C], sizeof(Stage) / 2);
        if (thread == 0)
            wait_stored<0>();
    }
}
