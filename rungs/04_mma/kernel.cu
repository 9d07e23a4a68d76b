// Rung 04, tensor cores: a warp multiplies 16x8x16 elements in one instruction, whose operands `ldmatrix` loads
// from shared memory, eight rows of 16 bytes at a time.
// The counter to watch is wavefronts: rows of 128 bytes start in the same bank, so every `ldmatrix` takes 8 times
// the ideal. `cargo run -p rung04_mma -- profile`.

constexpr int BM = 128, BN = 128, BK = 64;             // the block's tile of C, and its step along K
constexpr int WM = 64, WN = 64;                        // the warp's tile of C
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;    // 128
constexpr int CHUNK = 8;                               // elements in 16 bytes: a copy, or a row of a matrix
constexpr int A_CHUNKS = BK / CHUNK, B_CHUNKS = BN / CHUNK;    // chunks in a row of the tiles

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

static_assert(THREADS % A_CHUNKS == 0 && THREADS % B_CHUNKS == 0, "the threads copy whole rows at a time");
static_assert(BM * BN <= BM * BK + BK * BN, "the tile of C takes the place of those of A and B");

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
    __shared__ __align__(128) unsigned short tiles[BM * BK + BK * BN];
    unsigned short* As = tiles;                        // (BM, BK)
    unsigned short* Bs = tiles + BM * BK;              // (BK, BN)
    unsigned short* Cs = tiles;                        // (BM, BN), after the last use of A and B

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
    A += tileRow * K + aChunk * CHUNK;
    B += tileCol + bChunk * CHUNK;

    float acc[WM / 16][WN / 8][4] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Load.
        #pragma unroll
        for (int i = 0; i < BM; i += THREADS / A_CHUNKS) {
            const int row = aRow + i;
            copy_async(&As[row * BK + aChunk * CHUNK], A + row * K);
        }
        #pragma unroll
        for (int i = 0; i < BK; i += THREADS / B_CHUNKS) {
            const int row = bRow + i;
            copy_async(&Bs[row * BN + bChunk * CHUNK], B + row * N);
        }

        // Wait until the whole tile has been copied: first my copies, then those of all threads.
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();

        // Compute. Lanes 0 to 15 give the row addresses of 16 x 8 elements, lanes 16 to 31 those of the next 8 columns.
        #pragma unroll
        for (int k = 0; k < BK; k += 16) {
            unsigned regA[WM / 16][4], regB[WN / 16][4];
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m) {
                const int row = warpRow + m * 16 + lane % 16, chunk = k / CHUNK + lane / 16;
                ldmatrix(regA[m], &As[row * BK + chunk * CHUNK]);
            }
            #pragma unroll
            for (int n = 0; n < WN / 16; ++n) {
                const int row = k + lane % 16, chunk = warpCol / CHUNK + n * 2 + lane / 16;
                ldmatrix_trans(regB[n], &Bs[row * BN + chunk * CHUNK]);
            }
            #pragma unroll
            for (int m = 0; m < WM / 16; ++m)
                #pragma unroll
                for (int n = 0; n < WN / 8; ++n)
                    mma(acc[m][n], regA[m], regB[n / 2][n % 2 * 2], regB[n / 2][n % 2 * 2 + 1]);
        }

        // Advance, once no thread reads the tile any more.
        A += BK;
        B += BK * N;
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
                *(unsigned*)&Cs[row * BN + chunk * CHUNK + lane % 4 * 2] =
                    float2_to_half2(acc[m][n][half * 2], acc[m][n][half * 2 + 1]);
            }
    __syncthreads();
    C += tileRow * N + tileCol + bChunk * CHUNK;
    #pragma unroll
    for (int i = 0; i < BM; i += THREADS / B_CHUNKS) {
        const int row = bRow + i;
        *(uint4*)&C[row * N] = *(const uint4*)&Cs[row * BN + bChunk * CHUNK];
    }
}
