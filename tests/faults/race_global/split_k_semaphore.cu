// Blocks add their part of a sum in turn, by a semaphore; it is passed on by one thread before the others have stored.
// cargo ladder emulate: --grid 3 --block 64 --arg f32[64] --arg u32[1]
extern "C" __global__ void k(float* c, unsigned* semaphore)
{
    if (threadIdx.x == 0) {
        unsigned turn;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(turn) : "l"(semaphore) : "memory");
        while (turn != blockIdx.x);
    }
    __syncthreads();
    c[threadIdx.x] += (float)(blockIdx.x + 1); //~ ERROR Race reported between
    if (threadIdx.x == 0)
        asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(semaphore), "r"(blockIdx.x + 1) : "memory");
}
