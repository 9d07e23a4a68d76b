// A block has barriers 0 to 15.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[64] --arg 16
extern "C" __global__ void k(unsigned* out, int number)
{
    asm volatile("bar.sync %0, 64;" :: "r"(number) : "memory"); //~ ERROR Barrier error detected. Invalid arguments
    out[threadIdx.x] = 1;
}
