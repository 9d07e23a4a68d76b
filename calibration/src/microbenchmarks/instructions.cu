// Dependent chains of one instruction, or of two. One warp measures the latency; more warps hide it, until the pipe's
// issue interval is measured: 4 warps are one on each scheduler.
constexpr int CHAIN = 32;                              // turns of the chain in one turn of the loop

// The first four words of `data` are operands that the compiler does not know. x differs from lane to lane, so that
// the compiler does not move the chain to uniform registers.
#define KERNEL(name, instructions, text, ...)                                                        \
extern "C" __global__ void name(PARAMETERS)                                                          \
{                                                                                                    \
    unsigned x = data[0] + threadIdx.x, y = data[1], z = data[2], w = data[3];                       \
    float f = __uint_as_float(y), g = __uint_as_float(z);                                            \
    double d = f, e = g;                                                                             \
    u64 p = x;                                                                                       \
    unsigned u = bytes;                                                                              \
    (void)w; (void)g; (void)e;                                                                      \
    __syncthreads();                                                                                 \
    const long long start = clock64();                                                               \
    _Pragma("unroll 1")                                                                              \
    for (unsigned n = 0; n < times; ++n)                                                             \
        _Pragma("unroll")                                                                            \
        for (int i = 0; i < CHAIN; ++i)                                                              \
            asm volatile(text __VA_ARGS__);                                                          \
    finish(result, sink, start, (u64)times * CHAIN * instructions, x ^ y ^ u ^ (unsigned)p ^ (unsigned)(p >> 32) ^ __float_as_uint(f) ^ (unsigned)d); \
}

// ---- integers ----
KERNEL(imad, 1, "mad.lo.s32 %0, %0, %1, %2;", : "+r"(x) : "r"(y), "r"(z))
// Without an addend: ptxas would move a sum in a chain out of the multiplication.
KERNEL(mul_wide, 1, "{.reg .u32 low, high;\nmov.b64 {low, high}, %0;\nmul.wide.u32 %0, high, %1;}", : "+l"(p) : "r"(y))
KERNEL(lop3, 2, "lop3.b32 %0, %0, %1, %2, 0x96;\nlop3.b32 %0, %0, %2, %3, 0xe8;", : "+r"(x) : "r"(y), "r"(z), "r"(w))
KERNEL(viaddmnmx, 1, "{.reg .s32 sum;\nadd.s32 sum, %0, %1;\nmin.s32 %0, sum, %2;}", : "+r"(x) : "r"(y), "r"(z))
KERNEL(vimnmx, 2, "min.s32 %0, %0, %1;\nmax.s32 %0, %0, %2;", : "+r"(x) : "r"(y), "r"(z))
KERNEL(shf, 1, "shf.l.wrap.b32 %0, %0, %1, %2;", : "+r"(x) : "r"(y), "r"(z))
KERNEL(prmt, 1, "prmt.b32 %0, %0, %1, %2;", : "+r"(x) : "r"(y), "r"(z))
KERNEL(popc, 1, "popc.b32 %0, %0;", : "+r"(x))
KERNEL(isetp_sel, 2, "{.reg .pred p;\nsetp.lt.s32 p, %0, %1;\nselp.b32 %0, %2, %0, p;}", : "+r"(x) : "r"(y), "r"(z))

// ---- floating point ----
KERNEL(fma_f32, 1, "fma.rn.f32 %0, %0, %1, %1;", : "+f"(f) : "f"(g))
KERNEL(add_f32, 1, "add.rn.f32 %0, %0, %1;", : "+f"(f) : "f"(g))
KERNEL(mul_f32, 1, "mul.rn.f32 %0, %0, %1;", : "+f"(f) : "f"(g))
KERNEL(fma_f16x2, 1, "fma.rn.f16x2 %0, %0, %1, %2;", : "+r"(x) : "r"(y), "r"(z))
KERNEL(widen, 1, "{.reg .b16 low, high;\nmov.b32 {low, high}, %0;\ncvt.f32.f16 %0, low;}", : "+f"(f))
KERNEL(f16_to_f32_and_back, 2, "{.reg .b16 h;\ncvt.rn.f16.f32 h, %0;\ncvt.f32.f16 %0, h;}", : "+f"(f))
KERNEL(mufu_ex2, 1, "ex2.approx.ftz.f32 %0, %0;", : "+f"(f))
// A square root, so that the chain does not fold: two reciprocals cancel.
KERNEL(mufu_rsqrt, 1, "rsqrt.approx.ftz.f32 %0, %0;", : "+f"(f))

// ---- f64, conversions, and one result for the whole warp ----
KERNEL(fma_f64, 1, "fma.rn.f64 %0, %0, %1, %1;", : "+d"(d) : "d"(e))
KERNEL(f32_to_s32_and_back, 2, "{.reg .s32 whole;\ncvt.rni.s32.f32 whole, %0;\ncvt.rn.f32.s32 %0, whole;}", : "+f"(f))
// `step` and `bytes` are the same in all threads, so ptxas computes with uniform registers: UIADD3 and ULOP3, UIMAD.
KERNEL(uniform_add_xor, 2, "add.u32 %0, %0, 77;\nxor.b32 %0, %0, 1234567;", : "+r"(u))
KERNEL(uniform_imad, 1, "mad.lo.u32 %0, %0, %1, %2;", : "+r"(u) : "r"(step), "r"(bytes))

