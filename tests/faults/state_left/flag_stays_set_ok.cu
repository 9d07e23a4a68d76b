// The correct twin of flag_stays_set.cu.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64]
__device__ unsigned done;
extern "C" __global__ void k(unsigned* out)
{
    if (threadIdx.x == 0) {
        if (done == 0)
            out[0] += 5;
        done = 0;
    }
}
