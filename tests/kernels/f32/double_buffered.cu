// C = A B by tiles of 128x128: the next step's floats are loaded into registers before this step is computed, and there are two
// buffers in shared memory, so that one barrier a step is enough.
// cargo ladder emulate: --grid 16,16 --block 256
//   --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=nan' --arg 2048
constexpr int BM = 128, BN = 128, BK = 8;

__global__ void __launch_bounds__(256) gemm(const float* a, const float* b, float* c, int n)
{
    __shared__ float tile_a[2][BK][BM], tile_b[2][BK][BN];
    const int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
    a += blockIdx.y * BM * n + t / 2 * n + t % 2 * 4;
    b += blockIdx.x * BN + t / 32 * n + t % 32 * 4;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    float sums[8][8] = {};
    float4 next_a = *(const float4*)a, next_b = *(const float4*)b;
    int buffer = 0;
    for (int k = 0; k < n; k += BK) {
        for (int i = 0; i < 4; ++i)
            tile_a[buffer][t % 2 * 4 + i][t / 2] = (&next_a.x)[i];
        *(float4*)&tile_b[buffer][t / 32][t % 32 * 4] = next_b;
        __syncthreads();
        if (k + BK < n) {
            next_a = *(const float4*)(a + k + BK);
            next_b = *(const float4*)(b + (k + BK) * n);
        }
        #pragma unroll
        for (int i = 0; i < BK; ++i) {
            float x[8], y[8];
            for (int part = 0; part < 2; ++part) {
                *(float4*)(x + 4 * part) = *(const float4*)&tile_a[buffer][i][row + 64 * part];
                *(float4*)(y + 4 * part) = *(const float4*)&tile_b[buffer][i][column + 64 * part];
            }
            for (int m = 0; m < 8; ++m)
                for (int j = 0; j < 8; ++j)
                    sums[m][j] += x[m] * y[j];
        }
        buffer ^= 1;
    }
    for (int m = 0; m < 8; ++m)
        for (int part = 0; part < 2; ++part)
            *(float4*)(c + (row + m / 4 * 64 + m % 4) * n + column + 64 * part) = *(const float4*)&sums[m][4 * part];
}
