// More blocks than one come to the fence.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64]
extern "C" __global__ void k(unsigned* out)
{
    if (threadIdx.x == 0 && blockIdx.x > 0) {
        out[32 + blockIdx.x] = 1;
        __threadfence(); //~ NOTE Never executed in this launch: a fence
    }
    out[threadIdx.x] = 1;
}
