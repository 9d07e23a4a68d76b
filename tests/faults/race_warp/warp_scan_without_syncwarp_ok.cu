// A scan of a warp in shared memory, synchronized at each step.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[32]=ones --arg u32[32]
extern "C" __global__ void k(const unsigned* in, unsigned* out)
{
    __shared__ unsigned s[32];
    const int t = threadIdx.x;
    s[t] = in[t];
    __syncwarp();
    for (int i = 1; i < 32; i *= 2) {
        const unsigned y = t >= i ? s[t - i] : 0;
        __syncwarp();
        s[t] += y;
        __syncwarp();
    }
    out[t] = s[t];
}
