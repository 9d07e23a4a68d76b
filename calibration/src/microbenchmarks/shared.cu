// Shared memory: pointer chases of loads, and stores. Lane l begins at byte l * step, so `step` determines the bank
// conflicts. `data` is not used.
constexpr int CHAIN = 32;                              // accesses in one turn of the loop
constexpr unsigned BYTES = 32768;                      // of shared memory, all 0

__device__ unsigned first(unsigned step)
{
    __shared__ __align__(1024) unsigned words[BYTES / 4];
    for (unsigned i = threadIdx.x; i < BYTES / 4; i += blockDim.x)
        words[i] = 0;
    __syncthreads();
    return (unsigned)__cvta_generic_to_shared(words) + threadIdx.x % 32 * step % BYTES;
}

// One more instruction, an addition, is part of the chain.
#define LOADS(name, text)                                                                            \
extern "C" __global__ void name(PARAMETERS)                                                          \
{                                                                                                    \
    unsigned at = first(step), x = 0, y = 0, z = 0, w = 0;                                           \
    const long long start = clock64();                                                               \
    _Pragma("unroll 1")                                                                              \
    for (unsigned n = 0; n < times; ++n)                                                             \
        _Pragma("unroll")                                                                            \
        for (int i = 0; i < CHAIN; ++i)                                                              \
            asm volatile(text "\nadd.u32 %0, %0, %1;" : "+r"(at), "+r"(x), "+r"(y), "+r"(z), "+r"(w) :: "memory"); \
    finish(result, sink, start, (u64)times * CHAIN, at ^ y ^ z ^ w);                                 \
}

LOADS(ld_b32, "ld.shared.b32 %1, [%0];")
LOADS(ld_b64, "ld.shared.v2.b32 {%1, %2}, [%0];")
LOADS(ld_b128, "ld.shared.v4.b32 {%1, %2, %3, %4}, [%0];")
LOADS(ldmatrix_x1, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%1}, [%0];")
LOADS(ldmatrix_x2, "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%1, %2}, [%0];")
LOADS(ldmatrix_x4, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%1, %2, %3, %4}, [%0];")
// Do shuffles pass through the same data pipe?
LOADS(ld_b32_beside_shfl, "ld.shared.b32 %1, [%0];\nshfl.sync.up.b32 %2, %0, 1, 0, 0xffffffff;\nxor.b32 %3, %3, %2;")
LOADS(atom_add, "atom.shared.add.u32 %1, [%0], 0;")

#define STORES(name, text)                                                                           \
extern "C" __global__ void name(PARAMETERS)                                                          \
{                                                                                                    \
    const unsigned at = first(step), x = threadIdx.x;                                                \
    const long long start = clock64();                                                               \
    _Pragma("unroll 1")                                                                              \
    for (unsigned n = 0; n < times; ++n)                                                             \
        _Pragma("unroll")                                                                            \
        for (int i = 0; i < CHAIN; ++i)                                                              \
            asm volatile(text :: "r"(at), "r"(x) : "memory");                                        \
    finish(result, sink, start, (u64)times * CHAIN, at);                                             \
}

STORES(st_b32, "st.volatile.shared.b32 [%0], %1;")
STORES(st_b128, "st.volatile.shared.v4.b32 [%0], {%1, %1, %1, %1};")
STORES(stmatrix_x4, "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};")

// The queue to the data pipe: all warps of `step` schedulers issue COUNT stores of 32 wavefronts each, and do not wait for them. As
// long as the queue accepts them, a store takes the clocks of its issue, and afterwards those of the one that leaves. An operation
// is such a burst.
template <int COUNT>
__device__ void burst(PARAMETERS)
{
    const unsigned at = first(128), x = threadIdx.x;
    long long sum = 0;
    if (threadIdx.x / 32 % 4 < step)
        #pragma unroll 1
        for (unsigned n = 0; n < times; ++n) {
            const long long start = clock64();
            #pragma unroll
            for (int i = 0; i < COUNT; ++i)
                asm volatile("st.volatile.shared.b32 [%0], %1;" :: "r"(at), "r"(x) : "memory");
            sum += clock64() - start;
            while (clock64() - start < 8192) {}
        }
    __syncthreads();
    if (threadIdx.x == 0) {
        result[2 * blockIdx.x] = sum;
        result[2 * blockIdx.x + 1] = times;
    }
    sink[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
#define BURST(count) extern "C" __global__ void burst_##count(PARAMETERS) { burst<count>(result, sink, data, bytes, step, times); }
BURST(2)
BURST(4)
BURST(6)
BURST(8)
BURST(10)
BURST(12)
BURST(16)
BURST(24)
BURST(32)
BURST(40)
