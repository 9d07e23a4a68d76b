// The correct twin of an_accumulator.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = sum;
}
