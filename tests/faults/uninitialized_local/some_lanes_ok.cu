// The correct twin of some_lanes.cu.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64] --arg 4
extern "C" __global__ void k(unsigned* out, int n)
{
    unsigned values[8];
#pragma unroll 1
    for (int i = 0; i < n; ++i)
        if (threadIdx.x < 64)
            values[i] = i;
    out[threadIdx.x] = values[n / 2];
}
