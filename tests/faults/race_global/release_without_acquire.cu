// A relaxed load of the flag acquires nothing.
// cargo ladder emulate: --grid 2 --block 32 --arg u32[256] --arg u32[1]
extern "C" __global__ void k(unsigned* data, unsigned* flag)
{
    if (threadIdx.x > 0)
        return;
    if (blockIdx.x == 0) {
        data[0] = 7; //~ ERROR Race reported between
        asm volatile("st.release.gpu.global.u32 [%0], 1;" :: "l"(flag) : "memory");
    } else {
        unsigned seen;
        do {
            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        } while (seen == 0);
        data[1] = data[0];
    }
}
