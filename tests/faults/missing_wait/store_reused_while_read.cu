// A tile is stored by a bulk copy and filled again while the copy may still read it.
// cargo ladder emulate: --grid 1 --block 64 --arg f32[256]=iota --arg f32[256]
extern "C" __global__ void k(const float* in, float* out)
{
    __shared__ alignas(128) float tile[64];
    const unsigned at = (unsigned)__cvta_generic_to_shared(tile);
    for (int i = 0; i < 4; ++i) {
        tile[threadIdx.x] = in[i * 64 + threadIdx.x]; //~ ERROR Race reported between
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" :: "l"(out + i * 64), "r"(at) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
