// C = A B by tiles of 128x128 and steps of 16: each of eight warps has 64x32, of which a thread has 8x8 in four pieces of 4x4.
// cargo ladder emulate: --grid 16,16 --block 256
//   --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=nan' --arg 2048
constexpr int BM = 128, BN = 128, BK = 16;

__global__ void __launch_bounds__(256) gemm(const float* a, const float* b, float* c, int n)
{
    __shared__ float tile_a[BK][BM + 4], tile_b[BK][BN];
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int row = warp / 4 * 64 + lane / 4 * 4, column = warp % 4 * 32 + lane % 4 * 4;
    a += blockIdx.y * BM * n;
    b += blockIdx.x * BN;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    float sums[8][8] = {};
    for (int k = 0; k < n; k += BK) {
        for (int part = 0; part < 2; ++part) {
            const int m = t / 4 + part * 64, at = t % 4 * 4;
            const float4 from_a = *(const float4*)(a + m * n + k + at);
            for (int i = 0; i < 4; ++i)
                tile_a[at + i][m] = (&from_a.x)[i];
            const int i = t / 32 + part * 8;
            *(float4*)&tile_b[i][lane * 4] = *(const float4*)(b + (k + i) * n + lane * 4);
        }
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < BK; ++i) {
            float x[8], y[8];
            for (int part = 0; part < 2; ++part) {
                *(float4*)(x + 4 * part) = *(const float4*)&tile_a[i][row + 32 * part];
                *(float4*)(y + 4 * part) = *(const float4*)&tile_b[i][column + 16 * part];
            }
            for (int m = 0; m < 8; ++m)
                for (int j = 0; j < 8; ++j)
                    sums[m][j] += x[m] * y[j];
        }
        __syncthreads();
    }
    for (int m = 0; m < 8; ++m)
        for (int part = 0; part < 2; ++part)
            *(float4*)(c + (row + m / 4 * 32 + m % 4) * n + column + 16 * part) = *(const float4*)&sums[m][4 * part];
}
