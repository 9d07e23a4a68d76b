// mma.sync: N accumulators of a warp, one after the other; 1 measures the latency of a dependent chain, more
// measure the issue interval. All operands are 0: their values change the power, not the clocks.
constexpr int PRODUCTS = 16;                           // in one turn of the loop

#define KERNEL(name, text, accumulators, ending)                                                     \
extern "C" __global__ void name(PARAMETERS)                                                          \
{                                                                                                    \
    float d[accumulators][4] = {};                                                                   \
    const unsigned a = data[0], b = data[1];                                                         \
    __syncthreads();                                                                                 \
    const long long start = clock64();                                                               \
    _Pragma("unroll 1")                                                                              \
    for (unsigned n = 0; n < times; ++n)                                                             \
        _Pragma("unroll")                                                                            \
        for (int i = 0; i < PRODUCTS; ++i) {                                                         \
            float (&c)[4] = d[i % accumulators];                                                     \
            asm volatile(text : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a), "r"(b));    \
        }                                                                                            \
    float sum = 0;                                                                                   \
    for (int i = 0; i < accumulators; ++i)                                                           \
        sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];                                                \
    ending;                                                                                          \
}

#define M16N8K16 "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};"
#define M16N8K8 "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4}, {%5}, {%0, %1, %2, %3};"
#define ALL finish(result, sink, start, (u64)times * PRODUCTS, __float_as_uint(sum))
// Which warp of a scheduler goes first? See turns_ffma in instructions.cu.
#define ONE finish_warp(result, sink, start, (u64)times * PRODUCTS, step, __float_as_uint(sum))
KERNEL(turns, M16N8K16, 8, ONE)
KERNEL(m16n8k16_chain, M16N8K16, 1, ALL)
KERNEL(m16n8k16_of_2, M16N8K16, 2, ALL)
KERNEL(m16n8k16_of_4, M16N8K16, 4, ALL)
KERNEL(m16n8k16_of_8, M16N8K16, 8, ALL)
KERNEL(m16n8k8_chain, M16N8K8, 1, ALL)
KERNEL(m16n8k8_of_8, M16N8K8, 8, ALL)
