// A scan with decoupled look-back: a block's sum is published with its flag; no fence between the two.
// cargo ladder emulate: --grid 4 --block 32 --arg u32[128]=ones --arg u32[128] --arg u32[4] --arg u32[4]
extern "C" __global__ void k(const unsigned* in, unsigned* out, unsigned* sums, unsigned* flags)
{
    unsigned x = in[blockIdx.x * 32 + threadIdx.x];
    for (int i = 1; i < 32; i *= 2) {
        const unsigned y = __shfl_up_sync(~0u, x, i);
        if (threadIdx.x >= i) x += y;
    }
    unsigned before = 0;
    if (threadIdx.x == 31) {
        if (blockIdx.x > 0) {
            while (atomicAdd(&flags[blockIdx.x - 1], 0) == 0) {}
            __threadfence();
            before = sums[blockIdx.x - 1]; //~ ERROR Race reported between
        }
        sums[blockIdx.x] = before + x;
        atomicExch(&flags[blockIdx.x], 1u);
    }
    out[blockIdx.x * 32 + threadIdx.x] = x + __shfl_sync(~0u, before, 31);
}
