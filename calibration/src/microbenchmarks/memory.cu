// Global memory. Latency: one thread's pointer chase through `data`, where each word is the index of the next.
// Bandwidth: every thread reads or copies 16 bytes at a time, with several in flight; a block has `bytes` of its own
// if `step` is 1, else all share them.

// `step` is not used. ld.global.ca may hit the L1, .cg may not; data that was not read before may be in DRAM.
#define CHASE(name, text, twice)                                                                     \
extern "C" __global__ void name(PARAMETERS)                                                          \
{                                                                                                    \
    unsigned at = 0;                                                                                 \
    long long start = 0;                                                                             \
    for (int pass = 0; pass <= twice; ++pass) {                                                      \
        start = clock64();                                                                           \
        for (unsigned n = 0; n < times; ++n)                                                         \
            asm volatile(text : "=r"(at) : "l"(data + at) : "memory");                               \
    }                                                                                                \
    finish(result, sink, start, times, at);                                                          \
}
CHASE(chase_ca, "ld.global.ca.u32 %0, [%1];", 1)
CHASE(chase_cg, "ld.global.cg.u32 %0, [%1];", 1)
CHASE(chase_cg_once, "ld.global.cg.u32 %0, [%1];", 0)

__device__ const char* begin(const unsigned* data, unsigned bytes, unsigned step)
{
    return (const char*)data + (u64)blockIdx.x * bytes * step;
}

// Loads to registers, AHEAD in flight.
template <int AHEAD>
__device__ void loads(PARAMETERS)
{
    const char* from = begin(data, bytes, step);
    unsigned at = threadIdx.x * 16, sum = 0;
    __syncthreads();
    const long long start = clock64();
    for (unsigned n = 0; n < times; ++n) {
        uint4 got[AHEAD];
        #pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
            got[i] = __ldcg((const uint4*)(from + at));
            at += blockDim.x * 16;
            if (at >= bytes)
                at = threadIdx.x * 16;
        }
        #pragma unroll
        for (int i = 0; i < AHEAD; ++i)
            sum += got[i].x ^ got[i].w;
    }
    finish(result, sink, start, (u64)times * AHEAD, sum);
}

// cp.async to shared memory, each thread a ring of AHEAD.
template <int AHEAD>
__device__ void copies(PARAMETERS)
{
    extern __shared__ __align__(128) unsigned char ring[];
    const char* from = begin(data, bytes, step);
    const unsigned to = (unsigned)__cvta_generic_to_shared(ring) + threadIdx.x * 16;
    unsigned at = threadIdx.x * 16;
    __syncthreads();
    const long long start = clock64();
    for (unsigned n = 0; n < times; ++n) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;\ncp.async.wait_group %2;"
                     :: "r"(to + n % AHEAD * blockDim.x * 16), "l"(from + at), "n"(AHEAD - 1) : "memory");
        at += blockDim.x * 16;
        if (at >= bytes)
            at = threadIdx.x * 16;
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    finish(result, sink, start, times, *(unsigned*)ring);
}

#define KERNEL(name, function, ahead) extern "C" __global__ void name##_##ahead(PARAMETERS) \
{ function<ahead>(result, sink, data, bytes, step, times); }
KERNEL(loads, loads, 1)
KERNEL(loads, loads, 2)
KERNEL(loads, loads, 4)
KERNEL(loads, loads, 8)
KERNEL(copies, copies, 1)
KERNEL(copies, copies, 2)
KERNEL(copies, copies, 4)
KERNEL(copies, copies, 8)
KERNEL(copies, copies, 16)

// With each copy of 512 bytes by a warp, MATRICES times ldmatrix.x4 of as many bytes: do the copies' writes take
// wavefronts of shared memory's data pipe from them? A warp's copy has ROW bytes of each line of 128 bytes.
template <int MATRICES, int ROW = 128>
__device__ void copies_beside_ldmatrix(PARAMETERS)
{
    constexpr int AHEAD = 8;
    extern __shared__ __align__(128) unsigned char ring[];
    const char* from = begin(data, bytes, step);
    const unsigned to = (unsigned)__cvta_generic_to_shared(ring) + threadIdx.x * 16;
    const unsigned first = threadIdx.x / (ROW / 16) * 128 + threadIdx.x % (ROW / 16) * 16;
    unsigned at = first, sum = 0;
    __syncthreads();
    const long long start = clock64();
    for (unsigned n = 0; n < times; ++n) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\ncp.async.commit_group;\ncp.async.wait_group %2;"
                     :: "r"(to + n % AHEAD * blockDim.x * 16), "l"(from + at), "n"(AHEAD - 1) : "memory");
        #pragma unroll
        for (int i = 0; i < MATRICES; ++i) {
            unsigned r[4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(to + (n + i) % AHEAD * blockDim.x * 16) : "memory");
            sum += r[0] ^ r[1] ^ r[2] ^ r[3];
        }
        at += blockDim.x * 16 * (128 / ROW);
        if (at >= bytes)
            at = first;
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    finish(result, sink, start, times, sum);
}
KERNEL(copies_beside_ldmatrix, copies_beside_ldmatrix, 1)
KERNEL(copies_beside_ldmatrix, copies_beside_ldmatrix, 2)
KERNEL(copies_beside_ldmatrix, copies_beside_ldmatrix, 4)

