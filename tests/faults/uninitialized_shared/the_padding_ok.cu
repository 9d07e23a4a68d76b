// The correct twin of the_padding.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned tile[4 * 17];
    const unsigned row = threadIdx.x / 16, column = threadIdx.x % 16;
    tile[row * 17 + column] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[row * 17 + column];
}
