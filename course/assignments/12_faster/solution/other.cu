// The next tile is held in registers while this one is multiplied; rows are padded, and C is stored through shared memory.

// You may change all of these, including the tile.
constexpr int BM = 64, BN = 128, BK = 32;              // the block's tile of C, and its step along K
constexpr int WM = 32, WN = 32;                        // a warp's tile of C
constexpr int A_ROW = BK + 8, B_ROW = BN + 8;          // elements in a row of a tile
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 256
constexpr int CHUNK = 8;                               // elements in 16 bytes: what a thread copies at once
constexpr int A_CHUNKS = BK / CHUNK;                   // chunks in a row of A's tile
constexpr int B_CHUNKS = BN / CHUNK;                   // chunks in a row of B's tile
constexpr int STAGE = BM * A_ROW + BK * B_ROW;         // elements of a tile of A and one of B
constexpr int SHARED = 2 * STAGE * 2;                  // bytes

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, SHARED, 1};

static_assert(BM * A_CHUNKS % THREADS == 0 && BK * B_CHUNKS % THREADS == 0, "each thread copies as many chunks as the others");
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
    constexpr int A_COPIES = BM * A_CHUNKS / THREADS, B_COPIES = BK * B_CHUNKS / THREADS;
    uint4 nextA[A_COPIES], nextB[B_COPIES];
    auto fetch = [&](int step) {
        #pragma unroll
        for (int i = 0; i < A_COPIES; ++i)
            nextA[i] = *(const uint4*)&A[(aRow + i * (THREADS / A_CHUNKS)) * K + step * BK];
        #pragma unroll
        for (int i = 0; i < B_COPIES; ++i)
            nextB[i] = *(const uint4*)&B[(step * BK + bRow + i * (THREADS / B_CHUNKS)) * N];
    };
    auto put = [&](int step) {
        unsigned short* As = tiles + step % 2 * STAGE;
        unsigned short* Bs = As + BM * A_ROW;
        #pragma unroll
        for (int i = 0; i < A_COPIES; ++i)
            *(uint4*)&As[(aRow + i * (THREADS / A_CHUNKS)) * A_ROW + aChunk * CHUNK] = nextA[i];
        #pragma unroll
        for (int i = 0; i < B_COPIES; ++i)
            *(uint4*)&Bs[(bRow + i * (THREADS / B_CHUNKS)) * B_ROW + bChunk * CHUNK] = nextB[i];
    };
    const int steps = K / BK;
    fetch(0);
    put(0);
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        if (step + 1 < steps)
            fetch(step + 1);
        const unsigned short* As = tiles + step % 2 * STAGE;
        const unsigned short* Bs = As + BM * A_ROW;
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            unsigned regA[WM / 16][4], regB[WN / 16][4];
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                ldmatrix(regA[m], &As[(warpRow + m * 16 + lane % 16) * A_ROW + k + lane / 16 * CHUNK]);
            #pragma unroll
            for (int n = 0; n < WN / 16; ++n)
                ldmatrix_trans(regB[n], &Bs[(k + lane % 16) * B_ROW + warpCol + (n * 2 + lane / 16) * CHUNK]);
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int n = 0; n < WN / 8; ++n)
                    mma(acc[m][n], regA[m], regB[n / 2][n % 2 * 2], regB[n / 2][n % 2 * 2 + 1]);
        }
        if (step + 1 < steps)
            put(step + 1);
        __syncthreads();
    }

    // Store, through shared memory.
    unsigned short* Cs = tiles;
    #pragma unroll
    for (int m = 0; m < WM / 16; ++m)
        #pragma unroll
        for (int n = 0; n < WN / 8; ++n)
            #pragma unroll
            for (int half = 0; half < 2; ++half)
                *(unsigned*)&Cs[(warpRow + m * 16 + half * 8 + lane / 4) * B_ROW + warpCol + n * 8 + lane % 4 * 2] =
                    float2_to_half2(acc[m][n][half * 2], acc[m][n][half * 2 + 1]);
    __syncthreads();
    C += tileRow * N + tileCol + bChunk * CHUNK;
    #pragma unroll
    for (int i = 0; i < BM; i += THREADS / B_CHUNKS)
        *(uint4*)&C[(bRow + i) * N] = *(const uint4*)&Cs[(bRow + i) * B_ROW + bChunk * CHUNK];
}
