// The tensor cores alone, as in a matrix product but without its memory traffic: two warpgroups, each with its own A
// of 64 x 128 and both with the same B of 128 x 256, multiply the same operands in shared memory again and again, by
// `wgmma` m64n256k16. One block on each SM. The host chooses the operands' values, which affect the power. Needs
// sm_90a.
constexpr int WARPGROUPS = 2, THREADS = WARPGROUPS * 128;
constexpr int SLICES = 8;               // of 16 along K: products in one turn of the loop
constexpr int A_BYTES = 64 * 16 * 2, B_BYTES = 256 * 16 * 2;        // of a slice
constexpr int SHARED = SLICES * (WARPGROUPS * A_BYTES + B_BYTES);
constexpr int TURNS_OF_SUM = 32;        // then the sums restart at 0: each is over 4096 products

// Threads of a block, its dynamic shared memory, the turns of a sum, and operations of a block in a turn.
extern "C" __constant__ int joules_launch[] = {THREADS, SHARED, TURNS_OF_SUM, WARPGROUPS * SLICES * 64 * 256 * 16 * 2};

#define EIGHT(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), \
                 "+f"(sum[i + 4]), "+f"(sum[i + 5]), "+f"(sum[i + 6]), "+f"(sum[i + 7])

// A descriptor without swizzle: address, and the strides of core matrices along K and along M or N.
__device__ unsigned long long descriptor(const void* tile, unsigned long long along_k, unsigned long long along_mn)
{
    const unsigned long long address = __cvta_generic_to_shared(tile);
    return (address & 0x3ffff) >> 4 | along_k >> 4 << 16 | along_mn >> 4 << 32;
}

__device__ void wgmma(float (&sum)[128], unsigned long long a, unsigned long long b, bool adds)
{
    asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, "
                 "%24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, "
                 "%72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, "
                 "%88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, "
                 "%104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, "
                 "%120, %121, %122, %123, %124, %125, %126, %127"
                 "}, %128, %129, adds, 1, 1, 0, 0; }"
                 : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56),
                   EIGHT(64), EIGHT(72), EIGHT(80), EIGHT(88), EIGHT(96), EIGHT(104), EIGHT(112), EIGHT(120)
                 : "l"(a), "l"(b), "r"((int)adds));
}

// `data`: the A of each warpgroup, then B, in the order of shared memory. 8 rows (of B: columns) of 8 elements along
// K are a core matrix of 128 bytes; core matrices follow each other first along M or N, then along K.
extern "C" __global__ void __launch_bounds__(THREADS)
joules(const uint4* data, float4* check, unsigned turns)
{
    extern __shared__ __align__(128) uint4 shared[];
    for (int i = threadIdx.x; i < SHARED / 16; i += THREADS)
        shared[i] = data[i];
    asm volatile("fence.proxy.async;" ::: "memory");
    float sum[128] = {};
    const int warpgroup = threadIdx.x / 128;
    const unsigned long long a = descriptor(shared + warpgroup * SLICES * A_BYTES / 16, 64 * 16, 128);
    const unsigned long long b = descriptor(shared + WARPGROUPS * SLICES * A_BYTES / 16, 256 * 16, 128);
    __syncthreads();
    #pragma unroll 1
    for (unsigned turn = 0; turn < turns; ++turn) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int slice = 0; slice < SLICES; ++slice)
            wgmma(sum, a + (slice * A_BYTES >> 4), b + (slice * B_BYTES >> 4), slice > 0 || turn % TURNS_OF_SUM != 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");  // one turn stays in flight: no pause between turns
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    check[blockIdx.x * THREADS + threadIdx.x] = make_float4(sum[0], sum[1], sum[126], sum[127]);
}
