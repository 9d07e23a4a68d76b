// The correct twin of threads_of_another_row.cu.
// cargo ladder emulate: --grid 1 --block 16,4 --arg u32[64]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0 && threadIdx.y == 0)
        mbarrier_init(&barrier, 64);
    __syncthreads();
    mbarrier_arrive(&barrier);
    mbarrier_wait(&barrier, 0);
    out[threadIdx.y * 16 + threadIdx.x] = 1;
}
