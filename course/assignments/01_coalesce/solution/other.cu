// Assignment 01, another way: a thread's elements of C are 32 columns apart, so that a warp accesses whole rows of
// the tile, with 2 contiguous bytes per lane. All lanes load the same 16 bytes of A, eight steps ahead.

#ifndef TILE_M
#define TILE_M 16
#define TILE_N 64
#define TILE_K 16
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // the block's tile of C, and its step along K
constexpr int TM = 128 / BN, TN = BN / 32;             // rows and columns of C that a thread computes: 4 elements
constexpr int THREADS = BM * BN / 4;                   // 256
constexpr int AHEAD = 8;                               // elements of A in 16 bytes

extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

static_assert(TM * TN == 4 && BM % TM == 0, "warps take whole rows of the tile");
static_assert(BK % AHEAD == 0, "a step is made of whole accesses to A");

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

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;
    const int row = tileRow + threadIdx.x / 32 * TM, col = tileCol + threadIdx.x % 32;

    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += AHEAD) {
        uint4 a[TM];
        #pragma unroll
        for (int m = 0; m < TM; ++m)
            a[m] = *(const uint4*)&A[(row + m) * K + k0];
        #pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            float b[TN];
            #pragma unroll
            for (int n = 0; n < TN; ++n)
                b[n] = half_to_float(B[(k0 + k) * N + col + n * 32]);
            #pragma unroll
            for (int m = 0; m < TM; ++m) {
                const unsigned pair = k / 2 == 0 ? a[m].x : k / 2 == 1 ? a[m].y : k / 2 == 2 ? a[m].z : a[m].w;
                const float one = half_to_float(k % 2 ? pair >> 16 : pair & 0xffff);
                #pragma unroll
                for (int n = 0; n < TN; ++n)
                    acc[m][n] = fmaf(one, b[n], acc[m][n]);
            }
        }
    }

    #pragma unroll
    for (int m = 0; m < TM; ++m)
        #pragma unroll
        for (int n = 0; n < TN; ++n)
            C[(row + m) * N + col + n * 32] = float_to_half(acc[m][n]);
}
