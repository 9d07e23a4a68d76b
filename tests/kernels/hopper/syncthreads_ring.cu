// One warpgroup, 128x128, a ring of four stages; __syncthreads says that a stage is free, in place of an mbarrier.
// cargo ladder emulate: --grid 32,32 --block 128 --shared 132096
//   --arg 'map(bf16[4096,4096]=normal; box=128x64; swizzle=128)'
//   --arg 'map(bf16[4096,4096]=normal; box=128x64; swizzle=128)'
//   --arg 'bf16[4096,4096]=zeros' --arg 4096 --arg 4096
#include "tma_wgmma.cuh"
constexpr int BM = 128, BN = 128, BK = 64, STAGES = 4, STAGE = (BM + BN) * BK;

__global__ void __launch_bounds__(128)
gemm(const __grid_constant__ Map a, const __grid_constant__ Map b, bf16* c, int n, int k)
{
    extern __shared__ __align__(1024) bf16 shared[];
    __shared__ uint64_t full[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s)
            init(&full[s], 1);
        fence_init();
    }
    __syncthreads();
    const int steps = k / BK;
    auto fetch = [&](int step) {
        if (threadIdx.x != 0 || step >= steps)
            return;
        const int s = step % STAGES;
        bf16* const tile = shared + s * STAGE;
        expect(&full[s], STAGE * sizeof(bf16));
        load(tile, &a, &full[s], step * BK, blockIdx.y * BM);
        load(tile + BM * BK, &b, &full[s], step * BK, blockIdx.x * BN);
    };
    for (int s = 0; s < STAGES - 1; ++s)
        fetch(s);
    float d[BM / 64][BN / 16][8] = {};
    for (int step = 0; step < steps; ++step) {
        fetch(step + STAGES - 1);
        const int s = step % STAGES;
        wait(&full[s], step / STAGES & 1);
        const bf16* const tile = shared + s * STAGE;
        wgmma_begin();
        #pragma unroll
        for (int m = 0; m < BM / 64; ++m)
            multiply<BN>(d[m], tile + m * 64 * BK, tile + BM * BK, 1);
        wgmma_end();
        wgmma_wait<0>();
        __syncthreads();
    }
    for (int m = 0; m < BM / 64; ++m)
        write<BN>(c + (size_t)(blockIdx.y * BM + m * 64) * n + blockIdx.x * BN, n, d[m]);
}
