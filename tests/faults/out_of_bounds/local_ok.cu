// The correct twin of local.cu.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64] --arg 9
extern "C" __global__ void k(unsigned* out, int n)
{
    unsigned stack[8];
#pragma unroll 1
    for (int i = 0; i < min(n, 8); ++i)
        stack[i] = threadIdx.x + i;
    out[threadIdx.x] = stack[n % 8];
}
