// Attention: O = softmax(Q K^T / sqrt(D)) V, a block computes 64 rows of Q, with 64 keys at a time. Three copies cross
// shared memory: global to shared, shared to registers (V transposed), registers to shared for O. With `mask` 7 they are
// swizzled, with 0 plain, by the same machine code. The counter to watch is wavefronts: 8 times the ideal, or the ideal.
// `cargo run -p labs -- attention profile --only swizzled`.

constexpr int BR = 64, BC = 64, D = 128;               // rows of Q, rows of K and V at a time, and their length
constexpr int THREADS = BR / 16 * 32;                  // a warp has 16 rows of Q
constexpr int CHUNK = 8, CHUNKS = D / CHUNK;           // a chunk is 8 f16, 16 bytes
constexpr float SCALE = 1.4426950408889634f * 0.08838834764831845f;    // log2(e) / sqrt(D), for powers of two

// The beginning of chunk `chunk` of row `row` of a tile.
__device__ int place(int row, int chunk, int mask) { return row * D + (chunk ^ (row & mask)) * CHUNK; }

// Starts the copy of a (64, D) tile: a thread copies a chunk in every 8th row.
__device__ void copy(unsigned short* tile, const unsigned short* from, int mask)
{
    const int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
    #pragma unroll
    for (int i = 0; i < 64; i += THREADS / CHUNKS)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"((unsigned)__cvta_generic_to_shared(tile + place(row + i, chunk, mask))),
                        "l"(from + (row + i) * D + chunk * CHUNK) : "memory");
}

// Four 8x8 matrices: lane l gives the address of row l % 8 of matrix l / 8.
__device__ void ldmatrix(unsigned (&r)[4], const unsigned short* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

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

// 2^x, by the multifunction unit. `.ftz`: results below 2^-126 become 0, which does not matter for weights.
__device__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Q, K, V and O are (heads, N, D) f16; N is a multiple of 64. Blocks along x compute the tiles of Q, blocks along y the heads.
extern "C" __global__ void __launch_bounds__(THREADS)
attention(const unsigned short* Q, const unsigned short* K, const unsigned short* V, unsigned short* O, int N, int mask)
{
    __shared__ __align__(128) unsigned short Qs[BR * D], Ks[BC * D], Vs[BC * D];
    unsigned short* Os = Qs;                           // (BR, D), after the last use of Q

    // Where am I?
    const int lane = threadIdx.x % 32, warpRow = threadIdx.x / 32 * 16;
    const int head = blockIdx.y * N * D, tile = head + blockIdx.x * BR * D;

    copy(Qs, Q + tile, mask);
    float acc[D / 8][4] = {}, largest[2] = {-1e30f, -1e30f}, sum[2] = {};
    #pragma unroll 1
    for (int k0 = 0; k0 < N; k0 += BC) {
        // Load, and wait until the whole tile has been copied.
        copy(Ks, K + head + k0 * D, mask);
        copy(Vs, V + head + k0 * D, mask);
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();

        // Scores: S = Q K^T. K's rows are the columns of operand B, as `mma` needs them.
        float s[BC / 8][4] = {};
        #pragma unroll
        for (int d = 0; d < CHUNKS; d += 2) {
            unsigned q[4], k[4];
            ldmatrix(q, &Qs[place(warpRow + lane % 16, d + lane / 16, mask)]);
            #pragma unroll
            for (int n = 0; n < BC; n += 16) {
                ldmatrix(k, &Ks[place(n + lane / 16 * 8 + lane % 8, d + lane / 8 % 2, mask)]);
                mma(s[n / 8], q, k[0], k[1]);
                mma(s[n / 8 + 1], q, k[2], k[3]);
            }
        }

        // Softmax over the keys so far: a lane has a part of two rows, its three neighbors have the rest.
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            float m = largest[half];
            #pragma unroll
            for (int n = 0; n < BC / 8; ++n)
                m = fmaxf(m, fmaxf(s[n][half * 2], s[n][half * 2 + 1]));
            m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
            m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
            const float shrink = power_of_two((largest[half] - m) * SCALE);
            largest[half] = m;
            sum[half] *= shrink;
            #pragma unroll
            for (int i = 0; i < BC / 4; ++i) {
                float& p = s[i / 2][half * 2 + i % 2];
                p = power_of_two((p - m) * SCALE);
                sum[half] += p;
            }
            #pragma unroll
            for (int i = 0; i < D / 4; ++i)
                acc[i / 2][half * 2 + i % 2] *= shrink;
        }

        // Values: O += P V. The registers of S, as f16, are those of an operand A; V's columns are those of operand B.
        #pragma unroll
        for (int k = 0; k < BC; k += 16) {
            const float (&low)[4] = s[k / 8], (&high)[4] = s[k / 8 + 1];
            const unsigned p[4] = {float2_to_half2(low[0], low[1]), float2_to_half2(low[2], low[3]),
                                   float2_to_half2(high[0], high[1]), float2_to_half2(high[2], high[3])};
            #pragma unroll
            for (int n = 0; n < CHUNKS; n += 2) {
                unsigned v[4];
                ldmatrix_trans(v, &Vs[place(k + lane % 16, n + lane / 16, mask)]);
                mma(acc[n], p, v[0], v[1]);
                mma(acc[n + 1], p, v[2], v[3]);
            }
        }
        __syncthreads();
    }

    // Store, through shared memory: a lane holds pairs of O in 8 rows, but writes 16 bytes of one row.
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        sum[half] += __shfl_xor_sync(~0u, sum[half], 1);
        sum[half] += __shfl_xor_sync(~0u, sum[half], 2);
        #pragma unroll
        for (int n = 0; n < CHUNKS; ++n)
            *(unsigned*)&Os[place(warpRow + half * 8 + lane / 4, n, mask) + lane % 4 * 2] =
                float2_to_half2(acc[n][half * 2] / sum[half], acc[n][half * 2 + 1] / sum[half]);
    }
    __syncthreads();
    #pragma unroll
    for (int i = threadIdx.x; i < BR * CHUNKS; i += THREADS)
        *(uint4*)&O[tile + i * CHUNK] = *(const uint4*)&Os[place(i / CHUNKS, i % CHUNKS, mask)];
}
