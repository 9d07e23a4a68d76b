// The correct twin of atomic_of_the_scope_of_a_block.cu.
// cargo ladder emulate: --grid 4 --block 32 --arg u32[256] --arg u32[1]
extern "C" __global__ void k(unsigned* out, unsigned* count)
{
    atomicAdd(count, 1);
    out[blockIdx.x * 32 + threadIdx.x] = 1;
}
