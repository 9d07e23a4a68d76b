// The first load precedes the wait.
// cargo ladder emulate: --grid 2 --block 32 --overlap --arg u32[64]=iota --arg u32[64]
#include "hopper.cuh"
extern "C" __global__ void k(const unsigned* in, unsigned* out)
{
    const unsigned i = blockIdx.x * 32 + threadIdx.x;
    const unsigned value = in[i]; //~ ERROR Access before griddepcontrol.wait: __global__ read
    wait_for_previous_launch();
    out[i] = value + 1;
}
