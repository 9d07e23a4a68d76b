// An mbarrier is initialized again without mbarrier.inval.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned long long barrier;
#pragma unroll 1
    for (int step = 0; step < 2; ++step) {
        if (threadIdx.x == 0)
            mbarrier_init(&barrier, 64); //~ ERROR Invalid use of an mbarrier
        __syncthreads();
        mbarrier_arrive(&barrier);
        mbarrier_wait(&barrier, 0);
        __syncthreads();
    }
    out[threadIdx.x] = 1;
}
