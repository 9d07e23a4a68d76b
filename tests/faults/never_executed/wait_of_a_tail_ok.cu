// The correct twin of wait_of_a_tail.cu.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64] --arg 31
extern "C" __global__ void k(unsigned* out, int n)
{
    __shared__ unsigned tile[32];
    const unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    if (n % 32 != 0) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(out + threadIdx.x) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
        out[threadIdx.x] = tile[threadIdx.x] + 1;
    }
}
