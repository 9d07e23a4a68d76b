// Bulk copies from shared memory to shared memory undo the swizzle.

// The grader passes other tiles on the compiler's command line.
#ifndef TILE_M
#define TILE_M 64
#define TILE_N 96
#define TILE_K 32
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // the block's tile of C, and its step along K
constexpr int THREADS = 128;                           // one warpgroup
constexpr int PANEL = 32;                              // columns of a panel, 64 bytes: the width of a box

// A and B of one K step, and C, in consecutive panels. C's rows have 64 bytes, too.
struct Shared {
    union {
        struct { unsigned short A[BK / PANEL][BM * PANEL], B[BN / PANEL][BK * PANEL], plain[BM * 40]; };
        unsigned short C[BN / PANEL][BM * PANEL];
    };
    unsigned long long full, moved;
};

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};
// The box that TMA moves at a time, for A, B and C: columns, rows, bytes of the swizzle.
extern "C" __constant__ int gemm_boxes[] = {PANEL, BM, 64, PANEL, BK, 64, PANEL, BM, 64};

static_assert(BM == 64 && BN == 96, "one wgmma takes 64 rows and, here, 96 columns");
static_assert(BK % PANEL == 0, "a step along K is whole panels of A");

struct alignas(64) TensorMap { unsigned char opaque[128]; };

// ---- mbarrier: a phase completes when all arrivals and all expected bytes have arrived ----

__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }

// Arrives, and makes the phase expect this many bytes from TMA.
__device__ void expect(unsigned long long* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(address(barrier)), "r"(bytes) : "memory");
}

// Waits for the completion of the phase with this parity.
__device__ void wait(unsigned long long* barrier, int parity)
{
    asm volatile("{.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;}"
                 :: "r"(address(barrier)), "r"(parity) : "memory");
}

__device__ void bulk(unsigned to, const void* from, int bytes, unsigned long long* barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(to), "l"(from), "r"(bytes), "r"(address(barrier)) : "memory");
}

__device__ void move(unsigned to, unsigned from, int bytes, unsigned long long* barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(to), "r"(from), "r"(bytes), "r"(address(barrier)) : "memory");
}

// ---- TMA: one thread copies a box, given its first column and row ----

__device__ void load(void* to, const TensorMap& map, int column, int row, unsigned long long* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(address(to)), "l"(&map), "r"(column), "r"(row), "r"(address(barrier)) : "memory");
}

__device__ void store(const TensorMap& map, int column, int row, const void* from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(&map), "r"(column), "r"(row), "r"(address(from)) : "memory");
}

// ---- wgmma: c += a b for a (64, 16) and b (16, BN), both in shared memory ----

// Start address, leading and stride byte offsets in units of 16 bytes, and the swizzle's mode.
__device__ unsigned long long descriptor(const void* shared, int leading, int stride, unsigned long long mode)
{
    return (address(shared) & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16
         | (unsigned long long)(stride >> 4) << 32 | mode << 62;
}

#define FLOATS(t) "+f"(c[t]), "+f"(c[t + 1]), "+f"(c[t + 2]), "+f"(c[t + 3]), \
                  "+f"(c[t + 4]), "+f"(c[t + 5]), "+f"(c[t + 6]), "+f"(c[t + 7])

// The last two numbers: A is contiguous along K, and B, row-major, along N. If add is 0, c = a b.
__device__ void wgmma(float (&c)[48], const unsigned (&a)[4], unsigned long long b, int add)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %53, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
                 "%10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
                 "%30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}, "
                 "{%48, %49, %50, %51}, %52, p, 1, 1, 1;}"
                 : FLOATS(0), FLOATS(8), FLOATS(16), FLOATS(24), FLOATS(32), FLOATS(40) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

// A is (M, K), B is (K, N), C is (M, N), all row-major f16, of any size with rows that are a multiple of 16 bytes:
// outside, TMA reads zeros and writes nothing.
extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const __grid_constant__ TensorMap C,
     int M, int N, int K)
{
    __shared__ __align__(1024) Shared s;

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = (M + BM - 1) / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I?
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    // The barrier is initialized before any thread, or TMA, uses it.
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nmbarrier.init.shared::cta.b64 [%1], 1;\nfence.mbarrier_init.release.cluster;"
                     :: "r"(address(&s.full)), "r"(address(&s.moved)) : "memory");
    __syncthreads();

    float acc[BN / 2];
    int moves = 0;
    for (int k0 = 0, phase = 0; k0 < K; k0 += BK, phase ^= 1) {
        if (threadIdx.x == 0) {
            expect(&s.full, sizeof s.A + sizeof s.B);
            for (int panel = 0; panel < BK / PANEL; ++panel)
                load(s.A[panel], A, k0 + panel * PANEL, tileRow, &s.full);
            for (int panel = 0; panel < BN / PANEL; ++panel)
                load(s.B[panel], B, tileCol + panel * PANEL, k0, &s.full);
        }
        wait(&s.full, phase);
        #pragma unroll
        for (int panel = 0; panel < BK / PANEL; ++panel, ++moves) {
            // Undo the swizzle, by bulk copies: neither loads nor stores.
            if (threadIdx.x == 0) expect(&s.moved, BM * PANEL * 2);
            __syncthreads();
            for (int i = threadIdx.x; i < BM * 4; i += THREADS)
                move(address(s.plain) + i / 4 * 80 + i % 4 * 16, address(s.A[panel]) + i / 4 * 64 + (i % 4 ^ i / 8 % 4) * 16, 16, &s.moved);
            wait(&s.moved, moves & 1);
            unsigned regs[2][4];
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(regs[h][0]), "=r"(regs[h][1]), "=r"(regs[h][2]), "=r"(regs[h][3])
                   : "r"(address(s.plain) + (warp * 16 + lane % 16) * 80 + h * 32 + lane / 16 * 16) : "memory");
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int h = 0; h < 2; ++h)
                wgmma(acc, regs[h], descriptor(s.B[0] + (panel * 2 + h) * 16 * PANEL, BK * PANEL * 2, 512, 2), k0 + panel + h);
            asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
            __syncthreads();
        }
    }

    // Store, through shared memory: four 8x8 matrices at a time, which are 16 rows and two chunks of 16 bytes. Threads
    // have no descriptor: they apply the box's swizzle to the address, here bits 4 and 5 XOR bits 7 and 8.
    #pragma unroll
    for (int n = 0; n < BN / 16; ++n) {
        unsigned c[4];
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(c[i]) : "f"(acc[n * 8 + i * 2 + 1]), "f"(acc[n * 8 + i * 2]));
        const int row = warp * 16 + lane % 16, chunk = n % 2 * 2 + lane / 16;
        const unsigned at = row * PANEL * 2 + chunk * 16;              // in bytes
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     :: "r"(address(s.C[n / 2]) + (at ^ (at >> 3 & 0x30))),
                        "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");       // stores of all threads become visible to TMA
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int panel = 0; panel < BN / PANEL; ++panel)
            store(C, tileCol + panel * PANEL, tileRow, s.C[panel]);
        // Shared memory must stay until TMA has read it.
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}
