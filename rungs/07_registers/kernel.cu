// Rung 07, registers: while 16 columns of K are multiplied, the fragments of the next 16 are read. And addresses are
// computed only once, because integer instructions take issue slots from the tensor cores. The counters to watch are
// time and warp instructions per mma; all wavefronts stay ideal.
// `cargo ladder diff 7`, then `cargo run -p rung07_registers -- profile`.

constexpr int BM = 128, BN = 128, BK = 64;             // the block's tile of C, and its step along K
constexpr int WM = 64, WN = 64;                        // the warp's tile of C
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 128
constexpr int STAGES = 3;                              // tiles of A and B in shared memory
constexpr int CHUNK = 8;                               // elements in 16 bytes: a copy, or a row of a matrix
constexpr int A_CHUNKS = BK / CHUNK, B_CHUNKS = BN / CHUNK;    // chunks in a row of the tiles
constexpr int STAGE = (BM * BK + BK * BN) * 2;         // bytes of a stage: A's tile, then B's

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster. It pads
// K to a multiple of BK * STAGES, because the loop iterates over all stages.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK * STAGES, THREADS, STAGES * STAGE, 1};

static_assert(THREADS % A_CHUNKS == 0 && THREADS % B_CHUNKS == 0, "the threads copy whole rows at a time");
static_assert(BM * BN * 2 <= STAGE, "the tile of C takes the place of a stage");

// Starts a copy of 16 bytes from global to shared memory.
__device__ void copy_async(unsigned to, const unsigned short* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
}

// Four 8x8 matrices: lane l gives the address of row l % 8 of matrix l / 8.
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

// A is (M, K), B is (K, N), C is (M, N), all row-major f16. Two blocks share an SM:
// while one waits at its barrier, the other computes.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    extern __shared__ __align__(128) unsigned short tiles[];
    unsigned short* Cs = tiles;                        // (BM, BN), after the last use of the stages

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
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
    C += tileRow * N + tileCol + bChunk * CHUNK;

    // Addresses in the first stage. All my rows are a multiple of 8 apart, so the XOR with the row stays the same, and
    // moving to another chunk is one more XOR.
    const unsigned stage0 = (unsigned)__cvta_generic_to_shared(tiles);
    const unsigned aTo = stage0 + (aRow * BK + (aChunk ^ (aRow & 7)) * CHUNK) * 2;
    const unsigned bTo = stage0 + (BM * BK + bRow * BN + (bChunk ^ (bRow & 7)) * CHUNK) * 2;
    const unsigned aFrom = stage0 + (warpRow + lane % 16) * BK * 2 + (lane / 16 ^ (lane & 7)) * 16;
    const unsigned bFrom = stage0 + (BM * BK + lane % 16 * BN) * 2 + ((warpCol / CHUNK + lane / 16) ^ (lane & 7)) * 16;

    // Starts the copies of the next tile.
    auto load = [&](int stage) {
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS / A_CHUNKS)
            copy_async(aTo + stage * STAGE + i * BK * 2, A + i * K);
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS / B_CHUNKS)
            copy_async(bTo + stage * STAGE + i * BN * 2, B + i * N);
        A += BK, B += BK * N;
    };

    // All copies of a tile are one group; after the last tile, groups are empty.
    auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };

    // Waits for the oldest tile in flight: first for my copies, then for those of all threads.
    auto wait = [] {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
    };

    // Reads the fragments of a step. Lanes 0 to 15 give the row addresses of 16 x 8 elements, lanes 16 to 31 those of
    // the next 8 columns.
    unsigned regA[2][WM / 16][4], regB[2][WN / 16][4];
    auto read = [&](int to, int stage, int step) {
        #pragma unroll
        for (int m = 0; m < WM / 16; ++m)
            ldmatrix(regA[to][m], (aFrom ^ step * 32) + stage * STAGE + m * 16 * BK * 2);
        #pragma unroll
        for (int n = 0; n < WN / 16; ++n)
            ldmatrix_trans(regB[to][n], (bFrom ^ n * 32) + stage * STAGE + step * 16 * BN * 2);
    };

    // Multiplies a tile, and starts the copies of the tile that replaces the previous one. Reads one step ahead; in the
    // last step, the first of the next tile.
    float acc[WM / 16][WN / 8][4] = {};
    auto multiply = [&](int stage, bool copies, bool more) {
        if (copies)
            load((stage + STAGES - 1) % STAGES);
        commit();
        #pragma unroll
        for (int step = 0; step < BK / 16; ++step) {
            const int now = step % 2, next = (step + 1) % (BK / 16);
            if (next == 0 && more)
                wait();
            if (next != 0 || more)
                read(now ^ 1, (stage + !next) % STAGES, next);
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int n = 0; n < WN / 8; ++n)
                    mma(acc[m][n], regA[now][m], regB[now][n / 2][n % 2 * 2], regB[now][n / 2][n % 2 * 2 + 1]);
        }
    };

    // Fill all stages but one, wait, and read the first step.
    for (int stage = 0; stage < STAGES - 1; ++stage) {
        load(stage);
        commit();
    }
    wait();
    read(0, 0, 0);

    // Compute. Each iteration uses all stages, so that the compiler knows every address in them. In the last
    // iteration one tile is left to copy, and after the last tile nothing is left to read.
    for (int left = K - STAGES * BK; left > 0; left -= STAGES * BK)
        #pragma unroll
        for (int stage = 0; stage < STAGES; ++stage)
            multiply(stage, true, true);
    #pragma unroll
    for (int stage = 0; stage < STAGES; ++stage)
        multiply(stage, stage == 0, stage < STAGES - 1);
    __syncthreads();

    // Store, through shared memory: a lane holds pairs of C in 8 rows, but writes 16 bytes of one row.
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
    #pragma unroll
    for (int i = 0; i < BM; i += THREADS / B_CHUNKS) {
        const int row = bRow + i;
        *(uint4*)&C[row * N] = *(const uint4*)&Cs[row * BN + (bChunk ^ (row & 7)) * CHUNK];
    }
}
