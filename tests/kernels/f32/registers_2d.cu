// C = A B by tiles of 128x128: each thread has 8x8 elements and copies single floats.
// cargo ladder emulate: --grid 16,16 --block 256
//   --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=nan' --arg 2048
constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8, THREADS = 256;

__global__ void __launch_bounds__(THREADS) gemm(const float* a, const float* b, float* c, int n)
{
    __shared__ float tile_a[BM][BK], tile_b[BK][BN];
    const int t = threadIdx.x, row = t / (BN / TN) * TM, column = t % (BN / TN) * TN;
    a += blockIdx.y * BM * n;
    b += blockIdx.x * BN;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    float sums[TM][TN] = {};
    for (int k = 0; k < n; k += BK) {
        for (int i = t; i < BM * BK; i += THREADS)
            tile_a[i / BK][i % BK] = a[i / BK * n + k + i % BK];
        for (int i = t; i < BK * BN; i += THREADS)
            tile_b[i / BN][i % BN] = b[(k + i / BN) * n + i % BN];
        __syncthreads();
        for (int i = 0; i < BK; ++i) {
            float x[TM], y[TN];
            for (int m = 0; m < TM; ++m)
                x[m] = tile_a[row + m][i];
            for (int j = 0; j < TN; ++j)
                y[j] = tile_b[i][column + j];
            for (int m = 0; m < TM; ++m)
                for (int j = 0; j < TN; ++j)
                    sums[m][j] += x[m] * y[j];
        }
        __syncthreads();
    }
    for (int m = 0; m < TM; ++m)
        for (int j = 0; j < TN; ++j)
            c[(row + m) * n + column + j] = sums[m][j];
}
