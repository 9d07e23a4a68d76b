// Assignment 04, another way: the transposed product, C^T = B^T A^T. The first operand, 16 x 16, comes from B's tile,
// and the second from A's, so that fragments have 16 columns of B and 8 rows of A.

// The grader also compiles other tiles.
#ifndef TILE_M
#define TILE_M 64
#define TILE_N 64
#define TILE_K 64
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // the block's tile of C, and its step along K
constexpr int WM = 32, WN = 32;                        // the warp's tile of C
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 128
constexpr int CHUNK = 8;                               // elements in 16 bytes: a copy, or a row of a matrix
constexpr int A_CHUNKS = BK / CHUNK, B_CHUNKS = BN / CHUNK;    // chunks in a row of the tiles
constexpr int LDA = BK + CHUNK, LDB = BN + CHUNK;      // elements from one row to the next: one chunk is padding

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

static_assert(A_CHUNKS % 8 == 0 && B_CHUNKS % 8 == 0, "eight lanes copy to eight groups of banks");
static_assert(THREADS % A_CHUNKS == 0 && THREADS % B_CHUNKS == 0, "the threads copy whole rows at a time");

// Starts a copy of 16 bytes from global to shared memory.
__device__ void copy_async(unsigned short* to, const unsigned short* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

// The first operand has n for its rows and k for its columns; the second k for its rows and m for its columns.
#ifndef BY_LDMATRIX

// The first operand, from 16 (k) x 16 (n) elements of B's tile: eight loads of 16 bits.
__device__ void load_b(unsigned (&b)[4], const unsigned short* tile)
{
    const int lane = threadIdx.x % 32, group = lane / 4, number = lane % 4;
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int k = number * 2 + r / 2 * 8, n = group + r % 2 * 8;
        b[r] = tile[k * LDB + n] | (unsigned)tile[(k + 1) * LDB + n] << 16;
    }
}

// The second operand, twice, from 8 (m) x 32 (k) elements of A's tile: four loads of 32 bits.
__device__ void load_a(unsigned (&a)[4], const unsigned short* tile)
{
    const int lane = threadIdx.x % 32, group = lane / 4, number = lane % 4;
    #pragma unroll
    for (int r = 0; r < 4; ++r)
        a[r] = *(const unsigned*)&tile[group * LDA + number * 2 + r * 8];
}

#else

// Four 8x8 matrices: lane l gives the address of row l % 8 of matrix l / 8, and receives two elements of row l / 4 of each.
__device__ void ldmatrix(unsigned (&r)[4], const unsigned short* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

// The same, each matrix transposed: a lane receives two elements of column l / 4.
__device__ void ldmatrix_trans(unsigned (&r)[4], const unsigned short* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

// The first operand: matrices 0 and 1 are side by side in the upper 8 rows of B's 16, matrices 2 and 3 below them.
__device__ void load_b(unsigned (&b)[4], const unsigned short* tile)
{
    const int lane = threadIdx.x % 32, row = lane % 8 + lane / 16 * 8, chunk = lane / 8 % 2;
    ldmatrix_trans(b, &tile[row * LDB + chunk * CHUNK]);
}

// The second operand, twice: four chunks of 8 rows of A.
__device__ void load_a(unsigned (&a)[4], const unsigned short* tile)
{
    const int lane = threadIdx.x % 32;
    ldmatrix(a, &tile[lane % 8 * LDA + lane / 8 * CHUNK]);
}

#endif

// c += a b for a (16, 16), b (16, 8), c (16, 8).
__device__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ unsigned short float_to_half(float f)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

// A is (M, K), B is (K, N), C is (M, N), all row-major f16. Two blocks share an SM:
// while one waits for its copies, the other computes.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    __shared__ __align__(128) unsigned short As[BM * LDA];     // (BM, BK), padded
    __shared__ __align__(128) unsigned short Bs[BK * LDB];     // (BK, BN), padded

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I? Four warps.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warpRow = warp / (BN / WN) * WM, warpCol = warp % (BN / WN) * WN;

    // What do I copy? A chunk in some rows of each tile.
    const int aRow = threadIdx.x / A_CHUNKS, aChunk = threadIdx.x % A_CHUNKS;
    const int bRow = threadIdx.x / B_CHUNKS, bChunk = threadIdx.x % B_CHUNKS;
    A += tileRow * K + aChunk * CHUNK;
    B += tileCol + bChunk * CHUNK;

    float acc[WN / 16][WM / 8][4] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Load.
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS / A_CHUNKS) {
            const int row = aRow + i;
            copy_async(&As[row * LDA + aChunk * CHUNK], A + row * K);
        }
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS / B_CHUNKS) {
            const int row = bRow + i;
            copy_async(&Bs[row * LDB + bChunk * CHUNK], B + row * N);
        }

        // Wait until the whole tile has been copied: first my copies, then those of all threads.
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();

        // Compute, 32 of K at a time: two products of 16, for which 32 columns of A are loaded at once.
        #pragma unroll
        for (int k = 0; k < BK; k += 32) {
            unsigned regA[WM / 8][4];
            #pragma unroll
            for (int m = 0; m < WM / 8; ++m)
                load_a(regA[m], &As[(warpRow + m * 8) * LDA + k]);
            #pragma unroll
            for (int half = 0; half < 2; ++half)
                #pragma unroll
                for (int n = 0; n < WN / 16; ++n) {
                    unsigned regB[4];
                    load_b(regB, &Bs[(k + half * 16) * LDB + warpCol + n * 16]);
                    #pragma unroll
                    for (int m = 0; m < WM / 8; ++m)
                        mma(acc[n][m], regB, regA[m][half * 2], regA[m][half * 2 + 1]);
                }
        }

        // Advance, once no thread reads the tile any more.
        A += BK;
        B += BK * N;
        __syncthreads();
    }

    // Store. A lane holds two neighbors of a column of C, and two of the column 8 to the right.
    C += (tileRow + warpRow + lane % 4 * 2) * N + tileCol + warpCol + lane / 4;
    #pragma unroll
    for (int n = 0; n < WN / 16; ++n)
        #pragma unroll
        for (int m = 0; m < WM / 8; ++m)
            #pragma unroll
            for (int e = 0; e < 4; ++e)
                C[(m * 8 + e % 2) * N + n * 16 + e / 2 * 8] = float_to_half(acc[n][m][e]);
}
