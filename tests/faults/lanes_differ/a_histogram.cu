// Lanes with the same bin store different counts.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    const unsigned bin = threadIdx.x / 2;
    out[bin] = threadIdx.x + 1; //~ ERROR which of them is kept is undefined
}
