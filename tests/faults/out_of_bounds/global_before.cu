// A stencil that reads before the first element.
// cargo ladder emulate: --grid 1 --block 32 --arg f32[32] --arg f32[32]
extern "C" __global__ void k(const float* in, float* out)
{
    const int i = threadIdx.x;
    out[i] = in[i - 1] + in[i]; //~ ERROR Invalid __global__ read of size 4 bytes
}
