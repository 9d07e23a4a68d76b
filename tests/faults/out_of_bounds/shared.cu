// Less dynamic shared memory than threads use.
// cargo ladder emulate: --grid 1 --block 64 --shared 128 --arg u32[64]
extern "C" __global__ void k(unsigned* out)
{
    extern __shared__ unsigned tile[];
    const unsigned i = threadIdx.x;
    tile[i] = i; //~ ERROR Invalid __shared__ write of size 4 bytes
    __syncthreads();
    out[threadIdx.x] = tile[i];
}
