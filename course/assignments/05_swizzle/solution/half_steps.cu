// A cheat: half of a step along K at a time leaves room for padding, so that no swizzle is needed.

#ifndef TILE_M
#define TILE_M 64
#define TILE_N 32
#define TILE_K 32
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = TILE_K;   // the block's tile of C, and its step along K
constexpr int HK = 16, LDA = 24, LDB = 40;
constexpr int WM = 32, WN = 16;                        // the warp's tile of C
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 128 for 64 rows
constexpr int CHUNK = 8;                               // elements in 16 bytes: a copy, or a row of a matrix
constexpr int ROW = 32;                                // elements in a row of any tile: 64 bytes
constexpr int CHUNKS = ROW / CHUNK;                    // chunks in such a row

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

static_assert(BK == ROW && BN == ROW, "the rows of A's, B's and C's tiles are equally long");
static_assert(BM * CHUNKS % THREADS == 0 && BK * CHUNKS % THREADS == 0, "the threads copy whole rows at a time");

// The position of a chunk: its first element, counted from the tile's. A's rows are padded to 48 bytes, the others to 80.
__device__ int placeA(int row, int chunk) { return row * LDA + chunk * CHUNK; }
__device__ int place(int row, int chunk) { return row * LDB + chunk * CHUNK; }

// Starts a copy of 16 bytes from global to shared memory.
__device__ void copy_async(unsigned short* to, const unsigned short* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

// Four 8x8 matrices: lane l gives the address of row l % 8 of matrix l / 8.
__device__ void ldmatrix(unsigned (&r)[4], const unsigned short* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

// The same, each matrix transposed: B's columns from row-major B.
__device__ void ldmatrix_trans(unsigned (&r)[4], const unsigned short* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

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
    __shared__ __align__(128) unsigned short tiles[BM * LDA + HK * LDB > BM * LDB ? BM * LDA + HK * LDB : BM * LDB];
    unsigned short* As = tiles;                        // (BM, HK), rows of LDA
    unsigned short* Bs = tiles + BM * LDA;             // (HK, BN), rows of LDB
    unsigned short* Cs = tiles;                        // (BM, BN), after the last use of A and B

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I? Two warps are side by side.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warpRow = warp / (BN / WN) * WM, warpCol = warp % (BN / WN) * WN;

    // What do I copy of B? The same chunk of every 32nd row: as many as the threads cover at a time.
    const int myRow = threadIdx.x / 32 * 8 + threadIdx.x % 8, myChunk = threadIdx.x / 8 % 4;
    A += tileRow * K;
    B += tileCol + myChunk * CHUNK;

    float acc[WM / 16][WN / 8][4] = {};
    for (int k0 = 0; k0 < K; k0 += HK) {
        // Load: eight rows of one chunk of A, then the other chunk of these rows, without conflicts.
        #pragma unroll
        for (int i = threadIdx.x; i < BM * 2; i += THREADS) {
            const int row = i / 16 * 8 + i % 8, chunk = i / 8 % 2;
            copy_async(&As[placeA(row, chunk)], A + row * K + chunk * CHUNK);
        }
        #pragma unroll
        for (int i = 0; i < HK; i += THREADS / CHUNKS) {
            const int row = myRow + i;
            if (row < HK) copy_async(&Bs[place(row, myChunk)], B + row * N);
        }

        // Wait until the whole tile has been copied: first my copies, then those of all threads.
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();

        // Compute. Lanes 0 to 15 give the row addresses of 16 x 8 elements, lanes 16 to 31 those of the next 8 columns.
        #pragma unroll
        for (int k = 0; k < HK; k += 16) {
            unsigned regA[WM / 16][4], regB[WN / 16][4];
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m) {
                const int row = warpRow + m * 16 + lane % 16, chunk = k / CHUNK + lane / 16;
                ldmatrix(regA[m], &As[placeA(row, chunk)]);
            }
            #pragma unroll
            for (int n = 0; n < WN / 16; ++n) {
                const int row = k + lane % 16, chunk = warpCol / CHUNK + n * 2 + lane / 16;
                ldmatrix_trans(regB[n], &Bs[place(row, chunk)]);
            }
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int n = 0; n < WN / 8; ++n)
                    mma(acc[m][n], regA[m], regB[n / 2][n % 2 * 2], regB[n / 2][n % 2 * 2 + 1]);
        }

        // Advance, once no thread reads the tile any more.
        A += HK;
        B += HK * N;
        __syncthreads();
    }

    // Store, through shared memory: a lane holds pairs of C in 8 rows, but writes 16 bytes of one row.
    #pragma unroll
    for (int m = 0; m < WM / 16; ++m)
        #pragma unroll
        for (int n = 0; n < WN / 8; ++n)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = warpRow + m * 16 + half * 8 + lane / 4, chunk = warpCol / CHUNK + n;
                *(unsigned*)&Cs[place(row, chunk) + lane % 4 * 2] =
                    float2_to_half2(acc[m][n][half * 2], acc[m][n][half * 2 + 1]);
            }
    __syncthreads();
    C += tileRow * N + tileCol + myChunk * CHUNK;
    #pragma unroll
    for (int i = 0; i < BM; i += THREADS / CHUNKS) {
        const int row = myRow + i;
        *(uint4*)&C[row * N] = *(const uint4*)&Cs[place(row, myChunk)];
    }
}
