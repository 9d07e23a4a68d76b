// The same without setmaxnreg.
// cargo ladder emulate: --grid 16,32 --block 384 --shared 148480
//   --arg 'map(bf16[4096,4096]=normal; box=128x64; swizzle=128)'
//   --arg 'map(bf16[4096,4096]=normal; box=256x64; swizzle=128)'
//   --arg 'bf16[4096,4096]=zeros' --arg 4096 --arg 4096
#include "tma_wgmma.cuh"
constexpr int BM = 128, BN = 256, BK = 64, STAGES = 3, STAGE = (BM + BN) * BK, CONSUMERS = 2, ROWS = BM / CONSUMERS;

__global__ void __launch_bounds__(128 * (1 + CONSUMERS))
gemm(const __grid_constant__ Map a, const __grid_constant__ Map b, bf16* c, int n, int k)
{
    extern __shared__ __align__(1024) bf16 shared[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            init(&full[s], 1);
            init(&empty[s], 2);
        }
        fence_init();
    }
    __syncthreads();
    const int group = threadIdx.x / 128;
    int s = 0, parity = 0;
    if (group == 0) {
        if (threadIdx.x == 0)
            for (int step = 0; step < k / BK; ++step) {
                wait(&empty[s], parity ^ 1);
                bf16* const tile = shared + s * STAGE;
                expect(&full[s], STAGE * sizeof(bf16));
                load(tile, &a, &full[s], step * BK, blockIdx.y * BM);
                load(tile + BM * BK, &b, &full[s], step * BK, blockIdx.x * BN);
                if (++s == STAGES) { s = 0; parity ^= 1; }
            }
    } else {
        const int row = (group - 1) * ROWS;
        float d[ROWS / 64][BN / 16][8] = {};
        for (int step = 0; step < k / BK; ++step) {
            wait(&full[s], parity);
            const bf16* const tile = shared + s * STAGE;
            wgmma_begin();
            #pragma unroll
            for (int m = 0; m < ROWS / 64; ++m)
                multiply<BN>(d[m], tile + (row + m * 64) * BK, tile + BM * BK, 1);
            wgmma_end();
            wgmma_wait<0>();
            if (threadIdx.x % 128 == 0)
                arrive(&empty[s]);
            if (++s == STAGES) { s = 0; parity ^= 1; }
        }
        for (int m = 0; m < ROWS / 64; ++m)
            write<BN>(c + (size_t)(blockIdx.y * BM + row + m * 64) * n + blockIdx.x * BN, n, d[m]);
    }
}
