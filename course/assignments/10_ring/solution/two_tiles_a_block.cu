// Assignment 10, the ring of mbarriers: tiles of A and B are copied by TMA two K steps before they are multiplied, in a ring of
// three stages. Warps never wait for each other, but only for a stage to be full or empty. The counter to watch is how far ahead
// of their wait the copies are issued.
// `cargo ladder grade course/assignments/10_ring my_kernel.cu`.

// The grader passes other tiles on the compiler's command line.
#ifndef TILE_M
#define TILE_M 64
#define TILE_N 32
#define TILE_K 64
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // the block's tile of C, and its step along K
constexpr int WM = 16, WN = BN;                        // a warp's tile of C
constexpr int WARPS = BM / WM;                         // that multiply
//: solution
constexpr int THREADS = (WARPS + 1) * 32;              // the last warp loads
constexpr int STAGES = 3;                              // tiles of A and B in shared memory
//: starter
//| constexpr int THREADS = WARPS * 32;
//| constexpr int STAGES = 1;                              // tiles of A and B in shared memory
//: end
constexpr int CHUNK = 8;                               // elements in 16 bytes: the unit of the swizzle

// A and B of one K step, as TMA swizzles them: rows of 128 and of 64 bytes.
struct Operands {
    unsigned short A[BM * BK];                         // (BM, BK)
    unsigned short B[BK * BN];                         // (BK, BN)
};

struct Shared {
    union {
        Operands stages[STAGES];
        unsigned short C[BM * BN];                     // (BM, BN), after the last use of the stages
    };
    unsigned long long full[STAGES];                   // mbarriers: the tile of the stage has arrived
    //: solution
    unsigned long long empty[STAGES];                  // no warp reads it any more
    //: starter
    //: end
};

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};
// The box that TMA copies at a time, of A, B and C: columns, rows, bytes of the swizzle.
extern "C" __constant__ int gemm_boxes[] = {BK, BM, 128, BN, BK, 64, BN, BM, 64};

static_assert(BK == 64 && BN == 32, "rows of A's tile have 128 bytes, those of B's and C's 64");
static_assert(BM % WM == 0, "a warp multiplies 16 rows");

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
__device__ void named_barrier() { asm volatile("bar.sync 1, %0;" :: "n"(WARPS * 32) : "memory"); }

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

// ---- tensor cores ----

// Four 8x8 matrices: lane l gives the address of row l % 8 of matrix l / 8.
__device__ void ldmatrix(unsigned (&r)[4], const unsigned short* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

// The same, each matrix transposed: B's columns from row-major B.
__device__ void ldmatrix_trans(unsigned (&r)[4], const unsigned short* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
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

// A is (M, K), B is (K, N), C is (M, N), all row-major f16, of any size with rows that are a multiple of 16 bytes:
// outside, TMA reads zeros and writes nothing.
extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const __grid_constant__ TensorMap C,
     int M, int N, int K)
{
    __shared__ __align__(1024) Shared s;

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = (M + BM - 1) / BM;

    // Where am I? The warps that multiply are one above the other.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    // The barriers are initialized before any thread, or TMA, uses them.
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            mbarrier_init(&s.full[i], 1);
            //: solution
            mbarrier_init(&s.empty[i], WARPS);         // one lane of each
            //: starter
            //: end
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    // Starts the copies of the tile of a step to a stage, all by one thread.
    int tileRow = 0, tileCol = 0;
    auto load = [&](int step, int stage) {
        mbarrier_expect(&s.full[stage], sizeof(Operands));
        tma_load(s.stages[stage].A, A, step * BK, tileRow, &s.full[stage]);
        tma_load(s.stages[stage].B, B, tileCol, step * BK, &s.full[stage]);
    };

    // Multiplies the tile in a stage. Lanes 0 to 15 give the row addresses of 16 x 8 elements, lanes 16 to 31 those of
    // the next 8 columns.
    float acc[WN / 8][4] = {};
    auto multiply = [&](int stage) {
        const unsigned short *As = s.stages[stage].A, *Bs = s.stages[stage].B;
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            unsigned regA[4], regB[WN / 16][4];
            const int rowA = warp * WM + lane % 16, rowB = k + lane % 16;
            ldmatrix(regA, &As[rowA * BK + (k / CHUNK + lane / 16 ^ rowA % 8) * CHUNK]);
            #pragma unroll
            for (int n = 0; n < WN / 16; ++n)
                ldmatrix_trans(regB[n], &Bs[rowB * BN + (n * 2 + lane / 16 ^ rowB / 2 % 4) * CHUNK]);
            #pragma unroll
            for (int n = 0; n < WN / 8; ++n)
                mma(acc[n], regA, regB[n / 2][n % 2 * 2], regB[n / 2][n % 2 * 2 + 1]);
        }
    };

    const int steps = (K + BK - 1) / BK;
    //: solution
    int stage = 0, phase = 0;
    auto next = [&] { if (++stage == STAGES) stage = 0, phase ^= 1; };
    for (int t = blockIdx.x * 2; t < min(blockIdx.x * 2 + 2, gridDim.x); ++t) {
        tileRow = t % rowTiles * BM; tileCol = t / rowTiles * BN;
        if (warp == WARPS) {
            if (lane == 0)
                for (int step = 0; step < steps; ++step, next()) {
                    mbarrier_wait(&s.empty[stage], phase ^ 1);
                    load(step, stage);
                }
            __syncthreads();
            continue;
        }
        for (auto& a : acc) a[0] = a[1] = a[2] = a[3] = 0;
        for (int step = 0; step < steps; ++step, next()) {
            mbarrier_wait(&s.full[stage], phase);
            multiply(stage);
            __syncwarp();
            if (lane == 0) mbarrier_arrive(&s.empty[stage]);
        }
        named_barrier();
    // Store, through shared memory, from where TMA copies the tile to C.
    #pragma unroll
    for (int n = 0; n < WN / 8; ++n)
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = warp * WM + half * 8 + lane / 4;
            *(unsigned*)&s.C[row * BN + (n ^ row / 2 % 4) * CHUNK + lane % 4 * 2] =
                float2_to_half2(acc[n][half * 2], acc[n][half * 2 + 1]);
        }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");       // stores of all threads become visible to TMA
    named_barrier();
    if (threadIdx.x == 0) {
        tma_store(C, tileCol, tileRow, s.C);
        tma_store_wait();                              // shared memory must stay until TMA has read it
    }
        __syncthreads();
    }
}
