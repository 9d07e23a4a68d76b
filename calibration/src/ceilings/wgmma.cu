// Operations of `wgmma` m64n256k16 per clock, both operands in shared memory: the widest shape, so that reading
// operands (80 wavefronts for 128 clocks' work) does not limit it. Needs sm_90a.
constexpr int STEPS = 8;                // products in one turn of the loop
constexpr int A_BYTES = 64 * 16 * 2, B_BYTES = 256 * 16 * 2;
constexpr int THREADS = 256;

// Threads of a block, and its work in each turn of the loop: operations.
extern "C" __constant__ int ceiling_work[] = {THREADS, THREADS / 128 * STEPS * 64 * 256 * 16 * 2};

#define EIGHT(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), \
                 "+f"(sum[i + 4]), "+f"(sum[i + 5]), "+f"(sum[i + 6]), "+f"(sum[i + 7])

// A descriptor without swizzle: address, and the strides of core matrices along K and along M or N.
__device__ unsigned long long descriptor(const void* tile, unsigned long long along_k, unsigned long long along_mn)
{
    const unsigned long long address = __cvta_generic_to_shared(tile);
    return (address & 0x3ffff) >> 4 | along_k >> 4 << 16 | along_mn >> 4 << 32;
}

__device__ void wgmma(float (&sum)[128], unsigned long long a, unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
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
                 "}, %128, %129, 1, 1, 1, 0, 0;"
                 : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56),
                   EIGHT(64), EIGHT(72), EIGHT(80), EIGHT(88), EIGHT(96), EIGHT(104), EIGHT(112), EIGHT(120)
                 : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(THREADS)
ceiling(long long* clocks, float* check, uint4* data, unsigned bytes, unsigned skip, unsigned times)
{
    __shared__ __align__(128) unsigned tile[(A_BYTES + B_BYTES) / 4];
    for (int i = threadIdx.x; i < (A_BYTES + B_BYTES) / 4; i += blockDim.x)
        tile[i] = 0x3c003c00;           // two f16, each 1
    asm volatile("fence.proxy.async;" ::: "memory");
    float sum[128] = {};
    const unsigned long long a = descriptor(tile, 64 * 16, 128), b = descriptor(tile + A_BYTES / 4, 256 * 16, 128);
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int step = 0; step < STEPS; ++step)
            wgmma(sum, a, b);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0)
        clocks[blockIdx.x] = clock64() - start;
    float all = 0;  // each product of ones adds 16
    for (int i = 0; i < 128; ++i)
        all += sum[i] / (STEPS * 16);
    check[blockIdx.x * blockDim.x + threadIdx.x] = all / 128;
}
