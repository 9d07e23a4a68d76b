// TMA: one thread keeps a ring of boxes in flight, 64 f16 wide and `bytes` large, in the 128-byte swizzle, as many as
// fit into dynamic shared memory. BOXES of them share an mbarrier. Blocks share the matrix's first rows if `step` is
// 0; else each has its own. `data` is not used.
#include "hopper.cuh"
constexpr int ROWS = 1024;                             // of the matrix, which a block reads repeatedly

template <int BOXES>
__device__ void boxes(const TensorMap& map, unsigned part, PARAMETERS)
{
    extern __shared__ __align__(1024) unsigned char ring[];
    __shared__ __align__(8) u64 full[32];
    if (threadIdx.x > 0)
        return;
    unsigned room;
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
    const unsigned slots = room / (BOXES * bytes), rows = bytes / 128, top = part * ROWS;
    for (unsigned slot = 0; slot < slots; ++slot)
        mbarrier_init(&full[slot], 1);
    fence_mbarrier_init();
    unsigned row = 0, slot = 0, parity = 0;
    const long long start = clock64();
    for (unsigned n = 0; n < times + slots; ++n) {
        if (n >= slots)
            mbarrier_wait(&full[slot], parity);
        if (n < times) {
            mbarrier_expect(&full[slot], BOXES * bytes);
            for (int box = 0; box < BOXES; ++box) {
                tma_load(ring + (slot * BOXES + box) * bytes, map, 0, top + row, &full[slot]);
                row = row + rows < ROWS ? row + rows : 0;
            }
        }
        if (++slot == slots) {
            slot = 0;
            parity ^= n >= slots;
        }
    }
    result[2 * blockIdx.x] = clock64() - start;
    result[2 * blockIdx.x + 1] = (u64)times * BOXES;
}

extern "C" __global__ void one(const __grid_constant__ TensorMap map, PARAMETERS)
{
    boxes<1>(map, blockIdx.x * step, result, sink, data, bytes, step, times);
}

extern "C" __global__ void four(const __grid_constant__ TensorMap map, PARAMETERS)
{
    boxes<4>(map, blockIdx.x * step, result, sink, data, bytes, step, times);
}

// `step` blocks read the same rows: neighbors, or blocks as far from each other as they can be.
extern "C" __global__ void neighbors(const __grid_constant__ TensorMap map, PARAMETERS)
{
    boxes<1>(map, blockIdx.x / step, result, sink, data, bytes, step, times);
}

extern "C" __global__ void strided(const __grid_constant__ TensorMap map, PARAMETERS)
{
    boxes<1>(map, blockIdx.x % (gridDim.x / step), result, sink, data, bytes, step, times);
}

// Eight blocks read the same rows: those of a cluster, which are in one GPC, or each of them in another cluster.
extern "C" __global__ void __cluster_dims__(8) in_cluster(const __grid_constant__ TensorMap map, PARAMETERS)
{
    boxes<1>(map, blockIdx.x / 8, result, sink, data, bytes, step, times);
}

extern "C" __global__ void __cluster_dims__(8) across_clusters(const __grid_constant__ TensorMap map, PARAMETERS)
{
    boxes<1>(map, blockIdx.x / 64 * 8 + blockIdx.x % 8, result, sink, data, bytes, step, times);
}

// The loads of a matrix product without its arithmetic. For each step along K, block b loads the box of tile row b / `step` of
// one operand and that of tile row b % `step` of the other, `bytes` each, which share an mbarrier. So `step` blocks load the
// same box of the one, and every `step`-th block the same box of the other. The matrix has the tiles of the second operand
// above those of the first; its rows are STEPS boxes long.
template <int STEPS>
__device__ void tile_rows(const TensorMap& map, PARAMETERS)
{
    extern __shared__ __align__(1024) unsigned char ring[];
    __shared__ __align__(8) u64 full[32];
    if (threadIdx.x > 0)
        return;
    unsigned room;
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
    const unsigned slots = room / (2 * bytes), rows = bytes / 128;
    const unsigned a = (step + blockIdx.x / step) * rows, b = blockIdx.x % step * rows;
    for (unsigned slot = 0; slot < slots; ++slot)
        mbarrier_init(&full[slot], 1);
    fence_mbarrier_init();
    unsigned slot = 0, parity = 0;
    const long long start = clock64();
    for (unsigned n = 0; n < times + slots; ++n) {
        if (n >= slots)
            mbarrier_wait(&full[slot], parity);
        if (n < times) {
            mbarrier_expect(&full[slot], 2 * bytes);
            unsigned char* const to = ring + slot * 2 * bytes;
            tma_load(to, map, n % STEPS * 64, a, &full[slot]);
            tma_load(to + bytes, map, n % STEPS * 64, b, &full[slot]);
        }
        if (++slot == slots) {
            slot = 0;
            parity ^= n >= slots;
        }
    }
    result[2 * blockIdx.x] = clock64() - start;
    result[2 * blockIdx.x + 1] = 2 * (u64)times;
}

// A matrix that a part of the L2 holds from the launch before: a fifth at most.
extern "C" __global__ void few_tiles(const __grid_constant__ TensorMap map, PARAMETERS)
{
    tile_rows<16>(map, result, sink, data, bytes, step, times);
}

// One of up to twice the L2's size.
extern "C" __global__ void tiles(const __grid_constant__ TensorMap map, PARAMETERS)
{
    tile_rows<64>(map, result, sink, data, bytes, step, times);
}

