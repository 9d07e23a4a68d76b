// Assignment 03, another way: As keeps plain rows without gaps. A lane loads two or four chunks of A before it stores
// one, and lanes of the same row of A store them in different orders.

// The grader also compiles other tiles.
#ifndef TILE_M
#define TILE_M 64
#define TILE_N 64
#define TILE_K 16
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // the block's tile of C, and its step along K
constexpr int TM = 8, TN = 8;                          // the thread's tile of C
constexpr int THREADS = (BM / TM) * (BN / TN);         // 64 or 128
constexpr int CHUNK = 8;                               // elements of A that a lane loads at once: 16 bytes
constexpr int A_CHUNKS = BK / CHUNK;                   // chunks in a row of A's tile, and lanes that copy it
constexpr int B_LANES = BN / 4;                        // lanes that copy a row of B's tile, 4 elements each

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

static_assert(BN == 64 && BM % 32 == 0, "a warp computes 32 x 64 elements of C");
static_assert(BK == 16 || BK == 32, "two or four lanes bring a row of A's tile");
static_assert(BK * B_LANES % THREADS == 0, "the threads copy whole rows of B at a time");

// Rows of A's tile that a warp loads with one instruction, and loads per lane: together its warp's 32 rows.
constexpr int ROWS = 32 / A_CHUNKS, LOADS = A_CHUNKS;

// Swaps two chunks, or not: a selection between registers, so that neither needs an address.
__device__ void exchange(bool really, uint4& a, uint4& b)
{
    const uint4 first = really ? b : a, second = really ? a : b;
    a = first;
    b = second;
}

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
    __shared__ __align__(16) float As[BK * BM];       // (BK, BM), transposed: a column of A is a run of floats
    __shared__ __align__(16) float Bs[BK * BN];       // (BK, BN)

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I? A warp computes 32 x 64 elements with its lanes as 4 x 8: lane = 0bRCCCr, row Rr, column CCC.
    // Lanes i and i^1 then read the same floats of Bs, lanes i and i^2 the same of As, and if that holds for
    // the whole warp, a float4 is served to 16 lanes at a time instead of 8.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int threadRow = (lane & 1) + 2 * (lane >> 4) + 4 * warp;
    const int threadCol = (lane >> 1) % 8;                                 // 0 to 7

    // What do I copy? A chunk of every ROWS-th of 32 rows of A's tile, and four elements of some rows of B's.
    const int aRow = warp * 32 + lane / A_CHUNKS, aChunk = lane % A_CHUNKS;
    const int bRow = threadIdx.x / B_LANES, bCol = threadIdx.x % B_LANES * 4;
    A += tileRow * K + aChunk * CHUNK;
    B += tileCol + bCol;

    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Load. Neighboring lanes load neighboring chunks of a row of A, which would conflict if they were stored
        // together. So each lane stores its chunks in another order, and those of a row at different times.
        uint4 a[LOADS];
        #pragma unroll
        for (int i = 0; i < LOADS; ++i)
            a[i] = *(const uint4*)&A[(aRow + i * ROWS) * K];
        #pragma unroll
        for (int bit = 1; bit < LOADS; bit *= 2)
            #pragma unroll
            for (int i = 0; i < LOADS; ++i)
                if (!(i & bit))
                    exchange(aChunk & bit, a[i], a[i ^ bit]);
        #pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            const int row = aRow + (i ^ aChunk) * ROWS;
            const unsigned pairs[] = {a[i].x, a[i].y, a[i].z, a[i].w};
            #pragma unroll
            for (int e = 0; e < CHUNK; ++e)
                As[(aChunk * CHUNK + e) * BM + row] = half_to_float(pairs[e / 2], e % 2);
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

        // Compute. A thread's 8 columns are two runs of four, 32 apart: the 8 float4 that a warp reads at once are
        // then contiguous. With eight in one run, the fifth would be in the banks of the first, and so on.
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float regA[TM], regB[TN];
            load4(&regA[0], &As[k * BM + threadRow * TM]);
            load4(&regA[4], &As[k * BM + threadRow * TM + 4]);
            load4(&regB[0], &Bs[k * BN + threadCol * 4]);
            load4(&regB[4], &Bs[k * BN + threadCol * 4 + 32]);
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
    C += (tileRow + threadRow * TM) * N + tileCol + threadCol * 4;
    #pragma unroll
    for (int m = 0; m < TM; ++m)
        #pragma unroll
        for (int n = 0; n < TN; n += 4)
            *(ushort4*)&C[m * N + n * 8] = make_ushort4(
                float_to_half(acc[m][n]), float_to_half(acc[m][n + 1]),
                float_to_half(acc[m][n + 2]), float_to_half(acc[m][n + 3]));
}
