// Memory latency at a lower SM clock, which the clocks of L2 and DRAM do not follow. Block 0 waits `step`
// milliseconds and then chases pointers as in memory.cu; all other blocks keep the tensor cores busy, until the card
// reaches its power limit and lowers the clock. No call sets the clock. result: three numbers for each block: clocks,
// operations, and nanoseconds, which give the SM clock.
#include "hopper.cuh"

__device__ u64 nanoseconds()
{
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__device__ void multiply_for(u64 limit, unsigned* sink)
{
    __shared__ __align__(1024) unsigned tiles[24576 / 4];      // A: 64 rows of 128 bytes; B: 16 rows of 512 bytes
    for (unsigned i = threadIdx.x; i < sizeof(tiles) / 4; i += blockDim.x)
        tiles[i] = (i * 2654435761u & 0x83ff83ffu) | 0x3c003c00u;      // pairs of f16 from 1 to 2, of either sign
    fence_proxy_async();
    __syncthreads();
    const u64 a = descriptor(tiles, 0, 1024), b = descriptor(tiles + 8192 / 4, 2048, 1024);
    float c[128] = {};
    const u64 start = nanoseconds();
    do {                                               // the same number of turns in all warps of the warpgroup
        wgmma_fence();
        for (int i = 0; i < 16; ++i)
            wgmma(c, a, b, 1);
        wgmma_commit();
        wgmma_wait<0>();
    } while (!__syncthreads_or(nanoseconds() - start >= limit));
    sink[blockIdx.x * blockDim.x + threadIdx.x] = __float_as_uint(c[0] + c[127]);
}

// A million nanoseconds for each of `step`, and 400 in which the chain is followed.
template <int PASSES>
__device__ void chase(PARAMETERS)
{
    if (blockIdx.x > 0)
        return multiply_for((step + 400) * 1000000ull, sink);
    if (threadIdx.x > 0)
        return;
    const u64 begin = nanoseconds();
    while (nanoseconds() - begin < step * 1000000ull) {}
    unsigned at = 0;
    for (int pass = 0; pass < PASSES; ++pass) {
        const u64 then = nanoseconds();
        const long long start = clock64();
        for (unsigned n = 0; n < times; ++n)
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(data + at) : "memory");
        sink[0] = at;
        result[0] = clock64() - start;
        result[1] = times;
        result[2] = nanoseconds() - then;
    }
}

extern "C" __global__ void __launch_bounds__(384) chase_l2(PARAMETERS) { chase<2>(result, sink, data, bytes, step, times); }
extern "C" __global__ void __launch_bounds__(384) chase_dram(PARAMETERS) { chase<1>(result, sink, data, bytes, step, times); }
