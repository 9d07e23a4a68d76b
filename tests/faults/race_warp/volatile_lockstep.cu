// Lanes of a warp do not run in lockstep, and volatile does not change that.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[32]=iota --arg u32[32]
extern "C" __global__ void k(const unsigned* in, unsigned* out)
{
    __shared__ volatile unsigned sums[32];
    const unsigned i = threadIdx.x;
    sums[i] = in[i]; //~ ERROR Race reported between
    if (i < 16) {
        const unsigned other = sums[i + 16];
        out[i] = other + in[i];
    }
}
