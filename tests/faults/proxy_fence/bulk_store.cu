// A bulk copy reads through the async proxy.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[64]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ alignas(128) unsigned tile[64];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\n"
                     "cp.async.bulk.commit_group;" :: "l"(out), "r"(address(tile)) : "memory"); //~ ERROR Missing fence.proxy.async
        tma_store_wait<0>();
    }
}
