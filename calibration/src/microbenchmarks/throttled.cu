// Memory at a lower SM clock, which the clocks of L2 and DRAM do not follow. Latency: block 0 waits `step`
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

// What the L2 or DRAM delivers to all SMs, while PRODUCTS of a hundred clocks of the tensor cores are busy. Eight warps load, each
// thread four times 16 bytes at a time, and four others multiply registers. Each block has `bytes` of its own. An operation is 512
// bytes.
template <int PRODUCTS>
__device__ void multiply_registers(volatile unsigned* done, unsigned* sink)
{
    unsigned bits[6];
    for (int i = 0; i < 6; ++i)
        bits[i] = ((threadIdx.x * 6 + i) * 2654435761u & 0x83ff83ffu) | 0x3c003c00u;
    float c[8][4] = {};
    while (!*done) {
        const long long start = clock64();
        #pragma unroll
        for (int i = 0; i < 64 * (PRODUCTS > 0); ++i) {
            float (&d)[4] = c[i % 8];
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                         : "r"(bits[i % 6]), "r"(bits[(i + 1) % 6]), "r"(bits[(i + 2) % 6]), "r"(bits[(i + 3) % 6]),
                           "r"(bits[(i + 4) % 6]), "r"(bits[(i + 5) % 6]));
        }
        // 64 products take 400 clocks of a sub-partition.
        while (clock64() - start < 40000 / (PRODUCTS > 0 ? PRODUCTS : 100)) {}
    }
    float sum = 0;
    for (int i = 0; i < 8; ++i)
        sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
    sink[blockIdx.x * blockDim.x + threadIdx.x] = __float_as_uint(sum);
}

template <int PRODUCTS>
__device__ void rate(PARAMETERS)
{
    __shared__ volatile unsigned done;
    done = 0;
    __syncthreads();
    if (threadIdx.x >= 256)
        return multiply_registers<PRODUCTS>(&done, sink);
    const char* const from = (const char*)data + (u64)blockIdx.x * bytes;
    unsigned at = threadIdx.x * 16, sum = 0;
    const u64 begin = nanoseconds();
    // First for `step` milliseconds, then for as many turns as are measured.
    u64 then = begin;
    long long start = 0;
    bool measures = false;
    for (unsigned n = 0; n < times;) {
        uint4 got[4];
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            got[i] = __ldcg((const uint4*)(from + at));
            at += 256 * 16;
            if (at >= bytes)
                at = threadIdx.x * 16;
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            sum += got[i].x ^ got[i].w;
        n += measures;
        if (!measures && (then = nanoseconds()) - begin >= step * 1000000ull) {
            measures = true;
            start = clock64();
        }
    }
    const long long clocks = clock64() - start;
    const u64 time = nanoseconds() - then;
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    asm volatile("bar.sync 1, 256;" ::: "memory");
    done = 1;
    if (threadIdx.x == 0) {
        result[3 * blockIdx.x] = clocks;
        result[3 * blockIdx.x + 1] = 4ull * 8 * times;
        result[3 * blockIdx.x + 2] = time;
    }
}

#define RATE(products) extern "C" __global__ void __launch_bounds__(384) rate_beside_##products(PARAMETERS) \
{ rate<products>(result, sink, data, bytes, step, times); }
RATE(0)
RATE(25)
RATE(50)
RATE(100)

// The same by bulk copies of 16 KiB, of which six are in flight: enough for the L2's limit.
template <int PRODUCTS>
__device__ void copy_rate(PARAMETERS)
{
    constexpr unsigned BYTES = 16384, STAGES = 6;
    extern __shared__ __align__(1024) unsigned char ring[];
    __shared__ __align__(8) u64 full[STAGES];
    __shared__ volatile unsigned done;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < STAGES; ++i)
            mbarrier_init(full + i, 1);
        fence_mbarrier_init();
        done = 0;
    }
    __syncthreads();
    if (threadIdx.x >= 256)
        return multiply_registers<PRODUCTS>(&done, sink);
    if (threadIdx.x > 0)
        return;
    const char* const from = (const char*)data + (u64)blockIdx.x * bytes;
    unsigned at = 0, stage = 0, phase = 0;
    auto copy = [&](unsigned stage) {
        mbarrier_expect(full + stage, BYTES);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(address(ring + stage * BYTES)), "l"(from + at), "r"(BYTES), "r"(address(full + stage)) : "memory");
        at = (at + BYTES) % bytes;
    };
    auto wait = [&] {                                  // for the oldest copy; returns its stage
        const unsigned oldest = stage;
        mbarrier_wait(full + oldest, phase);
        stage = (oldest + 1) % STAGES;
        phase ^= stage == 0;
        return oldest;
    };
    for (unsigned i = 0; i < STAGES; ++i)
        copy(i);
    const u64 begin = nanoseconds();
    while (nanoseconds() - begin < step * 1000000ull)
        copy(wait());
    const u64 then = nanoseconds();
    const long long start = clock64();
    for (unsigned n = 0; n < times; ++n)
        copy(wait());
    result[3 * blockIdx.x] = clock64() - start;
    result[3 * blockIdx.x + 1] = (u64)times * (BYTES / 512);
    result[3 * blockIdx.x + 2] = nanoseconds() - then;
    for (unsigned i = 0; i < STAGES; ++i)
        wait();
    done = 1;
}

#define COPY_RATE(products) extern "C" __global__ void __launch_bounds__(384) copy_rate_beside_##products(PARAMETERS) \
{ copy_rate<products>(result, sink, data, bytes, step, times); }
COPY_RATE(0)
COPY_RATE(50)
COPY_RATE(100)

extern "C" __global__ void __launch_bounds__(384) chase_l2(PARAMETERS) { chase<2>(result, sink, data, bytes, step, times); }
extern "C" __global__ void __launch_bounds__(384) chase_dram(PARAMETERS) { chase<1>(result, sink, data, bytes, step, times); }
