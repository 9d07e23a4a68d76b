// The same on tensor cores: fragments straight from global memory, in whole sectors.

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;
constexpr int WN = 16;                                 // columns of C of a warp, for two products
constexpr int THREADS = BN / WN * 32;

extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

__device__ unsigned float2_to_half2(float low, float high)
{
    unsigned h;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(high), "f"(low));
    return h;
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    const int rowTiles = M / BM, lane = threadIdx.x % 32, group = lane / 4, number = lane % 4;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int warpCol = blockIdx.x / rowTiles * BN + threadIdx.x / 32 * WN;

    float acc[2][4] = {};
    for (int k = 0; k < K; k += 16) {
        // The order of the sum is free: a lane takes four neighbors along K of A, and these rows of two neighboring columns of B.
        const unsigned short* a = &A[(tileRow + group) * K + k + number * 4];
        const uint2 upper = *(const uint2*)a, lower = BM == 16 ? *(const uint2*)(a + 8 * K) : make_uint2(0, 0);
        unsigned b[4];
        for (int i = 0; i < 4; ++i)
            b[i] = *(const unsigned*)&B[(k + number * 4 + i) * N + warpCol + group * 2];
        for (int n = 0; n < 2; ++n) {
            const unsigned half = n ? 0x7632 : 0x5410;
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(acc[n][0]), "+f"(acc[n][1]), "+f"(acc[n][2]), "+f"(acc[n][3])
                         : "r"(upper.x), "r"(lower.x), "r"(upper.y), "r"(lower.y),
                           "r"(__byte_perm(b[0], b[1], half)), "r"(__byte_perm(b[2], b[3], half)));
        }
    }

    // The first product has the even columns, the second one the odd ones.
    for (int r = 0; r < BM / 8; ++r)
        *(uint2*)&C[(tileRow + group + r * 8) * N + warpCol + number * 4] = make_uint2(
            float2_to_half2(acc[0][2 * r], acc[1][2 * r]), float2_to_half2(acc[0][2 * r + 1], acc[1][2 * r + 1]));
}
