// A branch that makes no difference is no loop either.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[64]
#include "hopper.cuh"
__device__ bool try_wait(unsigned long long* barrier)
{
    unsigned done;
    asm volatile("{.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(address(barrier)) : "memory");
    return done;
}
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned long long barrier;
    __shared__ unsigned tile[32];
    if (threadIdx.x == 0)
        mbarrier_init(&barrier, 32);
    __syncthreads();
    if (threadIdx.x >= 32) {
        tile[threadIdx.x - 32] = threadIdx.x;
        mbarrier_arrive(&barrier);
    } else {
        if (try_wait(&barrier)) //~ ERROR mbarrier.try_wait without a loop
            out[63] = 1;
        out[threadIdx.x] = tile[31 - threadIdx.x];
    }
}
