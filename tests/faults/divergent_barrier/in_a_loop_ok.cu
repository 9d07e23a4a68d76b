// The correct twin of in_a_loop.cu.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned i = 0; i < 4; ++i) {
        __syncthreads();
        sum += i;
    }
    out[threadIdx.x] = sum;
}
