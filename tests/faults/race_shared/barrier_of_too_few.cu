// A named barrier of one warp orders nothing in the other.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = 0;
    __syncthreads();
    tile[threadIdx.x] = threadIdx.x; //~ ERROR Race reported between
    asm volatile("bar.sync %0, %1;" :: "r"(1 + threadIdx.x / 32), "r"(32) : "memory");
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
