// L2 bandwidth of an SM, in bytes per clock, while all SMs load. `ld.global.cg` bypasses the L1. `data` fits into the
// L2. Every block reads all of it `times` times, starting at `skip` turns of the loop times its number: with 0 all
// blocks read the same place at a time, otherwise each its own.
constexpr int STEPS = 8;                // loads in flight
constexpr int THREADS = 1024;

// Threads of a block. The work is not a constant: every block reads the bytes of `data` in each turn.
extern "C" __constant__ int ceiling_work[] = {THREADS, 0};

extern "C" __global__ void __launch_bounds__(THREADS)
ceiling(long long* clocks, float* check, uint4* data, unsigned bytes, unsigned skip, unsigned times)
{
    const unsigned turn = STEPS * THREADS * sizeof(uint4);     // bytes that a block reads in one turn of the loop
    unsigned place = (unsigned)((unsigned long long)blockIdx.x * skip * turn % bytes);
    unsigned sum = 0;
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned left = bytes / turn * times; left > 0; --left) {
        const char* from = (const char*)data + place + threadIdx.x * sizeof(uint4);
        uint4 got[STEPS];
        #pragma unroll
        for (int step = 0; step < STEPS; ++step)
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(got[step].x), "=r"(got[step].y), "=r"(got[step].z), "=r"(got[step].w)
                         : "l"(from + step * THREADS * sizeof(uint4)));
        #pragma unroll
        for (int step = 0; step < STEPS; ++step)
            sum += got[step].x + got[step].y + got[step].z + got[step].w;
        place = place + turn < bytes ? place + turn : 0;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        clocks[blockIdx.x] = clock64() - start;
    // All words are 1.
    check[blockIdx.x * blockDim.x + threadIdx.x] = (float)(sum / (STEPS * 4 * (bytes / turn)));
}
