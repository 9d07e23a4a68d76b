// A stack of eight elements.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64] --arg 9
extern "C" __global__ void k(unsigned* out, int n)
{
    unsigned stack[8];
#pragma unroll 1
    for (int i = 0; i < n; ++i)
        stack[i] = threadIdx.x + i; //~ ERROR Invalid __local__ write of size 4 bytes
    out[threadIdx.x] = stack[n % 8];
}
