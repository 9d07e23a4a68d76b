// Hopper's instructions for tiles, one function each: mbarrier, TMA, wgmma, and fences; and a barrier of the whole grid. Rungs 09 and up include
// this file. PTX ISA: "mbarrier", "Data Movement and Conversion Instructions", "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
// Instructions", "Parallel Synchronization and Communication Instructions".
#pragma once

// A tensor map, which the host encodes with cuTensorMapEncodeTiled: address and shape of a matrix, and the box that TMA copies.
struct alignas(64) TensorMap { unsigned char opaque[128]; };

// An address in shared memory, as these instructions take it.
__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }

// ---- mbarrier: a phase completes when all arrivals and all expected bytes have come ----

__device__ void mbarrier_init(unsigned long long* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(address(barrier)), "r"(arrivals) : "memory");
}

// Makes initialized barriers visible to TMA.
__device__ void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Arrives, and makes the phase expect this many bytes from TMA.
__device__ void mbarrier_expect(unsigned long long* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(address(barrier)), "r"(bytes) : "memory");
}

// One arrival, without bytes.
__device__ void mbarrier_arrive(unsigned long long* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(address(barrier)) : "memory");
}

// Waits for the completion of the phase with this parity. The first phase has parity 0; before it, parity 1 counts as complete.
__device__ void mbarrier_wait(unsigned long long* barrier, int parity)
{
    asm volatile("{.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;}"
                 :: "r"(address(barrier)), "r"(parity) : "memory");
}

// Threads of a block that pass the same number wait for each other, until `threads` of them have arrived.
__device__ void named_barrier(int number, int threads)
{
    asm volatile("bar.sync %0, %1;" :: "r"(number), "r"(threads) : "memory");
}

// ---- TMA: one thread copies a box, given its first column and row ----

__device__ void tma_load(void* to, const TensorMap& map, int column, int row, unsigned long long* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(address(to)), "l"(&map), "r"(column), "r"(row), "r"(address(barrier)) : "memory");
}

// Prefetches a box to L2.
__device__ void tma_prefetch(const TensorMap& map, int column, int row)
{
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];"
                 :: "l"(&map), "r"(column), "r"(row) : "memory");
}

// Prefetches a tensor map to the cache from which TMA reads it.
__device__ void prefetch_map(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" :: "l"(&map) : "memory"); }

// Makes this thread's writes to shared memory visible to TMA and wgmma, the async proxy.
__device__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Stores a box, as one group of stores.
__device__ void tma_store(const TensorMap& map, int column, int row, const void* from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n"
                 "cp.async.bulk.commit_group;"
                 :: "l"(&map), "r"(column), "r"(row), "r"(address(from)) : "memory");
}

// Waits until TMA has read the source of all but this thread's PENDING latest groups of stores.
template <int PENDING>
__device__ void tma_store_wait() { asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(PENDING) : "memory"); }

// ---- wgmma: c += a b for a (64, 16) and b (16, N), both in shared memory, by the 128 threads of a warpgroup ----

// Start address, leading and stride byte offsets in units of 16 bytes, and the 128-byte swizzle.
__device__ unsigned long long descriptor(const void* shared, int leading, int stride)
{
    return (address(shared) & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16
         | (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}

// Orders earlier accesses to the accumulators before the next wgmma.
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Closes a group of wgmmas.
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until all groups are complete, except the PENDING latest.
template <int PENDING>
__device__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(PENDING) : "memory"); }

// Ten operands at once: NAMES(1) is "%10, %11, ... %19, ", FLOATS(1) the registers c[10] to c[19].
#define NAMES(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define FLOATS(t) "+f"(c[t##0]), "+f"(c[t##1]), "+f"(c[t##2]), "+f"(c[t##3]), "+f"(c[t##4]), \
                  "+f"(c[t##5]), "+f"(c[t##6]), "+f"(c[t##7]), "+f"(c[t##8]), "+f"(c[t##9])

// N = 64. If accumulate is 0, c = a b. The last two numbers: A is contiguous along K, and B, row-major, along N.
__device__ void wgmma(float (&c)[32], unsigned long long a, unsigned long long b, int accumulate)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" NAMES() NAMES(1) NAMES(2)
                 "%30, %31}, %32, %33, p, 1, 1, 0, 1;}"
                 : FLOATS(), FLOATS(1), FLOATS(2), "+f"(c[30]), "+f"(c[31]) : "l"(a), "l"(b), "r"(accumulate));
}

// N = 128.
__device__ void wgmma(float (&c)[64], unsigned long long a, unsigned long long b, int accumulate)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" NAMES() NAMES(1) NAMES(2) NAMES(3) NAMES(4)
                 NAMES(5) "%60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 1;}"
                 : FLOATS(), FLOATS(1), FLOATS(2), FLOATS(3), FLOATS(4), FLOATS(5), "+f"(c[60]), "+f"(c[61]),
                   "+f"(c[62]), "+f"(c[63])
                 : "l"(a), "l"(b), "r"(accumulate));
}

