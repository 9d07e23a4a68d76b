// Warp instructions that an SM issues per clock. One pipe alone does not keep four schedulers busy with integers (64
// lanes per clock), so integer operations alternate with f32 ones (128 lanes).
constexpr int CHAINS = 8, STEPS = 16;   // independent chains of a thread; steps of each in one turn of the loop
constexpr int THREADS = 1024;

// Threads of a block, and its work in each turn of the loop: warp instructions.
extern "C" __constant__ int ceiling_work[] = {THREADS, THREADS / 32 * STEPS * CHAINS * 2};

extern "C" __global__ void __launch_bounds__(THREADS)
ceiling(long long* clocks, float* check, uint4* data, unsigned bytes, unsigned skip, unsigned times)
{
    // Read from memory, so that the compiler cannot evaluate the chains.
    const unsigned* words = (const unsigned*)data;
    const unsigned add = words[0], flip = words[1];
    const float half = __uint_as_float(words[2]), one = __uint_as_float(words[3]);
    unsigned whole[CHAINS];
    float real[CHAINS];
    for (int i = 0; i < CHAINS; ++i) {
        whole[i] = threadIdx.x + i;
        real[i] = i;
    }
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n)
        #pragma unroll
        for (int step = 0; step < STEPS; ++step)
            #pragma unroll
            for (int i = 0; i < CHAINS; ++i) {
                whole[i] = step % 2 ? whole[i] ^ flip : whole[i] + add;
                real[i] = fmaf(real[i], half, one);
            }
    __syncthreads();
    if (threadIdx.x == 0)
        clocks[blockIdx.x] = clock64() - start;
    // x / 2 + 1 converges to 2. The integers only have to be used.
    float sum = 0;
    unsigned all = 0;
    for (int i = 0; i < CHAINS; ++i) {
        sum += real[i];
        all |= whole[i];
    }
    check[blockIdx.x * blockDim.x + threadIdx.x] = all == 0x12345678 ? 0 : sum / CHAINS;
}
