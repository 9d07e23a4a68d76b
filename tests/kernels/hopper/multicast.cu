// A cluster of two blocks, one below the other: each loads half of the tile of B for both; 128x256, four stages.
// cargo ladder emulate: --grid 32,16 --block 384 --cluster 2 --shared 197632
//   --arg 'map(bf16[4096,4096]=normal; box=128x64; swizzle=128)'
//   --arg 'map(bf16[4096,4096]=normal; box=128x64; swizzle=128)'
//   --arg 'bf16[4096,4096]=zeros' --arg 4096 --arg 4096
#include "tma_wgmma.cuh"
constexpr int BM = 128, BN = 256, BK = 64, STAGES = 4, STAGE = (BM + BN) * BK, CLUSTER = 2;

__global__ void __launch_bounds__(384)
gemm(const __grid_constant__ Map a, const __grid_constant__ Map b, bf16* c, int n, int k)
{
    extern __shared__ __align__(1024) bf16 shared[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const int group = threadIdx.x / 128, rank = cluster_rank(), top = blockIdx.x * BM, left = blockIdx.y * BN;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            init(&full[s], 1);
            init(&empty[s], 2 * CLUSTER);
        }
        fence_init();
    }
    cluster_sync();
    int s = 0, parity = 0;
    if (group == 0) {
        give_registers<24>();
        if (threadIdx.x == 0)
            for (int step = 0; step < k / BK; ++step) {
                wait(&empty[s], parity ^ 1);
                bf16* const tile = shared + s * STAGE;
                expect(&full[s], STAGE * sizeof(bf16));
                load(tile, &a, &full[s], step * BK, top);
                load_multicast(tile + (BM + rank * BN / 2) * BK, &b, &full[s], step * BK, left + rank * BN / 2, 3);
                if (++s == STAGES) { s = 0; parity ^= 1; }
            }
    } else {
        take_registers<240>();
        const int row = (group - 1) * 64;
        float d[BN / 16][8] = {};
        for (int step = 0; step < k / BK; ++step) {
            wait(&full[s], parity);
            const bf16* const tile = shared + s * STAGE;
            wgmma_begin();
            multiply<BN>(d, tile + row * BK, tile + BM * BK, 1);
            wgmma_end();
            wgmma_wait<0>();
            if (threadIdx.x % 128 < CLUSTER)
                arrive_at(&empty[s], threadIdx.x % 128);
            if (++s == STAGES) { s = 0; parity ^= 1; }
        }
        write<BN>(c + (size_t)(top + row) * n + left, n, d);
    }
    cluster_sync();
}
