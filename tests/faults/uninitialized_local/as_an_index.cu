// A permutation of which one entry was never written.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64] --arg 4
extern "C" __global__ void k(unsigned* out, int n)
{
    int order[8];
#pragma unroll 1
    for (int i = 0; i < n; ++i)
        if (i != 2)
            order[i] = n - 1 - i;
    out[order[2 * n / 4] & 31] = 1; //~ ERROR Uninitialized register used as an address
}
