// Persistent, with C written by TMA from shared memory while the next tile is multiplied, one group of wgmma in flight.
// cargo ladder emulate: --grid 132 --block 384 --shared 214016
//   --arg 'map(bf16[4096,4096]=normal; box=128x64; swizzle=128)'
//   --arg 'map(bf16[4096,4096]=normal; box=256x64; swizzle=128)'
//   --arg 'map(bf16[4096,4096]=zeros; box=64x64; swizzle=128)' --arg 4096 --arg 4096
#include "tma_wgmma.cuh"
constexpr int BM = 128, BN = 256, BK = 64, STAGES = 3, STAGE = (BM + BN) * BK;

__global__ void __launch_bounds__(384)
gemm(const __grid_constant__ Map a, const __grid_constant__ Map b, const __grid_constant__ Map c, int n, int k)
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
    const int group = threadIdx.x / 128, lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    const int columns = n / BN, tiles = n / BM * columns;
    int s = 0, parity = 0;
    if (group == 0) {
        give_registers<24>();
        if (threadIdx.x == 0)
            for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
                for (int step = 0; step < k / BK; ++step) {
                    wait(&empty[s], parity ^ 1);
                    bf16* const stage = shared + s * STAGE;
                    expect(&full[s], STAGE * sizeof(bf16));
                    load(stage, &a, &full[s], step * BK, tile / columns * BM);
                    load(stage + BM * BK, &b, &full[s], step * BK, tile % columns * BN);
                    if (++s == STAGES) { s = 0; parity ^= 1; }
                }
    } else {
        take_registers<240>();
        const int row = (group - 1) * 64;
        bf16* const out = shared + STAGES * STAGE + row * BN;
        float d[BN / 16][8];
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            int before = -1;
            for (int step = 0; step < k / BK; ++step) {
                wait(&full[s], parity);
                const bf16* const stage = shared + s * STAGE;
                wgmma_begin();
                multiply<BN>(d, stage + row * BK, stage + BM * BK, step);
                wgmma_end();
                wgmma_wait<1>();
                if (before >= 0 && threadIdx.x % 128 == 0)
                    arrive(&empty[before]);
                before = s;
                if (++s == STAGES) { s = 0; parity ^= 1; }
            }
            wgmma_wait<0>();
            if (threadIdx.x % 128 == 0) {
                arrive(&empty[before]);
                store_wait();
            }
            bar(group, 128);
            // Panels of 64 columns; rows of 128 bytes, whose 16-byte pieces are swizzled.
            #pragma unroll
            for (int q = 0; q < BN / 16; ++q)
                #pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int r = warp * 16 + lane / 4 + i % 2 * 8, piece = (q % 4 * 2 + i / 2) ^ (r & 7);
                    *(__nv_bfloat162*)(out + q / 4 * 64 * 64 + r * 64 + piece * 8 + lane % 4 * 2) =
                        __floats2bfloat162_rn(d[q][2 * i], d[q][2 * i + 1]);
                }
            fence_async();
            bar(group, 128);
            if (threadIdx.x % 128 == 0) {
                for (int panel = 0; panel < BN / 64; ++panel)
                    store(&c, out + panel * 64 * 64, tile % columns * BN + panel * 64, tile / columns * BM + row);
                store_commit();
            }
        }
        if (threadIdx.x % 128 == 0)
            store_wait();
    }
}
