// The correct twin of too_few_arrivals_expected.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned long long barrier;
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        mbarrier_init(&barrier, 64);
    __syncthreads();
    tile[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 33)
        mbarrier_arrive(&barrier);
    else
        mbarrier_arrive(&barrier);
    mbarrier_wait(&barrier, 0);
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
