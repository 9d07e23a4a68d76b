// Wavefronts that shared memory serves per clock: contiguous loads of 16 bytes a lane take four wavefronts of 128
// bytes each (`shared_memory.csv`: 8 lanes in each).
constexpr int STEPS = 16;               // loads in one turn of the loop
constexpr int THREADS = 1024;

// Threads of a block, and its work in each turn of the loop: wavefronts.
extern "C" __constant__ int ceiling_work[] = {THREADS, THREADS / 32 * STEPS * 4};

extern "C" __global__ void __launch_bounds__(THREADS)
ceiling(long long* clocks, float* check, uint4* data, unsigned bytes, unsigned skip, unsigned times)
{
    __shared__ __align__(128) uint4 tile[THREADS];     // 16 bytes a thread
    tile[threadIdx.x] = make_uint4(1, 1, 1, 1);
    const unsigned place = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    unsigned sum = 0;
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n)
        #pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            uint4 got;
            asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w) : "r"(place));
            sum += got.x + got.y;
            sum += got.z + got.w;
        }
    __syncthreads();
    if (threadIdx.x == 0)
        clocks[blockIdx.x] = clock64() - start;
    check[blockIdx.x * blockDim.x + threadIdx.x] = (float)(sum / STEPS / 4);
}
