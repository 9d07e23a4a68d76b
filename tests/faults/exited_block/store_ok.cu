// The correct twin of store.cu.
// cargo ladder emulate: --grid 2 --block 32 --cluster 2 --arg u32[64]
#include "hopper.cuh"
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned value;
    __shared__ unsigned long long barrier;
    if (threadIdx.x == 0) {
        value = blockIdx.x;
        mbarrier_init(&barrier, 1);
        fence_mbarrier_init();
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        unsigned remote, read = 0;
        asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(remote) : "r"(address(&value)));
        asm volatile("st.shared::cluster.u32 [%1], %0;" :: "r"(read), "r"(remote) : "memory");
        out[0] = read;
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
