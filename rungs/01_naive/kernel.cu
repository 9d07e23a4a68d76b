// Rung 01, naive: one thread computes one element of C, straight from global memory.
// The counter to watch is sectors per request: it tells how many of the bytes a warp fetches are used.
// `cargo run -p rung01_naive -- profile`, then once more with `--uncoalesced`.

constexpr int BM = 16;  // rows of C that a block computes
constexpr int BN = 64;  // columns of C that a block computes: two warps' worth
constexpr int BK = 1;   // steps of k per iteration
constexpr int THREADS = BM * BN;

// What the host must know to launch this kernel: tile, threads, dynamic shared bytes, blocks per cluster.
extern "C" __constant__ int gemm_launch[] = {BM, BN, BK, THREADS, 0, 1};

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

// A is (M, K), B is (K, N), C is (M, N), all row-major f16.
extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K, int uncoalesced)
{
    // Which tile? Blocks are numbered down C's columns of tiles, so that neighbors share columns of B.
    const int rowTiles = M / BM;
    const int tileRow = blockIdx.x % rowTiles * BM;
    const int tileCol = blockIdx.x / rowTiles * BN;

    // Where am I? The 32 lanes of a warp are along a row of C: B[k][col] is then 64 consecutive bytes, two
    // sectors. With `uncoalesced` they are along two columns instead: an access to A or C then touches 16
    // rows, and each row costs a separate sector.
    const int threadRow = uncoalesced ? threadIdx.x % BM : threadIdx.x / BN;
    const int threadCol = uncoalesced ? threadIdx.x / BM : threadIdx.x % BN;
    const int row = tileRow + threadRow;
    const int col = tileCol + threadCol;

    // Unrolled, so that 16 steps' loads are in flight before the first is needed.
    float acc = 0.0f;
    #pragma unroll 16
    for (int k = 0; k < K; ++k) {
        const float a = half_to_float(A[row * K + k]);
        const float b = half_to_float(B[k * N + col]);
        acc = fmaf(a, b, acc);
    }

    C[row * N + col] = float_to_half(acc);
}
