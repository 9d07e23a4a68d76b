// atomicAdd_block is atomic among the threads of one block only.
// cargo ladder emulate: --grid 4 --block 32 --arg u32[256] --arg u32[1]
extern "C" __global__ void k(unsigned* out, unsigned* count)
{
    atomicAdd_block(count, 1); //~ ERROR Race reported between Atomic access
    out[blockIdx.x * 32 + threadIdx.x] = 1;
}
