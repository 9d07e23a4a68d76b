// The correct twin of mbarrier_without_init.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0)
        mbarrier_init(&barrier, 64);
    __syncthreads();
    mbarrier_arrive(&barrier);
    out[threadIdx.x] = 1;
}
