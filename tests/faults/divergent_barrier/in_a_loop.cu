// Lanes leave the loop at different trips.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned i = 0; i < 4 + threadIdx.x % 2; ++i) {
        __syncthreads(); //~ ERROR Barrier error detected. Divergent thread(s) in warp
        sum += i;
    }
    out[threadIdx.x] = sum;
}
