// Operations of `mma.sync` m16n8k16 per clock: operands stay in registers, accumulators are independent.
constexpr int CHAINS = 4, STEPS = 8;    // independent accumulators of a warp; products of each in one turn of the loop
constexpr int THREADS = 1024;

// Threads of a block, and its work in each turn of the loop: operations.
extern "C" __constant__ int ceiling_work[] = {THREADS, THREADS / 32 * STEPS * CHAINS * 16 * 8 * 16 * 2};

extern "C" __global__ void __launch_bounds__(THREADS)
ceiling(long long* clocks, float* check, uint4* data, unsigned bytes, unsigned skip, unsigned times)
{
    const unsigned ones = 0x3c003c00;   // two f16
    float sum[CHAINS][4] = {};
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n)
        #pragma unroll
        for (int step = 0; step < STEPS; ++step)
            #pragma unroll
            for (int i = 0; i < CHAINS; ++i)
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                             "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
                             : "+f"(sum[i][0]), "+f"(sum[i][1]), "+f"(sum[i][2]), "+f"(sum[i][3])
                             : "r"(ones));
    __syncthreads();
    if (threadIdx.x == 0)
        clocks[blockIdx.x] = clock64() - start;
    float all = 0;  // each product of ones adds 16
    for (int i = 0; i < CHAINS; ++i)
        for (int j = 0; j < 4; ++j)
            all += sum[i][j] / (STEPS * 16);
    check[blockIdx.x * blockDim.x + threadIdx.x] = all / (4 * CHAINS);
}
