// mbarriers, and the barrier of a cluster.

// Two warps of a block alternate: one arrives at an mbarrier, the other waits. An operation is one way.
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

// The same, where the arriving warp first counts to `step`: does the waiting one wake up at once, or poll?
__device__ float count_to(unsigned step, float f)
{
    #pragma unroll 1
    for (unsigned i = 0; i < step; ++i)
        asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(f));
    return f;
}
#define ARRIVE_LATE(name, wait)                                                                      \
extern "C" __global__ void name(PARAMETERS)                                                          \
{                                                                                                    \
    __shared__ __align__(8) u64 barriers[2];                                                         \
    const unsigned first = (unsigned)__cvta_generic_to_shared(barriers), warp = threadIdx.x / 32;    \
    if (threadIdx.x < 2)                                                                             \
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(first + 8 * threadIdx.x) : "memory"); \
    float f = 0;                                                                                     \
    __syncthreads();                                                                                 \
    const long long start = clock64();                                                               \
    if (threadIdx.x % 32 == 0)                                                                       \
        for (unsigned n = 0; n < times; ++n) {                                                       \
            const unsigned barrier = first + n % 2 * 8;                                              \
            if (n % 2 == warp) {                                                                     \
                f = count_to(step, f);                                                                \
                asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory"); \
            } else                                                                                   \
                asm volatile("{.reg .pred done;\nagain: " wait " done, [%0], %1;\n@!done bra again;}" \
                             :: "r"(barrier), "r"(n / 2 % 2) : "memory");                            \
        }                                                                                            \
    finish(result, sink, start, times, __float_as_uint(f));                                                           \
}
ARRIVE_LATE(mbarrier_late, "mbarrier.try_wait.parity.shared::cta.b64")
ARRIVE_LATE(mbarrier_late_polled, "mbarrier.test_wait.parity.shared::cta.b64")

// One thread arrives, which completes the phase, and waits for it at once: the time until an arrival has been performed.
extern "C" __global__ void mbarrier_own(PARAMETERS)
{
    __shared__ __align__(8) u64 barrier;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
    __syncthreads();
    const long long start = clock64();
    if (threadIdx.x == 0)
        #pragma unroll 1
        for (unsigned n = 0; n < times; ++n)
            asm volatile("{.reg .pred done;\nmbarrier.arrive.shared::cta.b64 _, [%0];\n"
                         "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;}"
                         :: "r"(at), "r"(n % 2) : "memory");
    finish(result, sink, start, times, 0);
}

// Lane 0 of each warp arrives at an mbarrier of its own, so that each arrival completes a phase; no thread waits.
extern "C" __global__ void mbarrier_arrive(PARAMETERS)
{
    __shared__ __align__(8) u64 barriers[32];
    const unsigned own = (unsigned)__cvta_generic_to_shared(barriers + threadIdx.x / 32);
    if (threadIdx.x % 32 == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(own) : "memory");
    __syncthreads();
    const long long start = clock64();
    if (threadIdx.x % 32 == 0)
        for (unsigned n = 0; n < times; ++n)
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(own) : "memory");
    finish(result, sink, start, times, 0);
}

// All lanes of each warp arrive at an mbarrier of the warp's own. An operation is a warp's instruction.
extern "C" __global__ void mbarrier_arrive_all(PARAMETERS)
{
    __shared__ __align__(8) u64 barriers[32];
    const unsigned own = (unsigned)__cvta_generic_to_shared(barriers + threadIdx.x / 32);
    if (threadIdx.x % 32 == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"(own) : "memory");
    __syncthreads();
    const long long start = clock64();
    for (unsigned n = 0; n < times; ++n)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(own) : "memory");
    finish(result, sink, start, times, 0);
}

// All threads wait for a completed phase: the one before the first.
extern "C" __global__ void mbarrier_ended(PARAMETERS)
{
    __shared__ __align__(8) u64 barrier;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n)
        asm volatile("{.reg .pred done;\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 1;\n@!done bra again;}"
                     :: "r"(at) : "memory");
    finish(result, sink, start, times, 0);
}

// The two blocks of a cluster alternate: one arrives at the other's mbarrier, which waits. An operation is one way.
extern "C" __global__ void __cluster_dims__(2) mbarrier_remote(PARAMETERS)
{
    __shared__ __align__(8) u64 barrier;
    const unsigned own = (unsigned)__cvta_generic_to_shared(&barrier), rank = blockIdx.x % 2;
    unsigned other;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(own), "r"(rank ^ 1));
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" :: "r"(own) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    const long long start = clock64();
    if (threadIdx.x == 0)
        for (unsigned n = 0; n < times; ++n)
            if (n % 2 == rank)
                asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(other) : "memory");
            else
                asm volatile("{.reg .pred done;\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                             "@!done bra again;}" :: "r"(own), "r"(n / 2 % 2) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    finish(result, sink, start, times, 0);
}

// All threads of a cluster of two synchronize at barrier.cluster.
extern "C" __global__ void __cluster_dims__(2) cluster_barrier(PARAMETERS)
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n)
        asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    finish(result, sink, start, times, 0);
}
