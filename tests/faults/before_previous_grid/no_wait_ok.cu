// The correct twin of no_wait.cu.
// cargo ladder emulate: --grid 2 --block 32 --overlap --arg u32[64]=iota --arg u32[64]
#include "hopper.cuh"
extern "C" __global__ void k(const unsigned* in, unsigned* out)
{
    const unsigned i = blockIdx.x * 32 + threadIdx.x;
    wait_for_previous_launch();
    const unsigned value = in[i];
    out[i] = value + 1;
}
