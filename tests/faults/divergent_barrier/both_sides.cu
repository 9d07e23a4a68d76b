// Two barriers on the two sides of a branch are two barriers.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
__device__ void bar(int number) { asm volatile("bar.sync %0;" :: "r"(number) : "memory"); }
extern "C" __global__ void k(unsigned* out)
{
    if (threadIdx.x % 2 == 0) bar(1); else bar(2); //~ ERROR Barrier error detected. Divergent thread(s) in warp
    out[threadIdx.x] = 1;
}
