// Only __syncwarp orders the memory of the lanes of a warp.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned tile[32];
    tile[threadIdx.x] = threadIdx.x; //~ ERROR Race reported between
    const unsigned other = __reduce_add_sync(0xffffffff, threadIdx.x);
    out[threadIdx.x] = tile[threadIdx.x ^ 1] + other;
}
