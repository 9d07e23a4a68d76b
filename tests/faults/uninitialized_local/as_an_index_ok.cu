// The correct twin of as_an_index.cu.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64] --arg 4
extern "C" __global__ void k(unsigned* out, int n)
{
    int order[8];
#pragma unroll 1
    for (int i = 0; i < n; ++i)
        if (i != n)
            order[i] = n - 1 - i;
    out[order[1 * n / 4] & 31] = 1;
}
