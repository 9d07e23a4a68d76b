// Blocks have no order.
// cargo ladder emulate: --grid 4 --block 32 --arg u32[256] --arg u32[1]
extern "C" __global__ void k(unsigned* out, unsigned*)
{
    const unsigned i = blockIdx.x * 32 + threadIdx.x;
    out[i] = i; //~ ERROR Race reported between
    __syncthreads();
    out[i + 128] = out[(i + 32) % 128];
}
