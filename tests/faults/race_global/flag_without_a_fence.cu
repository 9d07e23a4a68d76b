// A flag needs __threadfence on both sides.
// cargo ladder emulate: --grid 2 --block 32 --arg u32[256] --arg u32[1]
extern "C" __global__ void k(unsigned* data, unsigned* flag)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x; //~ ERROR Race reported between
        __syncthreads();
        if (threadIdx.x == 0)
            atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        data[32 + threadIdx.x] = data[threadIdx.x];
    }
}
