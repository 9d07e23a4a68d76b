// C += A B with K split over the grid's z: each block adds its part of a tile to C by atomics.
// cargo ladder emulate: --grid 32,32,8 --block 32,32
//   --arg 'f32[1024,1024]=normal' --arg 'f32[1024,1024]=normal' --arg 'f32[1024,1024]=zeros' --arg 1024
__global__ void gemm(const float* a, const float* b, float* c, int n)
{
    __shared__ float x[32][33], y[32][33];
    const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    const int part = n / gridDim.z;
    float sum = 0;
    for (int k = blockIdx.z * part; k < (blockIdx.z + 1) * part; k += 32) {
        x[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 32; ++i)
            sum += x[threadIdx.y][i] * y[i][threadIdx.x];
        __syncthreads();
    }
    atomicAdd(&c[row * n + column], sum);
}
