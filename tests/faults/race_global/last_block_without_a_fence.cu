// The last block adds up what the others wrote, as in the threadFenceReduction sample.
// cargo ladder emulate: --grid 4 --block 32 --arg u32[256] --arg u32[1]
extern "C" __global__ void k(unsigned* sums, unsigned* count)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = blockIdx.x; //~ ERROR Race reported between
        last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x)
        sums[64 + threadIdx.x] = sums[threadIdx.x];
}
