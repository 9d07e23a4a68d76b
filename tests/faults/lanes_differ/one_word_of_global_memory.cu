// All lanes store to one word, each its own value.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    out[0] = threadIdx.x; //~ ERROR which of them is kept is undefined
}