// One that it cannot hold: each box comes from DRAM once.
extern "C" __global__ void tiles_from_dram(const __grid_constant__ TensorMap map, PARAMETERS)
{
    tile_rows<512>(map, result, sink, data, bytes, step, times);
}

// A second warp executes one fence after the other, while the first has boxes in flight: do the fences wait for them?
// An operation is a fence.
extern "C" __global__ void fence_beside_boxes(const __grid_constant__ TensorMap map, PARAMETERS)
{
    extern __shared__ __align__(1024) unsigned char ring[];
    __shared__ __align__(8) u64 full[4];
    __shared__ volatile unsigned done;
    const unsigned rows = bytes / 128, top = blockIdx.x * ROWS * step;
    if (threadIdx.x == 0) {
        for (unsigned slot = 0; slot < 4; ++slot)
            mbarrier_init(&full[slot], 1);
        fence_mbarrier_init();
        done = 0;
    }
    __syncthreads();
    const long long start = clock64();
    if (threadIdx.x == 0) {
        for (unsigned n = 0; n < times + 4; ++n) {
            if (n >= 4)
                mbarrier_wait(&full[n % 4], (n / 4 - 1) % 2);
            if (n < times) {
                mbarrier_expect(&full[n % 4], bytes);
                tma_load(ring + n % 4 * bytes, map, 0, top + n * rows % ROWS, &full[n % 4]);
            }
        }
        done = 1;
    } else if (threadIdx.x == 32) {
        unsigned fences = 0;
        for (; !done; ++fences)
            asm volatile("fence.acq_rel.gpu;" ::: "memory");
        result[2 * blockIdx.x] = clock64() - start;
        result[2 * blockIdx.x + 1] = fences;
    }
}

// The first box of a launch whose tensor map has been fetched before.
extern "C" __global__ void prefetched(const __grid_constant__ TensorMap map, PARAMETERS)
{
    prefetch_map(map);
    const long long start = clock64();
    while (clock64() - start < 5000) {}
    boxes<1>(map, blockIdx.x * step, result, sink, data, bytes, step, times);
}

// Two boxes at a time, each through a tensor map of its own.
extern "C" __global__ void two_maps(const __grid_constant__ TensorMap map, const __grid_constant__ TensorMap other, PARAMETERS)
{
    extern __shared__ __align__(1024) unsigned char ring[];
    __shared__ __align__(8) u64 full;
    if (threadIdx.x > 0)
        return;
    mbarrier_init(&full, 1);
    fence_mbarrier_init();
    const long long start = clock64();
    for (unsigned n = 0; n < times; ++n) {
        mbarrier_expect(&full, 2 * bytes);
        tma_load(ring, map, 0, 0, &full);
        tma_load(ring + bytes, other, 0, bytes / 128, &full);
        mbarrier_wait(&full, n % 2);
    }
    result[2 * blockIdx.x] = clock64() - start;
    result[2 * blockIdx.x + 1] = times;
}

// Small boxes: the first lane of each warp has eight in flight.
extern "C" __global__ void small_boxes(const __grid_constant__ TensorMap map, PARAMETERS)
{
    extern __shared__ __align__(1024) unsigned char ring[];
    __shared__ __align__(8) u64 full[2 * 32];
    const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
    u64* const own = full + 2 * warp;
    unsigned char* const to = ring + warp * 8 * bytes;
    if (threadIdx.x % 32 == 0) {
        mbarrier_init(own, 1);
        mbarrier_init(own + 1, 1);
        fence_mbarrier_init();
    }
    __syncthreads();
    const long long start = clock64();
    if (threadIdx.x % 32 == 0)
        for (unsigned n = 0; n < times + 2; ++n) {
            if (n >= 2)
                mbarrier_wait(own + n % 2, (n / 2 - 1) % 2);
            if (n < times) {
                mbarrier_expect(own + n % 2, 4 * bytes);
                #pragma unroll
                for (int box = 0; box < 4; ++box)
                    tma_load(to + (n % 2 * 4 + box) * bytes, map, 0, warp * 64, own + n % 2);
            }
        }
    finish(result, sink, start, (u64)times * 4 * warps, 0);
}

// Bulk copies of `bytes` contiguous bytes without a tensor map: all lanes of each warp issue one, 32 for each phase of the warp's
// mbarrier, and two phases are in flight. An operation is a copy of the block.
extern "C" __global__ void bulk_copies(const __grid_constant__ TensorMap map, PARAMETERS)
{
    extern __shared__ __align__(1024) unsigned char ring[];
    __shared__ __align__(8) u64 full[2 * 32];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    u64* const own = full + 2 * warp;
    if (lane == 0) {
        mbarrier_init(own, 1);
        mbarrier_init(own + 1, 1);
        fence_mbarrier_init();
    }
    __syncthreads();
    const unsigned place = (warp * 64 + lane) * bytes, half = 32 * bytes;
    const char* const from = (const char*)data + place;
    const long long start = clock64();
    for (unsigned n = 0; n < times + 2; ++n) {
        if (n >= 2)
            mbarrier_wait(own + n % 2, (n / 2 - 1) % 2);
        if (n >= times)
            continue;
        if (lane == 0)
            mbarrier_expect(own + n % 2, half);
        __syncwarp();
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(address(ring + place) + n % 2 * half), "l"(from + n % 2 * half), "r"(bytes), "r"(address(own + n % 2))
                     : "memory");
    }
    finish(result, sink, start, (u64)times * blockDim.x, 0);
}
