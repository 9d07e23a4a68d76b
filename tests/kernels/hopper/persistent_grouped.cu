// Persistent: 132 blocks take tiles of 128x256 in groups of 8 rows of tiles; two consumers, four stages.
// cargo ladder emulate: --grid 132 --block 384 --shared 197632
//   --arg 'map(bf16[4096,4096]=normal; box=128x64; swizzle=128)'
//   --arg 'map(bf16[4096,4096]=normal; box=256x64; swizzle=128)'
//   --arg 'bf16[4096,4096]=zeros' --arg 4096 --arg 4096
#include "tma_wgmma.cuh"
constexpr int BM = 128, BN = 256, BK = 64, STAGES = 4, STAGE = (BM + BN) * BK, GROUP = 8;

struct Place { int row, column; };

__device__ Place place(int tile, int rows, int columns)
{
    const int per_group = GROUP * columns, first = tile / per_group * GROUP, within = tile % per_group;
    const int height = min(GROUP, rows - first);
    return {(first + within % height) * BM, within / height * BN};
}

__global__ void __launch_bounds__(384)
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
    const int group = threadIdx.x / 128, rows = n / BM, columns = n / BN;
    int s = 0, parity = 0;
    if (group == 0) {
        give_registers<24>();
        if (threadIdx.x == 0)
            for (int tile = blockIdx.x; tile < rows * columns; tile += gridDim.x) {
                const Place at = place(tile, rows, columns);
                for (int step = 0; step < k / BK; ++step) {
                    wait(&empty[s], parity ^ 1);
                    bf16* const stage = shared + s * STAGE;
                    expect(&full[s], STAGE * sizeof(bf16));
                    load(stage, &a, &full[s], step * BK, at.row);
                    load(stage + BM * BK, &b, &full[s], step * BK, at.column);
                    if (++s == STAGES) { s = 0; parity ^= 1; }
                }
            }
    } else {
        take_registers<240>();
        const int row = (group - 1) * 64;
        float d[BN / 16][8];
        for (int tile = blockIdx.x; tile < rows * columns; tile += gridDim.x) {
            const Place at = place(tile, rows, columns);
            for (int step = 0; step < k / BK; ++step) {
                wait(&full[s], parity);
                const bf16* const stage = shared + s * STAGE;
                wgmma_begin();
                multiply<BN>(d, stage + row * BK, stage + BM * BK, step);
                wgmma_end();
                wgmma_wait<0>();
                if (threadIdx.x % 128 == 0)
                    arrive(&empty[s]);
                if (++s == STAGES) { s = 0; parity ^= 1; }
            }
            write<BN>(c + (size_t)(at.row + row) * n + at.column, n, d);
        }
    }
}
