// cp.async of 16 bytes from a multiple of 8.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[256]=iota --arg u32[64]
extern "C" __global__ void k(const unsigned* in, unsigned* out)
{
    __shared__ alignas(16) unsigned tile[128];
    const unsigned to = (unsigned)__cvta_generic_to_shared(&tile[4 * threadIdx.x]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(in + 2 * threadIdx.x) : "memory"); //~ ERROR is misaligned
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = tile[4 * threadIdx.x];
}
