// One warp waits for another that has gone elsewhere.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory"); //~ ERROR Deadlock: no thread can go on
    out[threadIdx.x] = 1;
}
