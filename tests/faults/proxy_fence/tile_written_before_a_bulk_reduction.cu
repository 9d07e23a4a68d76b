// Threads fill a tile that the async proxy then adds to global memory, without a proxy fence.
// cargo ladder emulate: --grid 1 --block 64 --arg f32[64]=iota --arg f32[64]
extern "C" __global__ void k(const float* in, float* out)
{
    __shared__ alignas(128) float tile[64];
    tile[threadIdx.x] = in[threadIdx.x] * 2;
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned at = (unsigned)__cvta_generic_to_shared(tile);
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;" :: "l"(out), "r"(at) : "memory"); //~ ERROR
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
