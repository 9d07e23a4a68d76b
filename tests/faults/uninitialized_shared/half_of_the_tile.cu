// The second half is read, and nobody has written it.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned tile[64];
    if (threadIdx.x < 32)
        tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x]; //~ ERROR Uninitialized __shared__ memory read
}
