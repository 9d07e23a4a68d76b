// Rows of 17 words are not aligned for vectors of 4.
// cargo ladder emulate: --grid 1 --block 64 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ alignas(16) unsigned tile[4 * 17];
    for (unsigned i = threadIdx.x; i < 4 * 17; i += 64)
        tile[i] = i;
    __syncthreads();
    const unsigned row = threadIdx.x % 4;
    const uint4 v = *reinterpret_cast<const uint4*>(&tile[row * 17]); //~ ERROR is misaligned
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
