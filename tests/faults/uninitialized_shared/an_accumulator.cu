// atomicAdd reads what it adds to.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned sum;
    atomicAdd(&sum, threadIdx.x); //~ ERROR Uninitialized __shared__ memory read
    __syncthreads();
    out[threadIdx.x] = sum;
}
