// The correct twin of fence_of_the_last_block.cu.
// cargo ladder emulate: --grid 2 --block 32 --arg u32[64]
extern "C" __global__ void k(unsigned* out)
{
    if (threadIdx.x == 0 && blockIdx.x > 0) {
        out[32 + blockIdx.x] = 1;
        __threadfence();
    }
    out[threadIdx.x] = 1;
}
