// The correct twin of sum_is_not_cleared.cu.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64]
__device__ unsigned sum;
extern "C" __global__ void k(unsigned* out)
{
    atomicAdd(&sum, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
        out[0] = sum;
        sum = 0;
    }
}