// N = 256.
__device__ void wgmma(float (&c)[128], unsigned long long a, unsigned long long b, int accumulate)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" NAMES() NAMES(1) NAMES(2) NAMES(3) NAMES(4)
                 NAMES(5) NAMES(6) NAMES(7) NAMES(8) NAMES(9) NAMES(10) NAMES(11)
                 "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, p, 1, 1, 0, 1;}"
                 : FLOATS(), FLOATS(1), FLOATS(2), FLOATS(3), FLOATS(4), FLOATS(5), FLOATS(6), FLOATS(7), FLOATS(8),
                   FLOATS(9), FLOATS(10), FLOATS(11), "+f"(c[120]), "+f"(c[121]), "+f"(c[122]), "+f"(c[123]),
                   "+f"(c[124]), "+f"(c[125]), "+f"(c[126]), "+f"(c[127])
                 : "l"(a), "l"(b), "r"(accumulate));
}

// dec: each warp returns registers to the block's pool, down to REGISTERS per thread; inc: waits until it has that many.
template <int REGISTERS>
__device__ void setmaxnreg_dec() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(REGISTERS)); }
template <int REGISTERS>
__device__ void setmaxnreg_inc() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(REGISTERS)); }

// ---- from accumulators to shared memory ----

__device__ unsigned float2_to_half2(float low, float high)
{
    unsigned h;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(high), "f"(low));
    return h;
}

// Four 8x8 matrices: lane l gives the address of row l % 8 of matrix l / 8.
__device__ void stmatrix(void* row, const unsigned* r)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}

// ---- launches that overlap (programmatic dependent launch) ----

// Once every block has executed this or exited, blocks of the next launch on the stream may be scheduled.
__device__ void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// Waits until the previous launch is complete and its writes are visible.
__device__ void wait_for_previous_launch() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// ---- clusters of blocks, which can access each other's shared memory ----

// Waits for all threads of the cluster. Arrivals are relaxed, because fence_mbarrier_init releases the barriers.
__device__ void cluster_barrier() { asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// The same in two halves. All threads arrive; those that access another block's shared memory wait. A single block synchronizes at once.
template <int BLOCKS> __device__ void cluster_arrive()
{
    if (BLOCKS > 1) asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    else __syncthreads();
}
template <int BLOCKS> __device__ void cluster_wait() { if (BLOCKS > 1) asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

// Arrives at the mbarrier at the same address in the shared memory of the block with this rank.
__device__ void mbarrier_arrive(unsigned long long* barrier, int rank)
{
    asm volatile("{.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];}" :: "r"(address(barrier)), "r"(rank) : "memory");
}

// Copies a box to the same address in the shared memory of each block whose bit is set; its bytes count at the mbarrier of each.
__device__ void tma_multicast(void* to, const TensorMap& map, int column, int row, unsigned long long* barrier, int blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;" :: "r"(address(to)), "l"(&map), "r"(column), "r"(row),
                 "r"(address(barrier)), "h"((unsigned short)blocks) : "memory");
}

// ---- a barrier of the whole grid, all of whose blocks must be resident ----

// Every fourth wave, the first block of each cluster waits for those of all others. Otherwise clusters drift apart, until
// data that one has loaded has left L2 when another needs it. Between launches, `arrivals` is 0.
__device__ void grid_barrier(unsigned& arrivals, int rank, int tile, int tiles, int clusters)
{
    constexpr int WAVES = 4;                           // from one barrier to the next
    const int wave = tile / clusters, barriers = (tiles / clusters - 1) / WAVES;
    if (rank > 0 || wave == 0 || wave % WAVES > 0 || wave / WAVES > barriers)
        return;
    atomicInc(&arrivals, barriers * clusters - 1);     // the last arrival resets it to 0
    for (unsigned now; (now = *(volatile unsigned*)&arrivals) != 0 && now < wave / WAVES * clusters;) {}
}

// ---- wgmma for tiles that are a little narrower than 256 columns ----

// N = 240.
__device__ void wgmma(float (&c)[120], unsigned long long a, unsigned long long b, int accumulate)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %122, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n240k16.f32.f16.f16 {" NAMES() NAMES(1) NAMES(2) NAMES(3) NAMES(4)
                 NAMES(5) NAMES(6) NAMES(7) NAMES(8) NAMES(9) NAMES(10)
                 "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119}, %120, %121, p, 1, 1, 0, 1;}"
                 : FLOATS(), FLOATS(1), FLOATS(2), FLOATS(3), FLOATS(4), FLOATS(5), FLOATS(6), FLOATS(7), FLOATS(8),
                   FLOATS(9), FLOATS(10), FLOATS(11) : "l"(a), "l"(b), "r"(accumulate));
}
