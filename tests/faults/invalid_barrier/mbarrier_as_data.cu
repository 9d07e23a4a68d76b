// Only mbarrier instructions may touch an mbarrier.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0)
        mbarrier_init(&barrier, 64);
    __syncthreads();
    if (threadIdx.x == 0)
        *(volatile unsigned*)&barrier = 0; //~ ERROR Invalid write of an mbarrier
    __syncthreads();
    mbarrier_arrive(&barrier); //~ ERROR has been overwritten by something else
    out[threadIdx.x] = 1;
}
