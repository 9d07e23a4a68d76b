// threadIdx.x is 0 in a thread of each row.
// cargo ladder emulate: --grid 1 --block 16,4 --arg u32[64]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0)
        mbarrier_init(&barrier, 64); //~ ERROR Invalid use of an mbarrier
    __syncthreads();
    mbarrier_arrive(&barrier);
    mbarrier_wait(&barrier, 0);
    out[threadIdx.y * 16 + threadIdx.x] = 1;
}
