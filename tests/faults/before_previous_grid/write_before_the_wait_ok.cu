// The correct twin of write_before_the_wait.cu.
// cargo ladder emulate: --grid 2 --block 32 --overlap --arg u32[64]=iota --arg u32[64]
#include "hopper.cuh"
extern "C" __global__ void k(const unsigned* in, unsigned* out)
{
    const unsigned i = blockIdx.x * 32 + threadIdx.x;
    wait_for_previous_launch();
    out[i] = 0;
    out[i] += in[i];
}
