// The correct twin of threads_of_half_a_warp.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[64] --arg 64
extern "C" __global__ void k(unsigned* out, int threads)
{
    asm volatile("bar.sync 1, %0;" :: "r"(threads) : "memory");
    out[threadIdx.x] = 1;
}
