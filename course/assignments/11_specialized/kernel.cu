// Assignment 11, warp specialization: one warp copies tiles of A and B by TMA, and warpgroups multiply them by wgmma, 64 rows of C
// each. Two mbarriers per stage connect them; they wait for each other in no other way.
// The counter to watch is how far ahead of their wait the copies are issued, and by whom.
// `cargo ladder grade course/assignments/11_specialized my_kernel.cu`.

// The grader passes other tiles on the compiler's command line.
#ifndef TILE_M
#define TILE_M 128
#define TILE_N 192
#define TILE_K 64
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // the block's tile of C, and its step along K
constexpr int WM = 64;                                 // rows of a consumer's tile of C: the M of a wgmma
constexpr int CONSUMERS = BM / WM;                     // warpgroups that multiply
constexpr int THREADS = CONSUMERS * 128;
constexpr int STAGES = 1;                              // tiles of A and B in shared memory
constexpr int CHUNK = 8;                               // elements in 16 bytes: the unit of the swizzle
constexpr int PANEL = 64;                              // columns in 128 bytes: the width of the swizzle

// A and B of one K step. Every panel begins at a multiple of 1024 bytes, where the swizzle's pattern begins.
struct Operands {
    unsigned short A[BM * BK];                         // (BM, BK)
    unsigned short B[BN / PANEL][BK * PANEL];          // panels of (BK, PANEL)
};

struct Shared {
    union {
        Operands stages[STAGES];
        unsigned short C[BN / PANEL][BM * PANEL];      // panels of (BM, PANEL), after the last use of the stages
    };
    unsigned long long full[STAGES];                   // mbarriers: the tile of the stage has arrived
};

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, sizeof(Shared), 1};
// The box that TMA copies at a time, of A, B and C: columns, rows, bytes of the swizzle.
extern "C" __constant__ int gemm_boxes[] = {BK, BM, 128, PANEL, BK, 128, PANEL, BM, 128};

static_assert(BK == PANEL && BN == 192, "a row of A's tile is as wide as the swizzle, and one wgmma takes 192 columns");
static_assert(BM % WM == 0, "a warpgroup multiplies 64 rows");

struct alignas(64) TensorMap { unsigned char opaque[128]; };

__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }

// ---- mbarrier: a phase completes when all arrivals and all expected bytes have arrived ----

__device__ void mbarrier_init(unsigned long long* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(address(barrier)), "r"(arrivals) : "memory");
}

// Arrives, and makes the phase expect this many bytes from TMA.
__device__ void mbarrier_expect(unsigned long long* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(address(barrier)), "r"(bytes) : "memory");
}

__device__ void mbarrier_arrive(unsigned long long* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(address(barrier)) : "memory");
}

// Waits for the completion of the phase with this parity. The first phase has parity 0; before it, parity 1 counts as complete.
__device__ void mbarrier_wait(unsigned long long* barrier, int parity)
{
    asm volatile("{.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;}"
                 :: "r"(address(barrier)), "r"(parity) : "memory");
}

// Waits for the warps that multiply.
__device__ void named_barrier() { asm volatile("bar.sync 1, %0;" :: "n"(CONSUMERS * 128) : "memory"); }

// ---- TMA: one thread copies a box, given its first column and row ----

__device__ void tma_load(void* to, const TensorMap& map, int column, int row, unsigned long long* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(address(to)), "l"(&map), "r"(column), "r"(row), "r"(address(barrier)) : "memory");
}

__device__ void tma_store(const TensorMap& map, int column, int row, const void* from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n"
                 "cp.async.bulk.commit_group;"
                 :: "l"(&map), "r"(column), "r"(row), "r"(address(from)) : "memory");
}

// Waits until TMA has read what this thread stores.
__device__ void tma_store_wait() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

// ---- wgmma: c += a b for a (64, 16) and b (16, BN), both in shared memory, by the 128 threads of a warpgroup ----

// Start address, leading and stride byte offsets in units of 16 bytes, and the 128-byte swizzle.
__device__ unsigned long long descriptor(const void* shared, int leading, int stride)
{
    return (address(shared) & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16
         | (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}

// Orders earlier accesses to the accumulators before the next wgmma.
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Closes a group of wgmmas.
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until all groups are complete, except the PENDING latest.
template <int PENDING>
__device__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(PENDING) : "memory"); }

