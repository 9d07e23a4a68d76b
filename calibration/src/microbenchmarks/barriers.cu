// Two warps of a block take turns: one arrives at an mbarrier, the other waits. An operation is one way.
#define KERNEL(name, arrive, wait)                                                                   \
extern "C" __global__ void name(PARAMETERS)                                                          \
{                                                                                                    \
    __shared__ __align__(8) u64 barriers[2];                                                         \
    const unsigned first = (unsigned)__cvta_generic_to_shared(barriers), warp = threadIdx.x / 32;    \
    if (threadIdx.x < 2)                                                                             \
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(first + 8 * threadIdx.x) : "memory"); \
    __syncthreads();                                                                                 \
    const long long start = clock64();                                                               \
    if (threadIdx.x % 32 == 0)                                                                       \
        for (unsigned n = 0; n < times; ++n) {                                                       \
            const unsigned barrier = first + n % 2 * 8;                                              \
            if (n % 2 == warp)                                                                       \
                asm volatile(arrive :: "r"(barrier) : "memory");                                     \
            else                                                                                     \
                asm volatile("{.reg .pred done;\nagain: " wait " done, [%0], %1;\n@!done bra again;}" \
                             :: "r"(barrier), "r"(n / 2 % 2) : "memory");                            \
        }                                                                                            \
    finish(result, sink, start, times, 0);                                                           \
}

KERNEL(mbarrier_cta, "mbarrier.arrive.shared::cta.b64 _, [%0];", "mbarrier.try_wait.parity.shared::cta.b64")
KERNEL(mbarrier_cluster, "mbarrier.arrive.release.cluster.shared::cta.b64 _, [%0];",
       "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64")
