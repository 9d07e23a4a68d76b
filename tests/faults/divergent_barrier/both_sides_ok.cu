// The correct twin of both_sides.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
__device__ void bar(int number) { asm volatile("bar.sync %0;" :: "r"(number) : "memory"); }
extern "C" __global__ void k(unsigned* out)
{
    if (threadIdx.x % 64 == 64) bar(1); else bar(2);
    out[threadIdx.x] = 1;
}
