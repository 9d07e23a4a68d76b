The same kernels from one macro: what makes them is not told apart, so all of the device's code is kept.
// cargo ladder emulate: --kernel sub_kernel --grid 1 --block 32 --arg 'f32[32]=iota' --arg 'f32[32]=2' --arg 32
// expect 0: -2 -1 0 1 2 3
#include <stdio.h>
__device__ float identity(float x) { return x; }
#define DEFINE_BINARY(name, op)                                           \
    __global__ void name##_kernel(float *x, const float *y, int n) {      \
        int i = threadIdx.x;                                              \
        if (i < n) x[i] = x[i] op identity(y[i]);                         \
    }
DEFINE_BINARY(add, +)
DEFINE_BINARY(sub, -);
DEFINE_BINARY(mul, *)
int main()