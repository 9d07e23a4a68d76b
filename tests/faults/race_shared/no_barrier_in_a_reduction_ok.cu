// The correct twin of no_barrier_in_a_reduction.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned sums[64];
    sums[threadIdx.x] = threadIdx.x;
    __syncthreads();
#pragma unroll 1
    for (unsigned half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[0] = sums[0];
}
