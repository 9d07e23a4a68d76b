// A loop of one step, in which nothing is known of the barrier before the second.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256] --arg 1
extern "C" __global__ void k(unsigned* out, int steps)
{
    __shared__ unsigned tile[64];
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        if (step > 0)
            __syncthreads(); //~ NOTE Never executed in this launch: a barrier
        tile[threadIdx.x] = step;
        __syncthreads();
        out[threadIdx.x] = tile[63 - threadIdx.x];
    }
}
