// The correct twin of barrier_of_too_few.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = 0;
    __syncthreads();
    tile[threadIdx.x] = threadIdx.x;
    asm volatile("bar.sync %0, %1;" :: "r"(1), "r"(64) : "memory");
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
