// Of two groups one may be pending.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64]=iota --arg u32[64]
extern "C" __global__ void k(const unsigned* in, unsigned* out)
{
    __shared__ unsigned tile[64];
    for (unsigned i = 0; i < 2; ++i) {
        const unsigned to = (unsigned)__cvta_generic_to_shared(&tile[32 * i + threadIdx.x]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + 32 * i + threadIdx.x) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncwarp();
    out[threadIdx.x] = tile[threadIdx.x];
    out[32 + threadIdx.x] = tile[32 + threadIdx.x]; //~ ERROR Race reported between
}
