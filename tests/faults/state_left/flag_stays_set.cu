// What a flag says holds for one launch.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64]
__device__ unsigned done;
extern "C" __global__ void k(unsigned* out) //~ NOTE State left for the next launch: done
{
    if (threadIdx.x == 0) {
        if (done == 0)
            out[0] += 5;
        done = 1;
    }
}
