// The correct twin of fence_is_not_a_syncwarp.cu.
// cargo ladder emulate: --grid 2 --block 32 --arg u32[256] --arg u32[1]
extern "C" __global__ void k(unsigned* data, unsigned* flag)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __threadfence();
        __syncwarp();
        if (threadIdx.x == 0)
            atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        data[32 + threadIdx.x] = data[threadIdx.x];
    }
}
