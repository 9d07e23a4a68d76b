// Assignment 12, faster: a kernel that is right, but whose tensor cores are idle most of the time.
// The counter to watch is the clock's prediction: `cargo run -p rung04_mma -- time --kernel my_kernel.cu --size 1408x1536x256`.
// `cargo ladder grade course/assignments/12_faster my_kernel.cu`.

// You may change all of these, including the tile.
constexpr int BM = 64, BN = 64, BK = 32;               // the block's tile of C, and its step along K
constexpr int WM = 16, WN = 32;                        // a warp's tile of C
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 256
constexpr int CHUNK = 8;                               // elements in 16 bytes: what a thread copies at once
constexpr int A_CHUNKS = BK / CHUNK;                   // chunks in a row of A's tile
constexpr int B_CHUNKS = BN / CHUNK;                   // chunks in a row of B's tile
constexpr int STAGE = BM * BK + BK * BN;               // elements of a tile of A and one of B
constexpr int SHARED = STAGE * 2;                      // bytes

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, SHARED, 1};

static_assert(BM * A_CHUNKS % THREADS == 0 && BK * B_CHUNKS % THREADS == 0, "each thread copies as many chunks as the others");

// Two elements of a column of B, from two rows of its tile.
__device__ unsigned pair(const unsigned short* b) { return b[0] | (unsigned)b[BN] << 16; }

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

// A is (M, K), B is (K, N), C is (M, N), all row-major f16.
extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    extern __shared__ __align__(128) unsigned short tiles[];

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I?
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warpRow = warp / (BN / WN) * WM, warpCol = warp % (BN / WN) * WN;

    // What do I copy? A chunk in some rows of each tile.
    const int aRow = threadIdx.x / A_CHUNKS, aChunk = threadIdx.x % A_CHUNKS;
    const int bRow = threadIdx.x / B_CHUNKS, bChunk = threadIdx.x % B_CHUNKS;
    A += tileRow * K + aChunk * CHUNK;
    B += tileCol + bChunk * CHUNK;

    float acc[WM / 16][WN / 8][4] = {};
    unsigned short* As = tiles;                        // (BM, BK)
    unsigned short* Bs = As + BM * BK;                 // (BK, BN)
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Load.
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS / A_CHUNKS)
            *(uint4*)&As[(aRow + i) * BK + aChunk * CHUNK] = *(const uint4*)&A[(aRow + i) * K + k0];
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS / B_CHUNKS)
            *(uint4*)&Bs[(bRow + i) * BN + bChunk * CHUNK] = *(const uint4*)&B[(k0 + bRow + i) * N];
    
        // Wait until the whole tile has been copied.
        __syncthreads();
    
        // Compute. A lane's pairs of A are in two rows and in columns 8 apart, its pairs of B in one column.
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            unsigned regA[WM / 16][4], regB[WN / 8][2];
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int row = warpRow + m * 16 + i % 2 * 8 + lane / 4;
                    regA[m][i] = *(const unsigned*)&As[row * BK + k + i / 2 * 8 + lane % 4 * 2];
                }
            #pragma unroll
            for (int n = 0; n < WN / 8; ++n)
                #pragma unroll
                for (int i = 0; i < 2; ++i)
                    regB[n][i] = pair(&Bs[(k + i * 8 + lane % 4 * 2) * BN + warpCol + n * 8 + lane / 4]);
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int n = 0; n < WN / 8; ++n)
                    mma(acc[m][n], regA[m], regB[n][0], regB[n][1]);
        }
    
        // Advance, once no thread reads the tile any more.
        __syncthreads();
    }

    // Store: a lane holds pairs of C in 2 rows of each 16.
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
