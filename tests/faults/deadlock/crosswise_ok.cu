// The correct twin of crosswise.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned long long barriers[2];
    const int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        mbarrier_init(&barriers[0], 32);
        mbarrier_init(&barriers[1], 32);
    }
    __syncthreads();
    mbarrier_arrive(&barriers[1 - warp]);
    mbarrier_wait(&barriers[warp], 0);
    out[threadIdx.x] = 1;
}
