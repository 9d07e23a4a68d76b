// Lanes of a warp do not run in lockstep.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned sums[32];
    sums[threadIdx.x] = threadIdx.x;
    __syncwarp();
    for (unsigned half = 16; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const unsigned other = sums[threadIdx.x + half]; //~ ERROR Race reported between
            sums[threadIdx.x] = sums[threadIdx.x] + other;
        }
    }
    __syncwarp();
    out[threadIdx.x] = sums[0];
}
