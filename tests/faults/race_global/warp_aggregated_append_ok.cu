// A warp reserves room for all of its elements at once, by an atomic.
// cargo ladder emulate: --grid 2 --block 64 --arg u32[128]=iota --arg u32[128] --arg u32[1]
extern "C" __global__ void k(const unsigned* in, unsigned* out, unsigned* count)
{
    const unsigned x = in[blockIdx.x * 64 + threadIdx.x];
    const unsigned votes = __ballot_sync(~0u, x % 3 == 0);
    const int lane = threadIdx.x % 32, leader = __ffs(votes) - 1;
    unsigned first = 0;
    if (lane == leader) {
        first = atomicAdd(count, __popc(votes));
    }
    first = __shfl_sync(~0u, first, leader);
    if (x % 3 == 0) out[first + __popc(votes & ((1u << lane) - 1))] = x;
}
