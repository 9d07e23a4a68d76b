// A barrier counts whole warps.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[64] --arg 48
extern "C" __global__ void k(unsigned* out, int threads)
{
    asm volatile("bar.sync 1, %0;" :: "r"(threads) : "memory"); //~ ERROR Barrier error detected. Invalid arguments
    out[threadIdx.x] = 1;
}
