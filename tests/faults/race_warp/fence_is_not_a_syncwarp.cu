// Each lane has a __threadfence, but only __syncwarp orders them before lane 0, which sets the flag for all.
// cargo ladder emulate: --grid 2 --block 32 --arg u32[256] --arg u32[1]
extern "C" __global__ void k(unsigned* data, unsigned* flag)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x; //~ ERROR Race reported between
        __threadfence();
        if (threadIdx.x == 0)
            atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        data[32 + threadIdx.x] = data[threadIdx.x];
    }
}
