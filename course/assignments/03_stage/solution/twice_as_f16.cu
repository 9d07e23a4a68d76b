// Both tiles as f16, each twice, for even and odd warps: as many bytes as f32, without transposing or converting.
#ifndef TILE_M
#define TILE_M 64
#define TILE_N 64
#define TILE_K 16
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // the block's tile of C, and its step along K
constexpr int TM = 8, TN = 8;                          // the thread's tile of C
constexpr int THREADS = (BM / TM) * (BN / TN);         // 64 or 128
constexpr int A_CHUNKS = BK / 8;                       // chunks of 8 elements in a row of A's tile

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

// One half of a pair, as a float.
__device__ float half_to_float(unsigned pair, int high)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((unsigned short)(pair >> high * 16)));
    return f;
}

__device__ unsigned short float_to_half(float f)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

// A is (M, K), B is (K, N), C is (M, N), all row-major f16.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    __shared__ uint4 As[2][BK / 8 * BM], Bs[2][BK * BN / 8];

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int threadRow = (lane & 1) + 2 * (lane >> 4) + 4 * warp;
    const int threadCol = (lane >> 1) % 8;                                 // 0 to 7

    A += tileRow * K;
    B += tileCol;

    auto at = [](int row, int c) { return c * BM + (row ^ c % 4 * (8 / A_CHUNKS)); };
    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = threadIdx.x; i < BM * A_CHUNKS; i += THREADS) {
            const int row = i / A_CHUNKS, c = i % A_CHUNKS;
            const uint4 a = *(const uint4*)&A[row * K + c * 8];
            As[0][at(row, c)] = a;
            As[1][at(row, c)] = a;
        }
        for (int i = threadIdx.x; i < BK * BN / 8; i += THREADS) {
            const uint4 b = *(const uint4*)&B[i / (BN / 8) * N + i % (BN / 8) * 8];
            Bs[0][i] = b;
            Bs[1][i] = b;
        }
        __syncthreads();
        const uint4* a16 = As[warp % 2];
        const uint4* b16 = Bs[warp % 2];
        #pragma unroll
        for (int c = 0; c < A_CHUNKS; ++c) {
            unsigned aw[TM][4];
            #pragma unroll
            for (int m = 0; m < TM; ++m) {
                const uint4 v = a16[at(threadRow + m * (BM / 8), c)];
                aw[m][0] = v.x, aw[m][1] = v.y, aw[m][2] = v.z, aw[m][3] = v.w;
            }
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const uint4 v = b16[(c * 8 + k) * 8 + threadCol];
                const unsigned bw[4] = {v.x, v.y, v.z, v.w};
                float b[8];
                #pragma unroll
                for (int n = 0; n < 8; ++n)
                    b[n] = half_to_float(bw[n / 2], n % 2);
                #pragma unroll
                for (int m = 0; m < TM; ++m) {
                    const float x = half_to_float(aw[m][k / 2], k % 2);
                    #pragma unroll
                    for (int n = 0; n < TN; ++n)
                        acc[m][n] = fmaf(x, b[n], acc[m][n]);
                }
            }
        }

        A += BK;
        B += BK * N;
        __syncthreads();
    }

    C += (tileRow + threadRow) * N + tileCol + threadCol * 8;
    #pragma unroll
    for (int m = 0; m < TM; ++m) {
        unsigned w[4];
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            w[i] = float_to_half(acc[m][2 * i]) | (unsigned)float_to_half(acc[m][2 * i + 1]) << 16;
        *(uint4*)&C[m * (BM / 8) * N] = make_uint4(w[0], w[1], w[2], w[3]);
    }
}
