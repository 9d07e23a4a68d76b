// Assignment 08, find the bug: a ring of stages between a warp that loads by TMA and four warps that multiply, in persistent
// blocks, which compute one tile of C after the other. It is almost always right.
// `cargo ladder grade course/assignments/08_ring_bug my_kernel.cu`.

// The grader passes other tiles on the compiler's command line.
#ifndef TILE_M
#define TILE_M 32
#define TILE_N 64
#define TILE_K 32
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // a tile of C, and the step along K
constexpr int WM = BM, WN = 16;                        // a warp's tile of C
constexpr int CONSUMERS = BN / WN;                     // warps that multiply
constexpr int THREADS = (CONSUMERS + 1) * 32;          // the last warp loads
constexpr int STAGES = 3;                              // tiles of A and B in shared memory
constexpr int CHUNK = 8;                               // elements in 16 bytes: the unit of the swizzle

// A and B of one K step, as TMA swizzles them: rows of 64 and of 128 bytes.
struct Stage {
    unsigned short B[BK * BN];                         // (BK, BN)
    unsigned short A[BM * BK];                         // (BM, BK)
};

struct Shared {
    Stage stage[STAGES];
    unsigned short C[BM * BN];                         // (BM, BN)
    unsigned long long full[STAGES], empty[STAGES];    // mbarriers: the tile has arrived; no warp reads it any more
};

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster, and persistent
// blocks per SM, which compute one tile after the other.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1, 1};
// The box that TMA copies at a time, of A, B and C: columns, rows, bytes of the swizzle.
extern "C" __constant__ int gemm_boxes[] = {BK, BM, 64, BN, BK, 128, BN, BM, 128};

static_assert(BK == 32 && BN == 64, "rows of A's tile have 64 bytes, those of B's and C's 128");
static_assert(BM % 16 == 0, "an mma takes 16 rows");

struct alignas(64) TensorMap { unsigned char opaque[128]; };

__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }

// ---- mbarrier: a phase completes when all arrivals and all expected bytes have arrived ----

__device__ void init(unsigned long long* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(address(barrier)), "r"(arrivals) : "memory");
}

// Arrives, and makes the phase expect this many bytes from TMA.
__device__ void expect(unsigned long long* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(address(barrier)), "r"(bytes) : "memory");
}

__device__ void arrive(unsigned long long* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(address(barrier)) : "memory");
}

// Waits for the completion of the phase with this parity. The first phase has parity 0; before it, parity 1 counts as complete.
__device__ void wait(unsigned long long* barrier, int parity)
{
    asm volatile("{.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;}"
                 :: "r"(address(barrier)), "r"(parity) : "memory");
}

// Waits for the warps that multiply.
__device__ void consumers_barrier() { asm volatile("bar.sync 1, %0;" :: "n"(CONSUMERS * 32) : "memory"); }

// ---- TMA: one thread copies a box, given its first column and row ----

__device__ void load(void* to, const TensorMap& map, int column, int row, unsigned long long* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(address(to)), "l"(&map), "r"(column), "r"(row), "r"(address(barrier)) : "memory");
}

__device__ void store(const TensorMap& map, int column, int row, const void* from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n"
                 "cp.async.bulk.commit_group;"
                 :: "l"(&map), "r"(column), "r"(row), "r"(address(from)) : "memory");
}

// Waits until TMA has read what this thread stores.
__device__ void store_wait() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

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
extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const __grid_constant__ TensorMap C,
     int M, int N, int K)
{
    __shared__ __align__(1024) Shared s;

    // Where am I? The warps that multiply are side by side.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warpCol = warp * WN;

    // The barriers are initialized before any thread, or TMA, uses them.
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(&s.full[i], 1);
            init(&s.empty[i], CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    // Which tiles? They are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = (M + BM - 1) / BM;
    const int tiles = rowTiles * ((N + BN - 1) / BN);

    if (warp == CONSUMERS) {
        // Load. One lane starts all copies.
        int filled = 0;
        for (int tile = blockIdx.x; tile < tiles && lane == 0; tile += gridDim.x) {
            const int tileRow = tile % rowTiles * BM, tileCol = tile / rowTiles * BN;
            for (int k0 = 0; k0 < K; k0 += BK, ++filled) {
                const int stage = filled % STAGES;
                wait(&s.empty[stage], filled / STAGES % 2 ^ 1);
                expect(&s.full[stage], sizeof(Stage));
                load(s.stage[stage].A, A, k0, tileRow, &s.full[stage]);
                load(s.stage[stage].B, B, tileCol, k0, &s.full[stage]);
            }
        }
        return;
    }

    //: solution
    int stage = 0, phase = 0;
    //: starter
    //| int stage = 0;
    //: end
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int tileRow = tile % rowTiles * BM, tileCol = tile / rowTiles * BN;
        float acc[WM / 16][WN / 8][4] = {};
        //: solution
        for (int k0 = 0; k0 < K; k0 += BK) {
        //: starter
        //| for (int k0 = 0, phase = 0; k0 < K; k0 += BK) {
        //: end
            // Wait until the tiles of A and B have arrived.
            wait(&s.full[stage], phase);

            // Compute. Lanes 0 to 15 give the row addresses of 16 x 8 elements, lanes 16 to 31 those of the next 8 columns.
            const unsigned short *As = s.stage[stage].A, *Bs = s.stage[stage].B;
            #pragma unroll
            for (int k = 0; k < BK; k += 16) {
                unsigned regA[WM / 16][4], regB[4];
                #pragma unroll
                for (int m = 0; m < WM / 16; ++m) {
                    const int row = m * 16 + lane % 16, chunk = k / CHUNK + lane / 16;
                    ldmatrix(regA[m], &As[row * BK + (chunk ^ row / 2 % 4) * CHUNK]);
                }
                const int row = k + lane % 16, chunk = warpCol / CHUNK + lane / 16;
                ldmatrix_trans(regB, &Bs[row * BN + (chunk ^ row % 8) * CHUNK]);
                #pragma unroll
                for (int m = 0; m < WM / 16; ++m)
                    #pragma unroll
                    for (int n = 0; n < WN / 8; ++n)
                        mma(acc[m][n], regA[m], regB[n * 2], regB[n * 2 + 1]);
            }

            // Advance. The whole warp has read the stage, which may now be refilled.
            __syncwarp();
            if (lane == 0)
                arrive(&s.empty[stage]);
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }

        // Store, through shared memory, from where TMA copies the tile to C; before it is overwritten, TMA must have read it.
        if (threadIdx.x == 0)
            store_wait();
        consumers_barrier();
        #pragma unroll
        for (int m = 0; m < WM / 16; ++m)
            #pragma unroll
            for (int n = 0; n < WN / 8; ++n)
                #pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int row = m * 16 + half * 8 + lane / 4, chunk = warpCol / CHUNK + n;
                    *(unsigned*)&s.C[row * BN + (chunk ^ row % 8) * CHUNK + lane % 4 * 2] =
                        float2_to_half2(acc[m][n][half * 2], acc[m][n][half * 2 + 1]);
                }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");       // stores of all threads become visible to TMA
        consumers_barrier();
        if (threadIdx.x == 0)
            store(C, tileCol, tileRow, s.C);
    }
    if (threadIdx.x == 0)
        store_wait();
}
