// The correct twin of one_word_of_global_memory.cu.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[256]
extern "C" __global__ void k(unsigned* out)
{
    out[0] = 7;
}
