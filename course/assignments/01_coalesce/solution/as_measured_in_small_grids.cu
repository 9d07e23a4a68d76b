// Elements of A by shuffles in small grids, as they are measured; one at a time in larger ones.
#ifndef TILE_M
#define TILE_M 16
#define TILE_N 64
#define TILE_K 16
#endif
#include <cuda_fp16.h>
constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;

constexpr int COLS = BN / 32, ROWS = 4;                // elements of C that a lane computes
constexpr int THREADS = BM / ROWS * 32;
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

template <int N> struct alignas(2 * N) Halves { __half h[N]; };

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const __half* __restrict__ A, const __half* __restrict__ B, __half* __restrict__ C, int M, int N, int K)
{
    const int rowTiles = M / BM;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int row = blockIdx.x % rowTiles * BM + warp * ROWS;
    const int col = blockIdx.x / rowTiles * BN + lane * COLS;

    const bool small = gridDim.x <= 12;
    float acc[ROWS][COLS] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        float mine[2];                                 // lanes 0 to 15: of an even row, 16 to 31: of an odd one
        if (small)
            for (int i = 0; i < 2; ++i)
                mine[i] = __half2float(A[(row + i * 2 + (lane >> 4)) * K + k0 + (lane & 15)]);
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            const auto b = *reinterpret_cast<const Halves<COLS>*>(B + (k0 + k) * N + col);
            #pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const float a = small ? __shfl_sync(0xffffffffu, mine[r / 2], r % 2 * 16 + k)
                                      : __half2float(*(const volatile __half*)&A[(row + r) * K + k0 + k]);
                #pragma unroll
                for (int c = 0; c < COLS; ++c)
                    acc[r][c] += a * __half2float(b.h[c]);
            }
        }
    }
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        Halves<COLS> out;
        #pragma unroll
        for (int c = 0; c < COLS; ++c)
            out.h[c] = __float2half_rn(acc[r][c]);
        *reinterpret_cast<Halves<COLS>*>(C + (row + r) * N + col) = out;
    }
}
