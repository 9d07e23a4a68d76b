// C = A B^T by mma.sync m16n8k16: tiles of 128x256, eight warps of 64x64, three stages of cp.async, swizzled rows of 64 bytes.
// cargo ladder emulate: --grid 8,16 --block 256 --shared 73728
//   --arg 'f16[2048,2048]=normal' --arg 'f16[2048,2048]=normal' --arg 'f32[2048,2048]=nan' --arg 2048
#include <cuda_fp16.h>
constexpr int BM = 128, BN = 256, BK = 32, WM = 64, WN = 64, THREADS = 256, STAGES = 3;

// A swizzle: rows of 4 chunks of 8 f16, permuted by the row, so that eight rows of a column of chunks are in different banks.
__device__ half* place(half* tile, int row, int k) { return tile + row * BK + ((k / 8 ^ row / 2) % 4) * 8; }
constexpr int ROW = BK;

__device__ unsigned shared_address(const void* at) { return (unsigned)__cvta_generic_to_shared(at); }

__device__ void ldmatrix(unsigned (&r)[4], const void* at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(at)) : "memory");
}

__device__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ void copy(void* to, const void* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(to)), "l"(from) : "memory");
}

__global__ void __launch_bounds__(THREADS) gemm(const half* a, const half* b, float* c, int n)
{
    extern __shared__ __align__(128) half shared[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = warp / (BN / WN) * WM, column = warp % (BN / WN) * WN;
    a += blockIdx.y * BM * n;
    b += blockIdx.x * BN * n;
    c += blockIdx.y * BM * n + blockIdx.x * BN;
    float sums[WM / 16][WN / 8][4] = {};
    auto load = [&](int step) {
        half* const tile_a = shared + step % STAGES * (BM + BN) * ROW;
        half* const tile_b = tile_a + BM * ROW;
        if (step * BK < n) {
            for (int i = threadIdx.x; i < BM * BK / 8; i += THREADS)
                copy(place(tile_a, i / (BK / 8), i % (BK / 8) * 8), a + i / (BK / 8) * n + step * BK + i % (BK / 8) * 8);
            for (int i = threadIdx.x; i < BN * BK / 8; i += THREADS)
                copy(place(tile_b, i / (BK / 8), i % (BK / 8) * 8), b + i / (BK / 8) * n + step * BK + i % (BK / 8) * 8);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int step = 0; step < STAGES - 1; ++step)
        load(step);
    for (int step = 0; step * BK < n; ++step) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
        load(step + STAGES - 1);
        half* const tile_a = shared + step % STAGES * (BM + BN) * ROW;
        half* const tile_b = tile_a + BM * ROW;
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            unsigned x[WM / 16][4], y[WN / 16][4];
            for (int m = 0; m < WM / 16; ++m)
                ldmatrix(x[m], place(tile_a, row + m * 16 + lane % 16, k + lane / 16 * 8));
            for (int j = 0; j < WN / 16; ++j)
                ldmatrix(y[j], place(tile_b, column + j * 16 + lane % 8 + lane / 16 * 8, k + lane / 8 % 2 * 8));
            for (int m = 0; m < WM / 16; ++m)
                for (int j = 0; j < WN / 8; ++j)
                    mma(sums[m][j], x[m], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
        }
    }
    for (int m = 0; m < WM / 16; ++m)
        for (int j = 0; j < WN / 8; ++j)
            for (int i = 0; i < 2; ++i)
                *(float2*)(c + (row + m * 16 + i * 8 + lane / 4) * n + column + j * 8 + lane % 4 * 2) = *(const float2*)&sums[m][j][2 * i];
}
