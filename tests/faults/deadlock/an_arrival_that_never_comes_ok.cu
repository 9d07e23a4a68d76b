// The correct twin of an_arrival_that_never_comes.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0)
        mbarrier_init(&barrier, 32);
    __syncthreads();
    if (threadIdx.x >= 32) {
        if (threadIdx.x > 31)
            mbarrier_arrive(&barrier);
        return;
    }
    mbarrier_wait(&barrier, 0);
    out[threadIdx.x] = 1;
}
