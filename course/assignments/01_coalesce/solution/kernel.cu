// Assignment 01, coalesce: a thread computes four neighboring elements of C, straight from global memory.
// The counters to watch are sectors: first as few as possible per access, then as few as possible in total.
// `cargo ladder grade course/assignments/01_coalesce my_kernel.cu`.

#ifndef TILE_M   // the grader compiles other tiles as well
#define TILE_M 16
#define TILE_N 64
#define TILE_K 16
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // the block's tile of C, and its step along K
constexpr int TN = 4;                                  // elements of C that a thread computes
constexpr int THREADS = BM * BN / TN;                  // 256
//: solution
constexpr int ROW_THREADS = BN / TN;                   // threads for a row of C's tile: 16 or 32
//: starter
//: end

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

static_assert(THREADS % 32 == 0 && THREADS <= 1024, "a block is made of whole warps, at most 32 of them");
//: solution
static_assert(32 % ROW_THREADS == 0 && BK % ROW_THREADS == 0, "the threads of a row share a warp, and a row of A");
//: starter
//: end

__device__ float half_to_float(unsigned short h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

__device__ unsigned short float_to_half(float f)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

// A is (M, K), B is (K, N), C is (M, N), all row-major f16.
extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    //: solution
    // Where am I? Neighboring lanes are along a row of C: together they access contiguous memory.
    const int threadRow = threadIdx.x / ROW_THREADS;
    const int threadCol = threadIdx.x % ROW_THREADS;
    A += (tileRow + threadRow) * K + threadCol;
    B += tileCol + threadCol * TN;
    //: starter
    //| // Where am I? Your task begins here. As it is, neighboring lanes are one below the other.
    //| const int threadRow = threadIdx.x % BM;
    //| const int threadCol = threadIdx.x / BM;
    //| A += (tileRow + threadRow) * K;
    //| B += tileCol + threadCol * TN;
    //: end

    float acc[TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        //: solution
        // Load. All threads of a row need all of this piece of A's row, so each loads a part of it, and every
        // sector is requested once.
        unsigned short part[BK / ROW_THREADS];
        #pragma unroll
        for (int i = 0; i < BK / ROW_THREADS; ++i)
            part[i] = A[i * ROW_THREADS];

        // Compute. Element k comes from the thread that loaded it. The four elements of B are loaded by one access of 8 bytes.
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            const float a = half_to_float(__shfl_sync(~0u, part[k / ROW_THREADS], k % ROW_THREADS, ROW_THREADS));
            const ushort4 b = *(const ushort4*)&B[k * N];
            acc[0] = fmaf(a, half_to_float(b.x), acc[0]);
            acc[1] = fmaf(a, half_to_float(b.y), acc[1]);
            acc[2] = fmaf(a, half_to_float(b.z), acc[2]);
            acc[3] = fmaf(a, half_to_float(b.w), acc[3]);
        }
        //: starter
        //| // Compute.
        //| #pragma unroll
        //| for (int k = 0; k < BK; ++k) {
        //|     const float a = half_to_float(A[k]);
        //|     #pragma unroll
        //|     for (int n = 0; n < TN; ++n)
        //|         acc[n] = fmaf(a, half_to_float(B[k * N + n]), acc[n]);
        //| }
        //: end

        // Advance.
        A += BK;
        B += BK * N;
    }

    // Store.
    C += (tileRow + threadRow) * N + tileCol + threadCol * TN;
    //: solution
    *(ushort4*)C = make_ushort4(float_to_half(acc[0]), float_to_half(acc[1]),
                                float_to_half(acc[2]), float_to_half(acc[3]));
    //: starter
    //| #pragma unroll
    //| for (int n = 0; n < TN; ++n)
    //|     C[n] = float_to_half(acc[n]);
    //: end
}
