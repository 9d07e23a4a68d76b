// The correct twin of one_word_of_shared_memory.cu.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    __shared__ unsigned value;
    value = 7;
    __syncthreads();
    out[threadIdx.x] = value;
}
