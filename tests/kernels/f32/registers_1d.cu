// C = A B by tiles of 64x64: each thread has eight elements of a column, and keeps one value of B for all of them.
// cargo ladder emulate: --grid 32,32 --block 512
//   --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=nan' --arg 2048
constexpr int BM = 64, BN = 64, BK = 8, TM = 8;

__global__ void gemm(const float* a, const float* b, float* c, int n)
{
    __shared__ float tile_a[BM][BK], tile_b[BK][BN];
    const int t = threadIdx.x, column = t % BN, row = t / BN * TM;
    a += blockIdx.y * BM * n;
    b += blockIdx.x * BN;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    float sums[TM] = {};
    for (int k = 0; k < n; k += BK) {
        tile_a[t / BK][t % BK] = a[t / BK * n + k + t % BK];
        tile_b[t / BN][t % BN] = b[(k + t / BN) * n + t % BN];
        __syncthreads();
        for (int i = 0; i < BK; ++i) {
            const float value = tile_b[i][column];
            for (int m = 0; m < TM; ++m)
                sums[m] += tile_a[row + m][i] * value;
        }
        __syncthreads();
    }
    for (int m = 0; m < TM; ++m)
        c[(row + m) * n + column] = sums[m];
}
