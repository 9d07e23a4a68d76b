// wgmma m64nNk16: groups of four as in a step of 64 along K, and a wait for all groups but the `PENDING` latest. Both
// operands are in shared memory, all 0, in the 128-byte swizzle; with `_a_in_registers` A is in registers.
#include "hopper.cuh"
constexpr int PRODUCTS = 4;                            // of a group

template <int N, int PENDING>
__device__ void groups(PARAMETERS)
{
    __shared__ __align__(1024) unsigned tiles[24576 / 4];      // A: 64 rows of 128 bytes; B: 16 rows of 1024
    for (unsigned i = threadIdx.x; i < sizeof(tiles) / 4; i += blockDim.x)
        tiles[i] = 0;
    fence_proxy_async();
    __syncthreads();
    const u64 a = descriptor(tiles, 0, 1024), b = descriptor(tiles + 8192 / 4, 2048, 1024);
    float c[N / 2] = {};
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n) {
        wgmma_fence();
        for (int i = 0; i < PRODUCTS; ++i)
            wgmma(c, a, b, 1);
        wgmma_commit();
        wgmma_wait<PENDING>();
    }
    wgmma_wait<0>();
    finish(result, sink, start, (u64)times * PRODUCTS, __float_as_uint(c[0] + c[N / 2 - 1]));
}

#define KERNEL(name, n, pending) extern "C" __global__ void __launch_bounds__(n == 256 ? 384 : 512) \
name(PARAMETERS) { groups<n, pending>(result, sink, data, bytes, step, times); }
KERNEL(n64, 64, 0)
KERNEL(n128, 128, 0)
KERNEL(n256, 256, 0)
KERNEL(n64_one_pending, 64, 1)
KERNEL(n128_one_pending, 128, 1)
KERNEL(n256_one_pending, 256, 1)

// One group in flight, and a fence by one thread of each warpgroup in each turn, as a release at GPU scope makes it:
// does the fence wait for wgmma? With `_l1` each warp invalidates its L1 lines instead, as an acquire does.
template <bool L1>
__device__ void fenced(PARAMETERS)
{
    __shared__ __align__(1024) unsigned tiles[24576 / 4];
    for (unsigned i = threadIdx.x; i < sizeof(tiles) / 4; i += blockDim.x)
        tiles[i] = 0;
    fence_proxy_async();
    __syncthreads();
    const u64 a = descriptor(tiles, 0, 1024), b = descriptor(tiles + 8192 / 4, 2048, 1024);
    float c[128] = {};
    unsigned seen = 0;
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n) {
        wgmma_fence();
        for (int i = 0; i < PRODUCTS; ++i)
            wgmma(c, a, b, 1);
        wgmma_commit();
        wgmma_wait<1>();
        if (L1)
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(data) : "memory");
        else if (threadIdx.x % 128 == 0)
            asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
    wgmma_wait<0>();
    finish(result, sink, start, (u64)times * PRODUCTS, seen + __float_as_uint(c[0] + c[127]));
}
extern "C" __global__ void __launch_bounds__(384) n256_fence(PARAMETERS) { fenced<false>(result, sink, data, bytes, step, times); }
extern "C" __global__ void __launch_bounds__(384) n256_acquire(PARAMETERS) { fenced<true>(result, sink, data, bytes, step, times); }