#define FLOATS(t) "+f"(c[t]), "+f"(c[t + 1]), "+f"(c[t + 2]), "+f"(c[t + 3]), \
                  "+f"(c[t + 4]), "+f"(c[t + 5]), "+f"(c[t + 6]), "+f"(c[t + 7])

// N = 192. If add is 0, c = a b. The last two numbers: A is contiguous along K, and B, row-major, along N.
__device__ void wgmma(float (&c)[96], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %98, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "
                 "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, "
                 "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, "
                 "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, "
                 "%70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, "
                 "%87, %88, %89, %90, %91, %92, %93, %94, %95"
                 "}, %96, %97, p, 1, 1, 0, 1;}"
                 : FLOATS(0), FLOATS(8), FLOATS(16), FLOATS(24), FLOATS(32), FLOATS(40), FLOATS(48), FLOATS(56),
                   FLOATS(64), FLOATS(72), FLOATS(80), FLOATS(88) : "l"(a), "l"(b), "r"(add));
}

__device__ unsigned float2_to_half2(float low, float high)
{
    unsigned h;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(high), "f"(low));
    return h;
}

// A is (M, K), B is (K, N), C is (M, N), all row-major f16, of any size with rows that are a multiple of 16 bytes:
// outside, TMA reads zeros and writes nothing.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const __grid_constant__ TensorMap C,
     int M, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char dynamic[];
    Shared& s = *(Shared*)dynamic;

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = (M + BM - 1) / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I? Each warp has 16 of its consumer's 64 rows of C.
    const int consumer = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread % 32, warp = thread / 32;

    // The barriers are initialized before any thread, or TMA, uses them.
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            mbarrier_init(&s.full[i], 1);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    // Starts the copies of the tile of a step to a stage, all by one thread.
    auto load = [&](int step, int stage) {
        mbarrier_expect(&s.full[stage], sizeof(Operands));
        tma_load(s.stages[stage].A, A, step * BK, tileRow, &s.full[stage]);
        for (int panel = 0; panel < BN / PANEL; ++panel)
            tma_load(s.stages[stage].B[panel], B, tileCol + panel * PANEL, step * BK, &s.full[stage]);
    };

    // Issues the wgmmas of a stage, as one group. The swizzle repeats every 8 rows, 1024 bytes. In A the next 16 columns
    // begin 32 bytes further on; in B the next 16 rows of K 2048 bytes, and the next panel BK * 128.
    float acc[BN / 2];
    auto multiply = [&](int stage, int add) {
        const unsigned long long a = descriptor(&s.stages[stage].A[consumer * WM * BK], 16, 1024);
        const unsigned long long b = descriptor(s.stages[stage].B[0], BK * PANEL * 2, 1024);
        wgmma_fence();
        #pragma unroll
        for (int k = 0; k < BK / 16; ++k)
            wgmma(acc, a + (k * 32 >> 4), b + (k * 2048 >> 4), add + k);
        wgmma_commit();
    };

    const int steps = (K + BK - 1) / BK;
    // Your task: a warp that only loads, and consumers that wait for nothing but their tiles.
    for (int step = 0; step < steps; ++step) {
        // Load.
        if (threadIdx.x == 0)
            load(step, 0);
        // Wait until the whole tile has been copied. Each step is a phase of the barrier.
        mbarrier_wait(&s.full[0], step & 1);
        // Compute.
        multiply(0, step);
        wgmma_wait<0>();
        // Advance, once no warpgroup reads the tile any more.
        __syncthreads();
    }
    named_barrier();

    // Store, through shared memory, from where TMA copies the tile to C.
    #pragma unroll
    for (int n = 0; n < BN / 8; ++n)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = consumer * WM + warp * 16 + half * 8 + lane / 4, chunk = n % 8;
            *(unsigned*)&s.C[n / 8][row * PANEL + (chunk ^ (row & 7)) * CHUNK + lane % 4 * 2] =
                float2_to_half2(acc[n * 4 + half * 2], acc[n * 4 + half * 2 + 1]);
        }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");       // stores of all threads become visible to TMA
    named_barrier();
    if (threadIdx.x == 0) {
        for (int panel = 0; panel < BN / PANEL; ++panel)
            tma_store(C, tileCol + panel * PANEL, tileRow, s.C[panel]);
        tma_store_wait();                              // shared memory must stay until TMA has read it
    }
}
