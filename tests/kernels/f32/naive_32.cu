// C = A B with a thread for each element of C, in blocks of 32 columns: each warp has one row.
// cargo ladder emulate: --grid 64,64 --block 32,32
//   --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=nan' --arg 2048
__global__ void gemm(const float* __restrict__ a, const float* __restrict__ b, float* c, int n)
{
    const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
