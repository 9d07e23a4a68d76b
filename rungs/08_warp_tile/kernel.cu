// Rung 08, warp tile: a warp computes 64x96 elements of C, as many as its registers hold, and so reads less for each
// mma. There is room for B's fragments of 16 columns at a time. Rows of A's tile now have 64 bytes, two in 128
// bytes, so A's swizzle uses row / 2. Tiles are numbered so that neighbors share A and B in L2. The counters to
// watch are time and shared-memory wavefronts per mma.
// `cargo ladder diff 8`, then `cargo run -p rung08_warp_tile -- profile`.

// A configuration's tile of C. The host passes it on the compiler's command line.
#ifndef TILE_M
#define TILE_M 128
#define TILE_N 192
#endif

constexpr int BM = TILE_M, BN = TILE_N, BK = 32;       // the block's tile of C, and its step along K
constexpr int WM = BM / 2, WN = BN / 2;                // the warp's tile of C
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 128
constexpr int STAGES = 4;                              // tiles of A and B in shared memory
constexpr int CHUNK = 8;                               // elements in 16 bytes: a copy, or a row of a matrix
constexpr int PANEL = 64, SLICE = PANEL / (BN / WN);   // columns in 128 bytes; one warp's columns in a panel
constexpr int A_CHUNKS = BK / CHUNK, B_CHUNKS = PANEL / CHUNK;    // chunks in a row of A's tile and of a panel
constexpr int A_ROWS = THREADS / A_CHUNKS, B_ROWS = THREADS / B_CHUNKS;    // rows that all threads copy at a time
constexpr int A_COPIES = BM / A_ROWS, COPIES = A_COPIES + BK / B_ROWS * (BN / PANEL);    // per thread and stage
constexpr int STAGE = (BM * BK + BK * BN) * 2;         // bytes of a stage: A's tile, then B's
constexpr int STEPS = (BK / 16) * (WN / 16);           // a step multiplies 16 columns of B, for 16 of K
constexpr int GROUP = 8;                               // rows of tiles that are computed together

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster. It pads
// K to a multiple of BK * STAGES, because the loop iterates over all stages.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK * STAGES, THREADS, STAGES * STAGE, 1};

static_assert(THREADS % A_CHUNKS == 0 && THREADS % B_CHUNKS == 0, "the threads copy whole rows at a time");
static_assert(BN % PANEL == 0 && BK == 32 && WN >= 48, "B has whole panels, and its copies come before their group ends");
static_assert(BM * BN * 2 <= (STAGES - 1) * STAGE, "the tile of C does not reach the last stage");

