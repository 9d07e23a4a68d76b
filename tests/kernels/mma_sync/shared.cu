// C = A B^T by mma.sync m16n8k16: tiles of 64x64 in padded shared memory, from which each thread loads its fragments by 32 bits.
// cargo ladder emulate: --grid 32,32 --block 128
//   --arg 'f16[2048,2048]=normal' --arg 'f16[2048,2048]=normal' --arg 'f32[2048,2048]=nan' --arg 2048
#include <cuda_fp16.h>
constexpr int BM = 64, BN = 64, BK = 32, ROW = BK + 8;

__device__ void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__global__ void gemm(const half* a, const half* b, float* c, int n)
{
    __shared__ __align__(16) half tile_a[BM][ROW], tile_b[BN][ROW];
    const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
    const int row = warp / 2 * 32, column = warp % 2 * 32;
    a += blockIdx.y * BM * n;
    b += blockIdx.x * BN * n;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    float sums[2][4][4] = {};
    for (int k = 0; k < n; k += BK) {
        for (int i = threadIdx.x; i < BM * BK / 8; i += 128) {
            const int r = i / (BK / 8), at = i % (BK / 8) * 8;
            *(uint4*)&tile_a[r][at] = *(const uint4*)(a + r * n + k + at);
            *(uint4*)&tile_b[r][at] = *(const uint4*)(b + r * n + k + at);
        }
        __syncthreads();
        for (int step = 0; step < BK; step += 16) {
            unsigned x[2][4], y[4][2];
            for (int m = 0; m < 2; ++m)
                for (int i = 0; i < 4; ++i)
                    x[m][i] = *(const unsigned*)&tile_a[row + m * 16 + i % 2 * 8 + group][step + i / 2 * 8 + pair];
            for (int j = 0; j < 4; ++j)
                for (int i = 0; i < 2; ++i)
                    y[j][i] = *(const unsigned*)&tile_b[column + j * 8 + group][step + i * 8 + pair];
            for (int m = 0; m < 2; ++m)
                for (int j = 0; j < 4; ++j)
                    mma(sums[m][j], x[m], y[j]);
        }
        __syncthreads();
    }
    for (int m = 0; m < 2; ++m)
        for (int j = 0; j < 4; ++j)
            for (int i = 0; i < 2; ++i)
                *(float2*)(c + (row + m * 16 + i * 8 + group) * n + column + j * 8 + pair) = *(const float2*)&sums[m][j][2 * i];
}
