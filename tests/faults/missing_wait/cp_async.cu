// cp.async lands when its thread waits.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64]=iota --arg u32[64]
extern "C" __global__ void k(const unsigned* in, unsigned* out)
{
    __shared__ unsigned tile[32];
    const unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncwarp();
    out[threadIdx.x] = tile[threadIdx.x]; //~ ERROR Race reported between
}
