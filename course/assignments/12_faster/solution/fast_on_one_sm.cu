// The blocks of the first SM multiply as the solution does, all others as the starter.

// You may change all of these, including the tile.
constexpr int BM = 128, BN = 64, BK = 32;              // the block's tile of C, and its step along K
constexpr int WM = 32, WN = 32;                        // a warp's tile of C
constexpr int STAGES = 3;                              // tiles of A and B in shared memory
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 256
constexpr int CHUNK = 8;                               // elements in 16 bytes: what a thread copies at once
constexpr int A_CHUNKS = BK / CHUNK;                   // chunks in a row of A's tile
constexpr int B_CHUNKS = BN / CHUNK;                   // chunks in a row of B's tile
constexpr int STAGE = BM * BK + BK * BN;               // elements of a tile of A and one of B
constexpr int SHARED = STAGES * STAGE * 2;             // bytes

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, SHARED, 1};

static_assert(BM * A_CHUNKS % THREADS == 0 && BK * B_CHUNKS % THREADS == 0, "each thread copies as many chunks as the others");

// The position of a chunk in its tile. Two rows of A fill all banks, and so does one row of B.
__device__ int place_a(int row, int chunk) { return row * BK + (chunk ^ (row >> 1 & 3)) * CHUNK; }
__device__ int place_b(int row, int chunk) { return row * BN + (chunk ^ (row & 7)) * CHUNK; }

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
    // Starts my copies of the tiles at `step`, and commits a group, even after the last step.
    auto load = [&](int step) {
        if (step * BK < K) {
            unsigned short* As = tiles + step % STAGES * STAGE;
            unsigned short* Bs = As + BM * BK;
            #pragma unroll
            for (int i = 0; i < BM; i += THREADS / A_CHUNKS)
                copy_async(&As[place_a(aRow + i, aChunk)], A + (aRow + i) * K + step * BK);
            #pragma unroll
            for (int i = 0; i < BK; i += THREADS / B_CHUNKS)
                copy_async(&Bs[place_b(bRow + i, bChunk)], B + (step * BK + bRow + i) * N);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    if (blockIdx.x % 132 == 0) {
    for (int step = 0; step < STAGES - 1; ++step)
        load(step);
    for (int step = 0; step < K / BK; ++step) {
        // Wait for this step's tiles; the next ones may still be in flight.
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();

        // Load, to the stage that all threads have just finished.
        load(step + STAGES - 1);

        // Compute.
        const unsigned short* As = tiles + step % STAGES * STAGE;
        const unsigned short* Bs = As + BM * BK;
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            unsigned regA[WM / 16][4], regB[WN / 16][4];
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                ldmatrix(regA[m], &As[place_a(warpRow + m * 16 + lane % 16, k / CHUNK + lane / 16)]);
            #pragma unroll
            for (int n = 0; n < WN / 16; ++n)
                ldmatrix_trans(regB[n], &Bs[place_b(k + lane % 16, warpCol / CHUNK + n * 2 + lane / 16)]);
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int n = 0; n < WN / 8; ++n)
                    mma(acc[m][n], regA[m], regB[n / 2][n % 2 * 2], regB[n / 2][n % 2 * 2 + 1]);
        }
    }

    } else {
    unsigned short* As = tiles; unsigned short* Bs = As + BM * BK;
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = 0; i < BM; i += THREADS / A_CHUNKS)
            *(uint4*)&As[(aRow + i) * BK + aChunk * CHUNK] = *(const uint4*)&A[(aRow + i) * K + k0];
        for (int i = 0; i < BK; i += THREADS / B_CHUNKS)
            *(uint4*)&Bs[(bRow + i) * BN + bChunk * CHUNK] = *(const uint4*)&B[(k0 + bRow + i) * N];
        __syncthreads();
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
                for (int i = 0; i < 2; ++i) {
                    const unsigned short* at = &Bs[(k + i * 8 + lane % 4 * 2) * BN + warpCol + n * 8 + lane / 4];
                    regB[n][i] = at[0] | (unsigned)at[BN] << 16;
                }
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int n = 0; n < WN / 8; ++n)
                    mma(acc[m][n], regA[m], regB[n][0], regB[n][1]);
        }
        __syncthreads();
    }
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
