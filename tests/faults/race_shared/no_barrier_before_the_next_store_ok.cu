// The correct twin of no_barrier_before_the_next_store.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned tile[64];
    unsigned sum = 0;
    for (unsigned step = 0; step < 3; ++step) {
        tile[threadIdx.x] = threadIdx.x + step;
        __syncthreads();
        sum += tile[63 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
