// Rung 06, pipeline: while one tile is computed, the next two are on their way, and while one step of it is
// multiplied, the fragments of the next are read: nobody waits for memory any more.
// The counter to watch is time: wavefronts and sectors are those of rung 05.
// `cargo ladder diff 5 6`, then `cargo run -p rung06_pipeline -- profile --arch sm_80`.

constexpr int BM = 128, BN = 128, BK = 64;             // the block's tile of C, and its step along K
constexpr int WM = 64, WN = 64;                        // the warp's tile of C
constexpr int STAGES = 3;                              // tiles of A and B in shared memory
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 128
constexpr int CHUNK = 8;                               // elements in 16 bytes: what a copy or a matrix row moves
constexpr int A_CHUNKS = BK / CHUNK, B_CHUNKS = BN / CHUNK;    // chunks in a row of the tiles
constexpr int STAGE = BM * BK + BK * BN;               // elements of a stage

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, STAGES * STAGE * 2, 1};

static_assert(THREADS % A_CHUNKS == 0 && THREADS % B_CHUNKS == 0, "the threads copy whole rows at a time");
static_assert(BM * BN <= STAGES * STAGE, "the tile of C takes the place of those of A and B");

// Starts a copy of 16 bytes from global to shared memory.
__device__ void copy_async(unsigned to, const unsigned short* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
}

// Four 8x8 matrices: lane l names row l % 8 of matrix l / 8.
__device__ void ldmatrix(unsigned (&r)[4], unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row) : "memory");
}

// The same, each matrix transposed: B's columns from row-major B.
__device__ void ldmatrix_trans(unsigned (&r)[4], unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row) : "memory");
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

// A is (M, K), B is (K, N), C is (M, N), all row-major f16. Two blocks share a multiprocessor:
// while one waits for its copies, the other computes.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    extern __shared__ __align__(128) unsigned short tiles[];
    unsigned short* Cs = tiles;                        // (BM, BN), once A and B are done with

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbours share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I? Four warps, 2 x 2.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warpRow = warp / (BN / WN) * WM, warpCol = warp % (BN / WN) * WN;

    // What do I copy? A chunk in every 16th row of A's tile, and in every 8th of B's.
    const int aRow = threadIdx.x / A_CHUNKS, aChunk = threadIdx.x % A_CHUNKS;
    const int bRow = threadIdx.x / B_CHUNKS, bChunk = threadIdx.x % B_CHUNKS;
    A += (tileRow + aRow) * K + aChunk * CHUNK;
    B += bRow * N + tileCol + bChunk * CHUNK;

    // Addresses in stage 0, once and for all: integer instructions take issue slots from the tensor cores. All rows
    // of mine are 8 or 16 apart, so the XOR with the row stays the same, and a step to another chunk is one more XOR.
    const unsigned stage0 = (unsigned)__cvta_generic_to_shared(tiles), own = (lane / 16 ^ lane % 8) * 16;
    const unsigned aTo = stage0 + (aRow * BK + (aChunk ^ aRow % 8) * CHUNK) * 2;
    const unsigned bTo = stage0 + (BM * BK + bRow * BN + (bChunk ^ bRow % 8) * CHUNK) * 2;
    const unsigned aFrom = stage0 + (warpRow + lane % 16) * BK * 2 + own;
    const unsigned bFrom = stage0 + (BM * BK + lane % 16 * BN + warpCol) * 2 + own;

    // Starts the copies of the next tile, as one group.
    int left = K / BK, filling = 0;
    auto load = [&] {
        if (left-- > 0) {
            #pragma unroll
            for (int i = 0; i < BM; i += THREADS / A_CHUNKS)
                copy_async(aTo + filling + i * BK * 2, A + i * K);
            #pragma unroll
            for (int i = 0; i < BK; i += THREADS / B_CHUNKS)
                copy_async(bTo + filling + i * BN * 2, B + i * N);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        A += BK;
        B += BK * N;
        filling = filling == (STAGES - 1) * STAGE * 2 ? 0 : filling + STAGE * 2;
    };

    // Waits until the oldest tile on its way is there: first my copies, then everybody's.
    auto wait = [] {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
    };

    // Reads the fragments of one step. Lanes 0 to 15 name the rows of 16 x 8 elements, lanes 16 to 31 those of the
    // next 8 columns.
    unsigned regA[2][WM / 16][4], regB[2][WN / 16][4];
    auto read = [&](int to, int stage, int k) {
        #pragma unroll
        for (int m = 0; m < WM / 16; ++m)
            ldmatrix(regA[to][m], (aFrom + stage ^ k * 2) + m * 16 * BK * 2);
        #pragma unroll
        for (int n = 0; n < WN / 16; ++n)
            ldmatrix_trans(regB[to][n], (bFrom + stage ^ n * 32) + k * BN * 2);
    };

    float acc[WM / 16][WN / 8][4] = {};
    for (int i = 0; i < STAGES - 1; ++i)
        load();
    wait();
    read(0, 0, 0);
    for (int k0 = 0, stage = 0; k0 < K; k0 += BK) {
        load();

        // Compute, and meanwhile read one step ahead: at last the first step of the next tile.
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            const int now = k / 16 % 2;
            if (k + 16 == BK) {
                wait();
                stage = stage == (STAGES - 1) * STAGE * 2 ? 0 : stage + STAGE * 2;
            }
            if (k + 16 < BK || k0 + BK < K)
                read(now ^ 1, stage, (k + 16) % BK);
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int n = 0; n < WN / 8; ++n)
                    mma(acc[m][n], regA[now][m], regB[now][n / 2][n % 2 * 2], regB[now][n / 2][n % 2 * 2 + 1]);
        }
    }

    // Store, by way of shared memory: a lane holds pairs of C in 8 rows at once, but writes 16 bytes of one row.
    #pragma unroll
    for (int m = 0; m < WM / 16; ++m)
        #pragma unroll
        for (int n = 0; n < WN / 8; ++n)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = warpRow + m * 16 + half * 8 + lane / 4, chunk = warpCol / CHUNK + n;
                *(unsigned*)&Cs[row * BN + (chunk ^ (row & 7)) * CHUNK + lane % 4 * 2] =
                    float2_to_half2(acc[m][n][half * 2], acc[m][n][half * 2 + 1]);
            }
    __syncthreads();
    C += tileRow * N + tileCol + bChunk * CHUNK;
    #pragma unroll
    for (int i = 0; i < BM; i += THREADS / B_CHUNKS) {
        const int row = bRow + i;
        *(uint4*)&C[row * N] = *(const uint4*)&Cs[row * BN + (bChunk ^ (row & 7)) * CHUNK];
    }
}
