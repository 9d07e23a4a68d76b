// A row stride of 17 on one side and of 16 on the other.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned tile[4 * 17];
    const unsigned row = threadIdx.x / 16, column = threadIdx.x % 16;
    tile[row * 16 + column] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[row * 17 + column]; //~ ERROR Uninitialized __shared__ memory read
}
