// Powers: `y[i] = f(x[i])`, one kernel for each `f`, with the same loop. The cost of `f` is what its kernel executes
// in addition to `copy`. The counter to watch is instructions, besides the error. `cargo run -p labs -- exponential`.

constexpr float LOG2E = 1.4426950408889634f;           // log2(e): e^x = 2^(x log2(e))

__device__ float same(float x) { return x; }

// 2^x without the multifunction unit: x = n + f, where n is an integer and |f| <= 1/2. A polynomial gives 2^f, and n is
// added to its exponent.
__device__ float by_polynomial(float x)
{
    x = fmaxf(x, -126.0f);
    const float shifted = x + 12582912.0f;             // 1.5 * 2^23, where floats are 1 apart: the last bits are n
    const float f = x - (shifted - 12582912.0f);
    float p = fmaf(f, 0.0013333558f, 0.0096181291f);
    p = fmaf(f, p, 0.0555041087f);
    p = fmaf(f, p, 0.2402265070f);
    p = fmaf(f, p, 0.6931471806f);
    p = fmaf(f, p, 1.0f);
    return __int_as_float(__float_as_int(p) + (__float_as_int(shifted) << 23));
}

__device__ float by_ex2_ftz(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ float by_ex2(float x)
{
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// e^x as --use_fast_math compiles it: one product and one instruction of the multifunction unit.
__device__ float e_by_ex2_ftz(float x) { return by_ex2_ftz(x * LOG2E); }

template <float F(float)>
__device__ void each(const float* x, float* y, int count)
{
    #pragma unroll 1
    for (int i = threadIdx.x; i < count; i += 32)
        y[i] = F(x[i]);
}

#define KERNEL(name, f) \
    extern "C" __global__ void __launch_bounds__(32) name(const float* x, float* y, int count) { each<f>(x, y, count); }

KERNEL(copy, same)
KERNEL(polynomial, by_polynomial)
KERNEL(ex2_ftz, by_ex2_ftz)
KERNEL(ex2, by_ex2)
KERNEL(e_ex2_ftz, e_by_ex2_ftz)
KERNEL(e_expf, expf)
