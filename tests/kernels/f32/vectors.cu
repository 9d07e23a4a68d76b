// C = A B by tiles of 128x128, 8x8 elements a thread: copies and reads of four floats, with A transposed in shared memory.
// cargo ladder emulate: --grid 16,16 --block 256
//   --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=nan' --arg 2048
constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;

__global__ void __launch_bounds__(256) gemm(const float* a, const float* b, float* c, int n)
{
    __shared__ float tile_a[BK][BM], tile_b[BK][BN];
    const int t = threadIdx.x, row = t / (BN / TN) * TM, column = t % (BN / TN) * TN;
    a += blockIdx.y * BM * n + t / 2 * n + t % 2 * 4;
    b += blockIdx.x * BN + t / 32 * n + t % 32 * 4;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    float sums[TM][TN] = {};
    for (int k = 0; k < n; k += BK) {
        const float4 from_a = *(const float4*)(a + k);
        for (int i = 0; i < 4; ++i)
            tile_a[t % 2 * 4 + i][t / 2] = (&from_a.x)[i];
        *(float4*)&tile_b[t / 32][t % 32 * 4] = *(const float4*)(b + k * n);
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < BK; ++i) {
            float x[TM], y[TN];
            for (int m = 0; m < TM; m += 4)
                *(float4*)(x + m) = *(const float4*)&tile_a[i][row + m];
            for (int j = 0; j < TN; j += 4)
                *(float4*)(y + j) = *(const float4*)&tile_b[i][column + j];
            for (int m = 0; m < TM; ++m)
                for (int j = 0; j < TN; ++j)
                    sums[m][j] += x[m] * y[j];
        }
        __syncthreads();
    }
    for (int m = 0; m < TM; ++m)
        for (int j = 0; j < TN; j += 4)
            *(float4*)(c + (row + m) * n + column + j) = *(const float4*)&sums[m][j];
}
