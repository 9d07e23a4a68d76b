// The correct twin of a_warp_that_never_comes.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    out[threadIdx.x] = 1;
}
