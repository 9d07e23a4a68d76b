// The correct twin of last_block_without_a_fence.cu.
// cargo ladder emulate: --grid 4 --block 32 --arg u32[256] --arg u32[1]
extern "C" __global__ void k(unsigned* sums, unsigned* count)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = blockIdx.x;
        __threadfence();
        last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x)
        sums[64 + threadIdx.x] = sums[threadIdx.x];
}
