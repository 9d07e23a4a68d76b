// What every microbenchmark takes, and how it times its loop.
typedef unsigned long long u64;

// result: two numbers a block, its clocks and how many operations one of its warps did in them; sink: a word a thread, so that
// nothing is dropped as unused. What `data` (so many bytes), `step` and `times` mean, each kernel says.
#define PARAMETERS u64* result, unsigned* sink, unsigned* data, unsigned bytes, unsigned step, unsigned times

// After all threads of the block are done.
__device__ void finish(u64* result, unsigned* sink, long long start, u64 operations, unsigned value)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        result[2 * blockIdx.x] = clock64() - start;
        result[2 * blockIdx.x + 1] = operations;
    }
    sink[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
