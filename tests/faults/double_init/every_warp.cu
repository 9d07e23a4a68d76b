// One thread of each warp initializes the same mbarrier.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned long long barrier;
    if (threadIdx.x % 32 == 0)
        mbarrier_init(&barrier, 64); //~ ERROR Invalid use of an mbarrier
    __syncthreads();
    mbarrier_arrive(&barrier);
    mbarrier_wait(&barrier, 0);
    out[threadIdx.x] = 1;
}