// ---- two independent kinds: do their pipes overlap? ----
KERNEL(ffma_beside_imad, 2, "fma.rn.f32 %0, %0, %2, %2;\nmad.lo.s32 %1, %1, %3, %3;", : "+f"(f), "+r"(x) : "f"(g), "r"(z))
KERNEL(two_ffma_beside_imad, 3, "fma.rn.f32 %0, %0, %2, %2;\nfma.rn.f32 %0, %0, %2, %2;\nmad.lo.s32 %1, %1, %3, %3;", : "+f"(f), "+r"(x) : "f"(g), "r"(z))
KERNEL(ffma_beside_mul_wide, 2, "{.reg .u32 low, high;\nmov.b64 {low, high}, %1;\nfma.rn.f32 %0, %0, %2, %2;\nmul.wide.u32 %1, high, %3;}", : "+f"(f), "+l"(p) : "f"(g), "r"(z))
KERNEL(imad_beside_widen, 2, "{.reg .b16 low, high;\nmov.b32 {low, high}, %0;\ncvt.f32.f16 %0, low;\nmad.lo.s32 %1, %1, %2, %2;}", : "+f"(f), "+r"(x) : "r"(z))
KERNEL(ffma_beside_lop3, 2, "fma.rn.f32 %0, %0, %2, %2;\nlop3.b32 %1, %1, %3, %4, 0x96;", : "+f"(f), "+r"(x) : "f"(g), "r"(z), "r"(w))
KERNEL(two_ffma_beside_lop3, 3, "fma.rn.f32 %0, %0, %2, %2;\nfma.rn.f32 %0, %0, %2, %2;\nlop3.b32 %1, %1, %3, %4, 0x96;", : "+f"(f), "+r"(x) : "f"(g), "r"(z), "r"(w))
KERNEL(ffma_beside_imad_and_lop3, 3, "fma.rn.f32 %0, %0, %3, %3;\nmad.lo.s32 %2, %2, %4, %4;\nlop3.b32 %1, %1, %4, %5, 0x96;", : "+f"(f), "+r"(x), "+r"(y) : "f"(g), "r"(z), "r"(w))
KERNEL(ffma_beside_shf, 2, "fma.rn.f32 %0, %0, %2, %2;\nshf.l.wrap.b32 %1, %1, %3, %4;", : "+f"(f), "+r"(x) : "f"(g), "r"(z), "r"(w))
KERNEL(imad_beside_shf, 2, "mad.lo.s32 %0, %0, %2, %2;\nshf.l.wrap.b32 %1, %1, %2, %3;", : "+r"(y), "+r"(x) : "r"(z), "r"(w))

// ---- among the lanes of a warp ----
// The distance changes with each turn, so that no two shuffles cancel.
KERNEL(shfl, 1, "shfl.sync.up.b32 %0, %0, %1, 0, 0xffffffff;", : "+r"(x) : "r"(i + 1))
KERNEL(redux, 1, "redux.sync.add.s32 %0, %0, 0xffffffff;", : "+r"(x))
KERNEL(isetp_vote, 2, "{.reg .pred p;\nsetp.ne.u32 p, %0, %1;\nvote.sync.ballot.b32 %0, p, 0xffffffff;}", : "+r"(x) : "r"(y))

// ---- constants ----
// A chain through 0, at an index that the compiler does not know and that is the same in all lanes: one LDC in each
// turn.
__constant__ unsigned zeros[4];

extern "C" __global__ void ldc(PARAMETERS)
{
    unsigned at = data[0] - data[0] % 4 - 4;            // 0, since data[0] is 5
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n)
        #pragma unroll
        for (int i = 0; i < CHAIN; ++i)
            at = *(const unsigned*)((const char*)zeros + at);
    finish(result, sink, start, (u64)times * CHAIN, at);
}

// ---- from a cache or not ----
// A launch's first pass over straight-line code, and later ones: an operation is an FFMA, with 16 bytes of code.
template <int TURNS>
__device__ void code(PARAMETERS)
{
    float f[4] = {}, g = __uint_as_float(data[1]);
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n)
        #pragma unroll
        for (int i = 0; i < TURNS; ++i)
            asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f[i % 4]) : "f"(g));
    finish(result, sink, start, (u64)times * TURNS, __float_as_uint(f[0] + f[1] + f[2] + f[3]));
}
#define CODE(turns) extern "C" __global__ void code_##turns(PARAMETERS) { code<turns>(result, sink, data, bytes, step, times); }
CODE(128)
CODE(512)
CODE(2048)
CODE(8192)

// ---- which warp goes first ----
// All warps execute independent FFMA. The clocks are those of warp `step` of the first scheduler: warps 0, 4, 8 ... of the block
// have the same scheduler.
extern "C" __global__ void turns_ffma(PARAMETERS)
{
    float f[8] = {}, g = __uint_as_float(data[1]);
    __syncthreads();
    const long long start = clock64();
    #pragma unroll 1
    for (unsigned n = 0; n < times; ++n)
        #pragma unroll
        for (int i = 0; i < 8 * CHAIN; ++i)
            asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f[i % 8]) : "f"(g));
    finish_warp(result, sink, start, (u64)times * 8 * CHAIN, step, __float_as_uint(f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7]));
}

// ---- ordering ----
KERNEL(bar_sync, 1, "bar.sync 0;", ::: "memory")
KERNEL(membar_cta, 1, "membar.cta;", ::: "memory")
KERNEL(membar_gl, 1, "membar.gl;", ::: "memory")
KERNEL(fence_acq_rel_cluster, 1, "fence.acq_rel.cluster;", ::: "memory")
KERNEL(fence_proxy_async, 1, "fence.proxy.async;", ::: "memory")
KERNEL(fence_proxy_async_shared, 1, "fence.proxy.async.shared::cta;", ::: "memory")
