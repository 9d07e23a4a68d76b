// The same with a tile of 128x128: two wgmmas of 64x128 for each 16 of K.
// cargo ladder emulate: --grid 32,32 --block 128 --shared 33792
//   --arg 'map(bf16[4096,4096]=normal; box=128x64; swizzle=128)'
//   --arg 'map(bf16[4096,4096]=normal; box=128x64; swizzle=128)'
//   --arg 'bf16[4096,4096]=zeros' --arg 4096 --arg 4096
#include "tma_wgmma.cuh"
constexpr int BM = 128, BN = 128, BK = 64;

__global__ void __launch_bounds__(128)
gemm(const __grid_constant__ Map a, const __grid_constant__ Map b, bf16* c, int n, int k)
{
    extern __shared__ __align__(1024) bf16 shared[];
    bf16 *const tile_a = shared, *const tile_b = tile_a + BM * BK;
    __shared__ uint64_t ready;
    if (threadIdx.x == 0) {
        init(&ready, 1);
        fence_init();
    }
    __syncthreads();
    float d[BM / 64][BN / 16][8] = {};
    for (int step = 0; step < k / BK; ++step) {
        if (threadIdx.x == 0) {
            expect(&ready, (BM + BN) * BK * sizeof(bf16));
            load(tile_a, &a, &ready, step * BK, blockIdx.y * BM);
            load(tile_b, &b, &ready, step * BK, blockIdx.x * BN);
        }
        wait(&ready, step & 1);
        wgmma_begin();
        #pragma unroll
        for (int m = 0; m < BM / 64; ++m)
            multiply<BN>(d[m], tile_a + m * 64 * BK, tile_b, 1);
        wgmma_end();
        wgmma_wait<0>();
        __syncthreads();
    }
    for (int m = 0; m < BM / 64; ++m)
        write<BN>(c + (size_t)(blockIdx.y * BM + m * 64) * n + blockIdx.x * BN, n, d[m]);
}
