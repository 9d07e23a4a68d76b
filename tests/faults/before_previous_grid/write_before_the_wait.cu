// The previous launch may still read what this one overwrites.
// cargo ladder emulate: --grid 2 --block 32 --overlap --arg u32[64]=iota --arg u32[64]
#include "hopper.cuh"
extern "C" __global__ void k(const unsigned* in, unsigned* out)
{
    const unsigned i = blockIdx.x * 32 + threadIdx.x;
    out[i] = 0; //~ ERROR Access before griddepcontrol.wait: __global__ write
    wait_for_previous_launch();
    out[i] += in[i];
}
