// The correct twin of number_16.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[64] --arg 15
extern "C" __global__ void k(unsigned* out, int number)
{
    asm volatile("bar.sync %0, 64;" :: "r"(number) : "memory");
    out[threadIdx.x] = 1;
}
