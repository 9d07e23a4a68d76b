// Assignment 04, fragments: the operands of `mma.sync` are loaded from shared memory to registers, first by ordinary
// loads, each lane its own elements, then (if BY_LDMATRIX is defined) by `ldmatrix`. The counter to watch is
// executions: wavefronts are ideal both ways, if every lane accesses the right words. `cargo ladder grade
// course/assignments/04_fragments my_kernel.cu`.

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

// Lane l is number l % 4 in group l / 4; the PTX ISA, "Matrix Fragments for mma.m16n8k16", calls these
// threadID_in_group and groupID. A register holds two f16, the one with the smaller k in its lower half.
//   a[0]: row groupID of A, columns 2 threadID_in_group and the next    a[2]: the same row, 8 columns further
//   a[1]: row groupID + 8, the same columns as a[0]                     a[3]: row groupID + 8, the same columns as a[2]
//   b[0]: rows 2 threadID_in_group and the next of B, column groupID    b[1]: the same column, 8 rows further
// `mma.sync` takes 16 rows of B. load_b loads 32, for two of them: b[2] and b[3] are 16 and 24 rows below b[0].
#ifndef BY_LDMATRIX

// A's fragment, from 16 x 16 elements of its tile that begin at `tile`: four loads of 32 bits.
__device__ void load_a(unsigned (&a)[4], const unsigned short* tile)
{
    //: solution
    const int lane = threadIdx.x % 32, group = lane / 4, number = lane % 4;
    #pragma unroll
    for (int r = 0; r < 4; ++r)
        a[r] = *(const unsigned*)&tile[(group + r % 2 * 8) * LDA + number * 2 + r / 2 * 8];
    //: starter
    //| // Your task.
    //| a[0] = a[1] = a[2] = a[3] = 0;
    //: end
}

// B's, from 32 x 8 elements of its tile: eight loads of 16 bits, since two neighbors along K are in different rows.
__device__ void load_b(unsigned (&b)[4], const unsigned short* tile)
{
    //: solution
    const int lane = threadIdx.x % 32, group = lane / 4, number = lane % 4;
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        const unsigned short* low = &tile[(number * 2 + r * 8) * LDB + group];
        b[r] = low[0] | (unsigned)low[LDB] << 16;
    }
    //: starter
    //| // Your task.
    //| b[0] = b[1] = b[2] = b[3] = 0;
    //: end
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

// A's fragment, from 16 x 16 elements of its tile that begin at `tile`.
__device__ void load_a(unsigned (&a)[4], const unsigned short* tile)
{
    //: solution
    // Matrices 0 and 1 are the left chunks of 16 rows, 2 and 3 the right ones.
    const int lane = threadIdx.x % 32;
    ldmatrix(a, &tile[lane % 16 * LDA + lane / 16 * CHUNK]);
    //: starter
    //| // Your task: which row's address does my lane give? Here all lanes give the first.
    //| ldmatrix(a, tile);
    //: end
}

// B's, from 32 x 8 elements of its tile, for two `mma.sync`.
__device__ void load_b(unsigned (&b)[4], const unsigned short* tile)
{
    //: solution
    // Four matrices, one below the other: each lane gives the address of its own row.
    const int lane = threadIdx.x % 32;
    ldmatrix_trans(b, &tile[lane * LDB]);
    //: starter
    //| // Your task.
    //| ldmatrix(b, tile);
    //: end
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

__device__ unsigned float2_to_half2(float low, float high)
{
    unsigned h;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(high), "f"(low));
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

    float acc[WM / 16][WN / 8][4] = {};
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

        // Compute, 32 of K at a time: two products of 16, for which 32 rows of B are loaded at once.
        #pragma unroll
        for (int k = 0; k < BK; k += 32) {
            unsigned regB[WN / 8][4];
            #pragma unroll
            for (int n = 0; n < WN / 8; ++n)
                load_b(regB[n], &Bs[k * LDB + warpCol + n * 8]);
            #pragma unroll
            for (int half = 0; half < 2; ++half)
                #pragma unroll
                for (int m = 0; m < WM / 16; ++m) {
                    unsigned regA[4];
                    load_a(regA, &As[(warpRow + m * 16) * LDA + k + half * 16]);
                    #pragma unroll
                    for (int n = 0; n < WN / 8; ++n)
                        mma(acc[m][n], regA, regB[n][half * 2], regB[n][half * 2 + 1]);
                }
        }

        // Advance, once no thread reads the tile any more.
        A += BK;
        B += BK * N;
        __syncthreads();
    }

    // Store. C's fragment is laid out like A's: a lane holds two neighbors of a row, and two of the row 8 below.
    C += (tileRow + warpRow + lane / 4) * N + tileCol + warpCol + lane % 4 * 2;
    #pragma unroll
    for (int m = 0; m < WM / 16; ++m)
        #pragma unroll
        for (int n = 0; n < WN / 8; ++n)
            #pragma unroll
            for (int half = 0; half < 2; ++half)
                *(unsigned*)&C[(m * 16 + half * 8) * N + n * 8] =
                    float2_to_half2(acc[m][n][half * 2], acc[m][n][half * 2 + 1]);
}
