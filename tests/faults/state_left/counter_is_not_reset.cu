// The second launch finds the counter where the first has left it.
// cargo ladder emulate: --grid 4 --block 32 --arg u32[64]
__device__ unsigned arrived;
extern "C" __global__ void k(unsigned* out) //~ NOTE State left for the next launch: arrived
{
    if (threadIdx.x > 0)
        return;
    __threadfence();
    const unsigned before = atomicAdd(&arrived, 1);
    if (before == gridDim.x - 1)
        out[0] = 1;
}
