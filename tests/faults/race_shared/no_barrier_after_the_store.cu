// Threads read what other warps store to shared memory.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = 0;
    __syncthreads();
    tile[threadIdx.x] = threadIdx.x; //~ ERROR Race reported between
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