#define COPIES_OF_ROWS(row, matrices) extern "C" __global__ void copies_of_rows_##row##_##matrices(PARAMETERS) \
{ copies_beside_ldmatrix<matrices, row>(result, sink, data, bytes, step, times); }
COPIES_OF_ROWS(64, 0)
COPIES_OF_ROWS(64, 1)
COPIES_OF_ROWS(64, 2)
COPIES_OF_ROWS(64, 4)
COPIES_OF_ROWS(32, 0)
COPIES_OF_ROWS(32, 1)
COPIES_OF_ROWS(32, 2)
COPIES_OF_ROWS(32, 4)

__device__ unsigned cached(const unsigned short* from)
{
    unsigned short value;
    asm volatile("ld.global.ca.u16 %0, [%1];" : "=h"(value) : "l"(from));
    return value;
}

__device__ unsigned cached(const unsigned* from)
{
    unsigned value;
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
}

// Loads that hit the L1, independent of each other; lane l reads at byte l * step. Each turn reads other addresses
// than the one before.
#define HITS(name, type)                                                                             \
extern "C" __global__ void name(PARAMETERS)                                                          \
{                                                                                                    \
    const char* from = (const char*)data + threadIdx.x % 32 * step;                                  \
    unsigned sum = 0;                                                                                \
    __syncthreads();                                                                                 \
    const long long start = clock64();                                                               \
    _Pragma("unroll 1")                                                                              \
    for (unsigned n = 0; n < times; ++n) {                                                           \
        _Pragma("unroll")                                                                            \
        for (int i = 0; i < 16; ++i)                                                                 \
            sum += cached((const type*)(from + n % 2 * 1024 + i * 1024));                                         \
    }                                                                                                \
    finish(result, sink, start, (u64)times * 16, sum);                                               \
}
HITS(hits_u16, unsigned short)
HITS(hits_u32, unsigned)

// Stores, and the fence that waits for them.
extern "C" __global__ void stores(PARAMETERS)
{
    char* to = (char*)begin(data, bytes, step);
    unsigned at = threadIdx.x * 16;
    __syncthreads();
    const long long start = clock64();
    for (unsigned n = 0; n < times; ++n) {
        __stcg((uint4*)(to + at), make_uint4(n, n, n, n));
        at += blockDim.x * 16;
        if (at >= bytes)
            at = threadIdx.x * 16;
    }
    __threadfence();
    finish(result, sink, start, times, 0);
}

// The same of a tile with rows of `bytes` bytes in a matrix whose rows are PITCH bytes long: each store of a warp writes `step` lanes
// to each of 32 / `step` rows, and the next one continues these rows. Four lanes of 4 bytes are half a sector, as a thread stores the
// products of mma.sync and wgmma.
constexpr unsigned PITCH = 8192;

template <typename T>
__device__ void row_stores(PARAMETERS)
{
    const unsigned tiles = PITCH / bytes, rows = 32 / step, lane = threadIdx.x % 32;
    const unsigned row = blockIdx.x / tiles * 512 + threadIdx.x / 32 * rows + lane / step;
    char* const to = (char*)data + (u64)row * PITCH + blockIdx.x % tiles * bytes + lane % step * sizeof(T);
    __syncthreads();
    const long long start = clock64();
    for (unsigned n = 0; n < times; ++n)
        for (unsigned at = 0; at < bytes; at += step * sizeof(T))
            __stcg((T*)(to + at), T{});
    __threadfence();
    finish(result, sink, start, (u64)times * (bytes / (step * sizeof(T))), 0);
}

extern "C" __global__ void row_stores_4(PARAMETERS) { row_stores<unsigned>(result, sink, data, bytes, step, times); }
extern "C" __global__ void row_stores_8(PARAMETERS) { row_stores<uint2>(result, sink, data, bytes, step, times); }
extern "C" __global__ void row_stores_16(PARAMETERS) { row_stores<uint4>(result, sink, data, bytes, step, times); }
