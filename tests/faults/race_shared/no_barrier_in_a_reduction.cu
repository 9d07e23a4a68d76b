// A tree reduction needs a barrier between its steps.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned sums[64];
    sums[threadIdx.x] = threadIdx.x;
    __syncthreads();
#pragma unroll 1
    for (unsigned half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half]; //~ ERROR Race reported between
    }
    if (threadIdx.x == 0)
        out[0] = sums[0];
}
