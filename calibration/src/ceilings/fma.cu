// f32 multiply-adds of an SM per clock: independent chains of `fmaf`, and nothing else.
constexpr int CHAINS = 8, STEPS = 32;   // independent chains of a thread; steps of each in one turn of the loop
constexpr int THREADS = 1024;

// Threads of a block, and its work in each turn of the loop: multiply-adds.
extern "C" __constant__ int ceiling_work[] = {THREADS, THREADS * STEPS * CHAINS};

extern "C" __global__ void __launch_bounds__(THREADS)
ceiling(long long* clocks, float* check, uint4* data, unsigned bytes, unsigned skip, unsigned times)
{
    // Read from memory, so that the compiler cannot evaluate the chains.
    const float half = __uint_as_float(data->z), one = __uint_as_float(data->w);
    float real[CHAINS];
    for (int i = 0; i < CHAINS; ++i)
        real[i] = i;
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n)
        #pragma unroll
        for (int step = 0; step < STEPS; ++step)
            #pragma unroll
            for (int i = 0; i < CHAINS; ++i)
                real[i] = fmaf(real[i], half, one);
    __syncthreads();
    if (threadIdx.x == 0)
        clocks[blockIdx.x] = clock64() - start;
    float sum = 0;  // x / 2 + 1 converges to 2
    for (int i = 0; i < CHAINS; ++i)
        sum += real[i];
    check[blockIdx.x * blockDim.x + threadIdx.x] = sum / CHAINS;
}
