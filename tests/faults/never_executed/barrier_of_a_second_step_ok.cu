// The correct twin of barrier_of_a_second_step.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256] --arg 2
extern "C" __global__ void k(unsigned* out, int steps)
{
    __shared__ unsigned tile[64];
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        if (step > 0)
            __syncthreads();
        tile[threadIdx.x] = step;
        __syncthreads();
        out[threadIdx.x] = tile[63 - threadIdx.x];
    }
}
