// C = A B with a thread for each element of C: the threads of a warp have neighboring columns.
// cargo ladder emulate: --grid 128,128 --block 16,16
//   --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=normal' --arg 'f32[2048,2048]=nan' --arg 2048
__global__ void gemm(const float* a, const float* b, float* c, int n)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
