// The correct twin of counter_is_not_reset.cu.
// cargo ladder emulate: --grid 4 --block 32 --arg u32[64]
__device__ unsigned arrived;
extern "C" __global__ void k(unsigned* out)
{
    if (threadIdx.x > 0)
        return;
    __threadfence();
    const unsigned before = atomicInc(&arrived, gridDim.x - 1);
    if (before == gridDim.x - 1)
        out[0] = 1;
}
