// Rung 03, padded: four unused floats after each row of As shift the next row by four banks. The counter to
// watch is bank conflicts, in the transposed store to As: those of rung 02 should be gone.
// `cargo ladder diff 2 3`, then `cargo run -p rung03_padded -- profile`.

constexpr int BM = 128, BN = 128, BK = 8;              // the block's tile of C, and its step along K
constexpr int TM = 8, TN = 8;                          // the thread's tile of C
constexpr int THREADS = (BM / TM) * (BN / TN);         // 256
constexpr int LDA = 128 + 4;                           // floats from one k of As to the next

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

static_assert(BM * BK == 4 * THREADS && BK * BN == 4 * THREADS, "each thread copies 4 elements of A and 4 of B");
static_assert(LDA >= BM && LDA % 4 == 0, "a row of As holds BM floats and starts on a 16-byte boundary, for float4");

__device__ float half_to_float(unsigned short h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

__device__ unsigned short float_to_half(float f)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

// One 16-byte load, explicitly: for a plain float4 the compiler emits sometimes one load, sometimes two.
__device__ void load4(float* to, const float* from)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"((unsigned)__cvta_generic_to_shared(from)) : "memory");
}

// A is (M, K), B is (K, N), C is (M, N), all row-major f16. Two blocks share an SM:
// while one waits for its copies, the other computes.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    __shared__ __align__(16) float As[BK * LDA];       // (BK, BM), transposed: a column of A is a run of floats
    __shared__ __align__(16) float Bs[BK * BN];        // (BK, BN)

    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I? A warp computes 32 x 64 elements with its lanes as 4 x 8: lane = 0bRCCCr, row Rr, column CCC.
    // Lanes i and i^1 then read the same floats of Bs, lanes i and i^2 the same of As, and if that holds for
    // the whole warp, a float4 is served to 16 lanes at a time instead of 8.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int threadRow = (lane & 1) + 2 * (lane >> 4) + 4 * (warp / 2);   // 0 to 15
    const int threadCol = (lane >> 1) % 8 + 8 * (warp % 2);                // 0 to 15

    // What do I copy? 4 consecutive elements: two threads per row of A's tile, a warp per row of B's.
    const int aRow = threadIdx.x / 2, aCol = threadIdx.x % 2 * 4;
    const int bRow = threadIdx.x / 32, bCol = threadIdx.x % 32 * 4;
    A += (tileRow + aRow) * K + aCol;
    B += bRow * N + tileCol + bCol;

    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Load. The four stores into As go to four rows; lanes 2i and 2i+1 are 4 rows apart.
        const ushort4 a = *(const ushort4*)A;
        const ushort4 b = *(const ushort4*)B;
        As[(aCol + 0) * LDA + aRow] = half_to_float(a.x);
        As[(aCol + 1) * LDA + aRow] = half_to_float(a.y);
        As[(aCol + 2) * LDA + aRow] = half_to_float(a.z);
        As[(aCol + 3) * LDA + aRow] = half_to_float(a.w);
        *(float4*)&Bs[bRow * BN + bCol] =
            make_float4(half_to_float(b.x), half_to_float(b.y), half_to_float(b.z), half_to_float(b.w));

        // Wait until the whole tile has been copied.
        __syncthreads();

        // Compute. A thread's 8 columns are two runs of four, 64 apart: the 8 float4 that a warp reads at once are
        // then contiguous. With eight in one run, the fifth would be in the banks of the first, and so on.
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float regA[TM], regB[TN];
            load4(&regA[0], &As[k * LDA + threadRow * TM]);
            load4(&regA[4], &As[k * LDA + threadRow * TM + 4]);
            load4(&regB[0], &Bs[k * BN + threadCol * 4]);
            load4(&regB[4], &Bs[k * BN + threadCol * 4 + 64]);
            #pragma unroll
            for (int m = 0; m < TM; ++m)
                #pragma unroll
                for (int n = 0; n < TN; ++n)
                    acc[m][n] = fmaf(regA[m], regB[n], acc[m][n]);
        }

        // Advance, once no thread reads the tile any more.
        A += BK;
        B += BK * N;
        __syncthreads();
    }

    // Store, 4 elements at a time.
    C += (tileRow + threadRow * TM) * N + tileCol + threadCol * 4;
    #pragma unroll
    for (int m = 0; m < TM; ++m)
        #pragma unroll
        for (int n = 0; n < TN; n += 4)
            *(ushort4*)&C[m * N + n * 16] = make_ushort4(
                float_to_half(acc[m][n]), float_to_half(acc[m][n + 1]),
                float_to_half(acc[m][n + 2]), float_to_half(acc[m][n + 3]));
}
