// An mbarrier is used before it is initialized.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned long long barrier;
    __syncthreads();
    mbarrier_arrive(&barrier); //~ ERROR Invalid use of an mbarrier
    out[threadIdx.x] = 1;
}
