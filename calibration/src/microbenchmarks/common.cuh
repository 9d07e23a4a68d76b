// The parameters of every microbenchmark, and how it times its loop.
typedef unsigned long long u64;

// result: two numbers for each block, its clocks and the operations of one of its warps in that time; sink: a word
// for each thread, so that no result is dropped as unused. Each kernel defines the meaning of `data` (`bytes` bytes),
// `step` and `times`.
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

// The same, with the clocks of one warp alone: number `nth` of the first scheduler.
__device__ void finish_warp(u64* result, unsigned* sink, long long start, u64 operations, unsigned nth, unsigned value)
{
    const long long end = clock64();
    if (threadIdx.x == nth * 128) {
        result[2 * blockIdx.x] = end - start;
        result[2 * blockIdx.x + 1] = operations;
    }
    sink[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
