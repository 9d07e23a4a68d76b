// The last block is not whole.
// cargo ladder emulate: --grid 3 --block 32 --arg u32[80] --arg 80
extern "C" __global__ void k(unsigned* out, int n)
{
    const int i = blockIdx.x * 32 + threadIdx.x;
        out[i] = n - i; //~ ERROR Invalid __global__ write of size 4 bytes
}
