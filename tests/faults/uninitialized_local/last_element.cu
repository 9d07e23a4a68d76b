// The loop writes one element less than is read.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64] --arg 4
extern "C" __global__ void k(unsigned* out, int n)
{
    unsigned values[8];
#pragma unroll 1
    for (int i = 0; i < n - 1; ++i)
        values[i] = threadIdx.x + i;
    out[threadIdx.x] = values[n - 1]; //~ ERROR Uninitialized register stored to memory
}
