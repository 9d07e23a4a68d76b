// A running sum over all blocks: each waits for the sum of the block before it, in a loop that polls a flag.
// cargo ladder emulate: --grid 1024 --block 256
//   --arg 'f32[262144]=normal' --arg 'f32[262144]=zeros' --arg 'f32[1024]=zeros' --arg 'u32[1024]=zeros'
__global__ void scan(const float* in, float* out, float* sums, volatile unsigned* ready)
{
    __shared__ float values[256];
    __shared__ float before;
    const int t = threadIdx.x, at = blockIdx.x * 256 + t;
    values[t] = in[at];
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        const float other = t >= step ? values[t - step] : 0;
        __syncthreads();
        values[t] += other;
        __syncthreads();
    }
    if (t == 0) {
        before = 0;
        if (blockIdx.x > 0) {
            while (ready[blockIdx.x - 1] == 0) {}
            __threadfence();
            before = ((volatile float*)sums)[blockIdx.x - 1];
        }
        ((volatile float*)sums)[blockIdx.x] = before + values[255];
        __threadfence();
        ready[blockIdx.x] = 1;
    }
    __syncthreads();
    out[at] = values[t] + before;
}
