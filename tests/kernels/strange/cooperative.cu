// A cooperative launch in two phases: each block multiplies a part of K, all wait for each other, and then add the parts up.
// cargo ladder emulate: --grid 128 --block 256 --cooperative
//   --arg 'f32[512,512]=normal' --arg 'f32[512,512]=normal' --arg 'f32[2,512,512]=zeros' --arg 'f32[512,512]=zeros' --arg 512
#include <cooperative_groups.h>

__global__ void __launch_bounds__(256) gemm(const float* a, const float* b, float* parts, float* c, int n)
{
    __shared__ float x[64][17], y[16][64];
    const int tile = blockIdx.x / 2, part = blockIdx.x % 2;
    const int top = tile / (n / 64) * 64, left = tile % (n / 64) * 64;
    const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;
    float sums[4][4] = {};
    for (int k = part * n / 2; k < (part + 1) * n / 2; k += 16) {
        for (int i = threadIdx.x; i < 64 * 16; i += 256) {
            x[i / 16][i % 16] = a[(top + i / 16) * n + k + i % 16];
            y[i / 64][i % 64] = b[(k + i / 64) * n + left + i % 64];
        }
        __syncthreads();
        for (int i = 0; i < 16; ++i)
            for (int r = 0; r < 4; ++r)
                for (int s = 0; s < 4; ++s)
                    sums[r][s] += x[row + r][i] * y[i][column + s];
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r)
        for (int s = 0; s < 4; ++s)
            parts[(part * n + top + row + r) * n + left + column + s] = sums[r][s];
    cooperative_groups::this_grid().sync();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n * n; i += gridDim.x * 256)
        c[i] = parts[i] + parts[n * n + i];
}
