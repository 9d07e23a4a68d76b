// Rung 09, TMA: Hopper's copy engine loads whole tiles, swizzled, and one thread starts all copies; an mbarrier counts
// the bytes that have arrived. TMA also stores C, and knows where the matrices end.
// The counter to watch is instructions: no thread computes the address of a copy.
// `cargo ladder diff 9`, then `cargo run -p rung09_tma -- profile`.
#include "hopper.cuh"

constexpr int BM = 128, BN = 128, BK = 64;             // the block's tile of C, and its step along K
constexpr int WM = 64, WN = 64;                        // the warp's tile of C
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 128
constexpr int STAGES = 3;                              // tiles of A and B in shared memory
constexpr int CHUNK = 8;                               // elements in 16 bytes: a row of a matrix
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

static_assert(BK == PANEL && WN == PANEL, "a row of A's tile is as wide as the swizzle, and so is a warp's tile");

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

    // Where am I? Four warps, 2 x 2.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warpRow = warp / (BN / WN) * WM, warpCol = warp % (BN / WN) * WN;

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

    float acc[WM / 16][WN / 8][4] = {};
    for (int k0 = 0, stage = 0; k0 < K; k0 += BK, stage = (stage + 1) % STAGES) {
        // Wait for the oldest tile in flight, and until no thread reads the one before.
        mbarrier_wait(&s.full[stage], k0 / BK / STAGES % 2);
        __syncthreads();

        // Load the tile that replaces it.
        if (k0 + (STAGES - 1) * BK < K)
            load((stage + STAGES - 1) % STAGES, k0 + (STAGES - 1) * BK);

        // Compute. Lanes 0 to 15 give the row addresses of 16 x 8 elements, lanes 16 to 31 those of the next 8 columns.
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            unsigned regA[WM / 16][4], regB[WN / 16][4];
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m) {
                const int row = warpRow + m * 16 + lane % 16, chunk = k / CHUNK + lane / 16;
                ldmatrix(regA[m], &s.stage[stage].A[row * BK + (chunk ^ (row & 7)) * CHUNK]);
            }
            #pragma unroll
            for (int n = 0; n < WN / 16; ++n) {
                const int row = k + lane % 16, chunk = n * 2 + lane / 16;
                const unsigned short* Bs = s.stage[stage].B[warpCol / PANEL];
                ldmatrix_trans(regB[n], &Bs[row * PANEL + (chunk ^ (row & 7)) * CHUNK]);
            }
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int n = 0; n < WN / 8; ++n)
                    mma(acc[m][n], regA[m], regB[n / 2][n % 2 * 2], regB[n / 2][n % 2 * 2 + 1]);
        }
    }
    __syncthreads();

    // Store, through shared memory, from where TMA copies the tile to C.
    #pragma unroll
    for (int m = 0; m < WM / 16; ++m)
        #pragma unroll
        for (int n = 0; n < WN / 8; ++n)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = warpRow + m * 16 + half * 8 + lane / 4;
                *(unsigned*)&s.C[warpCol / PANEL][row * PANEL + (n ^ (row & 7)) * CHUNK + lane % 4 * 2] =
                    float2_to_half2(acc[m][n][half * 2], acc[m][n][half * 2 + 1]);
            }
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int panel = 0; panel < BN / PANEL; ++panel)
            tma_store(C, tileCol + panel * PANEL, tileRow, s.C[panel]);
        tma_store_wait<0>();
    }
}
