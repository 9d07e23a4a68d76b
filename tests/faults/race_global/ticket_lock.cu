// A ticket lock around a sum in global memory, released by a plain store.
// cargo ladder emulate: --grid 4 --block 32 --arg u32[2] --arg u32[1]
extern "C" __global__ void k(unsigned* lock, unsigned* sum)
{
    if (threadIdx.x == 0) {
        const unsigned ticket = atomicAdd(&lock[0], 1u);
        while (atomicAdd(&lock[1], 0u) != ticket) __nanosleep(20);
        __threadfence();
        *sum += 1; //~ ERROR Race reported between
        atomicAdd(&lock[1], 1u);
    }
}
