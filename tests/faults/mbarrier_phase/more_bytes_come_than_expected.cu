// More bytes arrive than were expected.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64]=iota --arg u32[64]
#include "hopper.cuh"
extern "C" __global__ void k(const unsigned* in, unsigned* out)
{
    __shared__ alignas(128) unsigned tile[32];
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        mbarrier_init(&barrier, 1);
        fence_proxy_async();
        mbarrier_expect(&barrier, 64); //~ ERROR Wrong transaction count
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                     :: "r"(address(tile)), "l"(in), "r"(address(&barrier)) : "memory");
    }
    __syncthreads();
    mbarrier_wait(&barrier, 0); //~ ERROR Deadlock: no thread can go on
    out[threadIdx.x] = tile[threadIdx.x];
}
