// The correct twin of shared.cu.
// cargo ladder emulate: --grid 1 --block 64 --shared 256 --arg u32[64]
extern "C" __global__ void k(unsigned* out)
{
    extern __shared__ unsigned tile[];
    const unsigned i = threadIdx.x;
    tile[i] = i;
    __syncthreads();
    out[threadIdx.x] = tile[i];
}
