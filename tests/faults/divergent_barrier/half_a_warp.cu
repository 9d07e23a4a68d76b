// Not all threads of the warp reach the barrier.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = threadIdx.x;
    if (threadIdx.x % 32 < 16)
        __syncthreads(); //~ ERROR Barrier error detected. Divergent thread(s) in warp
    out[threadIdx.x] = tile[threadIdx.x];
}
