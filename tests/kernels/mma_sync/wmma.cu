// C = A B by nvcuda::wmma: tiles of 64x64 in padded shared memory, four warps of 32x32.
// cargo ladder emulate: --grid 32,32 --block 128
//   --arg 'f16[2048,2048]=normal' --arg 'f16[2048,2048]=normal' --arg 'f32[2048,2048]=nan' --arg 2048
#include <mma.h>
using namespace nvcuda;
constexpr int BM = 64, BN = 64, BK = 32;

__global__ void gemm(const half* a, const half* b, float* c, int n)
{
    __shared__ __align__(32) half tile_a[BM][BK + 8], tile_b[BK][BN + 8];
    const int warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 32;
    a += blockIdx.y * BM * n;
    b += blockIdx.x * BN;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    for (int m = 0; m < 2; ++m)
        for (int j = 0; j < 2; ++j)
            wmma::fill_fragment(sums[m][j], 0.0f);
    for (int k = 0; k < n; k += BK) {
        for (int i = threadIdx.x; i < BM * BK / 8; i += 128) {
            *(uint4*)&tile_a[i / 4][i % 4 * 8] = *(const uint4*)(a + i / 4 * n + k + i % 4 * 8);
            *(uint4*)&tile_b[i / 8][i % 8 * 8] = *(const uint4*)(b + (k + i / 8) * n + i % 8 * 8);
        }
        __syncthreads();
        for (int step = 0; step < BK; step += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y[2];
            for (int i = 0; i < 2; ++i) {
                wmma::load_matrix_sync(x[i], &tile_a[row + 16 * i][step], BK + 8);
                wmma::load_matrix_sync(y[i], &tile_b[step][column + 16 * i], BN + 8);
            }
            for (int m = 0; m < 2; ++m)
                for (int j = 0; j < 2; ++j)
                    wmma::mma_sync(sums[m][j], x[m], y[j], sums[m][j]);
        }
        __syncthreads();
    }
    for (int m = 0; m < 2; ++m)
        for (int j = 0; j < 2; ++j)
            wmma::store_matrix_sync(c + (row + 16 * m) * n + column + 16 * j, sums[m][j], n, wmma::mem_row_major);
}
