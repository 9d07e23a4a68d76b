// The correct twin of reduction_is_not_a_syncwarp.cu.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned tile[32];
    tile[threadIdx.x] = threadIdx.x;
    const unsigned other = __reduce_add_sync(0xffffffff, threadIdx.x);
    __syncwarp();
    out[threadIdx.x] = tile[threadIdx.x ^ 1] + other;
}