// Starts a copy of 16 bytes from global to shared memory, and has L2 fetch the whole line of 128 bytes from DRAM.
__device__ void copy_async(unsigned to, const unsigned short* from)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
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

    // Which tile? GROUP rows of tiles, column by column, so that neighbors share A and B in L2.
    const int inGroup = blockIdx.x % (GROUP * (N / BN)), top = blockIdx.x / (GROUP * (N / BN)) * GROUP;
    const int height = min(GROUP, M / BM - top);
    const int tileRow = (top + inGroup % height) * BM, tileCol = inGroup / height * BN;

    // Where am I? Four warps, 2 x 2.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warpRow = warp / (BN / WN) * WM, warpCol = warp % (BN / WN) * SLICE;

    // What do I copy? A chunk in every 32nd row of A's tile, and in every 16th of B's.
    const int aRow = threadIdx.x / A_CHUNKS, aChunk = threadIdx.x % A_CHUNKS;
    const int bRow = threadIdx.x / B_CHUNKS, bChunk = threadIdx.x % B_CHUNKS;
    A += (tileRow + aRow) * K + aChunk * CHUNK;
    B += bRow * N + tileCol + bChunk * CHUNK;
    C += tileRow * N + tileCol + bChunk * CHUNK;

    // Addresses in the first stage. All my rows are a multiple of 8 apart, so the XOR with the row stays the same, and
    // moving to another chunk is one more XOR.
    const unsigned stage0 = (unsigned)__cvta_generic_to_shared(tiles);
    const unsigned aTo = stage0 + (aRow * BK + (aChunk ^ (aRow / 2 & 3)) * CHUNK) * 2;
    const unsigned bTo = stage0 + (BM * BK + bRow * BN + (bChunk ^ (bRow & 7)) * CHUNK) * 2;
    const unsigned aFrom = stage0 + (warpRow + lane % 16) * BK * 2 + (lane / 16 ^ (lane / 2 & 3)) * 16;
    const unsigned bFrom = stage0 + (BM * BK + lane % 16 * BN) * 2 + ((warpCol / CHUNK + lane / 16) ^ (lane & 7)) * 16;

    // Starts one of the copies of the next tile: those of A come first, then those of B, row by row of all panels.
    auto load = [&](int stage, int copy) {
        const int row = (copy - A_COPIES) / (BN / PANEL) * B_ROWS, column = (copy - A_COPIES) % (BN / PANEL) * PANEL;
        if (copy < A_COPIES)
            copy_async(aTo + stage * STAGE + copy * A_ROWS * BK * 2, A + copy * A_ROWS * K);
        else
            copy_async(bTo + stage * STAGE + (row * BN + column) * 2, B + row * N + column);
    };

    // All copies of a tile are one group; after the last tile, groups are empty.
    auto commit = [&] { asm volatile("cp.async.commit_group;" ::: "memory"); A += BK, B += BK * N; };

    // Waits for the oldest tile in flight: first for my copies, then for those of all threads.
    auto wait = [] {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
    };

    // Read 16 x 16 elements. Lanes 0 to 15 give the row addresses of 16 x 8 elements, lanes 16 to 31 those of the next 8 columns.
    unsigned regA[WM / 16][4], regB[2][4];
    auto readA = [&](int stage, int m, int k) { ldmatrix(regA[m], (aFrom ^ k * 32) + stage * STAGE + m * 16 * BK * 2); };
    auto readB = [&](int to, int stage, int n, int k) {
        const int column = n / (SLICE / 16) * PANEL;
        ldmatrix_trans(regB[to], (bFrom ^ n % (SLICE / 16) * 32) + stage * STAGE + (k * 16 * BN + column) * 2);
    };

    // Multiplies a tile, and starts the copies of the tile that replaces the previous one. Reads one step ahead; in the
    // last step, the first of the next tile. A's fragments are replaced at their last use.
    float acc[WM / 16][WN / 8][4] = {};
    auto multiply = [&](int stage, bool copies, bool more) {
        #pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const int now = step % 2, n = step % (WN / 16), k = step / (WN / 16), next = (step + 1) % STEPS;
            const int nextN = next % (WN / 16), nextK = next / (WN / 16), nextStage = (stage + !next) % STAGES;
            if (next == 0 && more)
                wait();
            if (next != 0 || more)
                readB(now ^ 1, nextStage, nextN, nextK);
            // A's copies in the second step of the first 16 of K, B's in the second step of the next.
            #pragma unroll
            for (int copy = k * A_COPIES; copies && n == 1 && copy < (k == 0 ? A_COPIES : COPIES); ++copy)
                load((stage + STAGES - 1) % STAGES, copy);
            if (step == STEPS - 2)
                commit();
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m) {
                mma(acc[m][n * 2], regA[m], regB[now][0], regB[now][1]);
                mma(acc[m][n * 2 + 1], regA[m], regB[now][2], regB[now][3]);
                if (nextN == 0 && (next != 0 || more))
                    readA(nextStage, m, nextK);
            }
        }
    };

    // Fill all stages but one, wait, and read the first step.
    for (int stage = 0; stage < STAGES - 1; ++stage) {
        for (int copy = 0; copy < COPIES; ++copy)
            load(stage, copy);
        commit();
    }
    wait();
    #pragma unroll
    for (int m = 0; m < WM / 16; ++m)
        readA(0, m, 0);
    readB(0, 0, 0, 0);

    // Compute. Each iteration uses all stages, so that the compiler knows every address in them. In the last
    // iteration one tile is left to copy, and after the last tile nothing is left to read.
    for (int left = K - STAGES * BK; left > 0; left -= STAGES * BK)
        #pragma unroll
        for (int stage = 0; stage < STAGES; ++stage)
            multiply(stage, true, true);
    #pragma unroll
    for (int stage = 0; stage < STAGES; ++stage)
        multiply(stage, stage == 0, stage < STAGES - 1);

    // Store, through shared memory: a lane holds pairs of C in 8 rows, but writes 16 bytes of one row. Other warps may
    // still read the last stage; all others are free.
    #pragma unroll
    for (int m = 0; m < WM / 16; ++m)
        #pragma unroll
        for (int n = 0; n < WN / 8; ++n)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = warpRow + m * 16 + half * 8 + lane / 4;
                const int chunk = n / (SLICE / 8) * B_CHUNKS + warpCol / CHUNK + n % (SLICE / 8);
                *(unsigned*)&Cs[row * BN + (chunk ^ (row & 7)) * CHUNK + lane % 4 * 2] =
                    float2_to_half2(acc[m][n][half * 2], acc[m][n][half * 2 + 1]);
            }
    __syncthreads();
    for (int row = bRow; row < BM; row += B_ROWS)
        for (int panel = 0; panel < BN; panel += PANEL)
            *(uint4*)&C[row * N + panel] = *(const uint4*)&Cs[row * BN + panel + (bChunk ^ (row & 7)) * CHUNK];
}
