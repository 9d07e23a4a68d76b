// Kernels that macros make, annotations behind macros, namespaces that macros open.
// cargo ladder emulate: --kernel mul_kernel --grid 1 --block 32 --arg 'f32[32]=iota' --arg 'f32[32]=2' --arg 32
// expect 0: 0 2 4 6 8 10
#include <stdio.h>
#define GPU_FN __device__ __forceinline__
#define HD __host__ __device__
#define KERNEL extern "C" __global__ void
#define BEGIN_OPS namespace ops {
#define END_OPS }
#define CHECK_LAST() do { cudaError_t e = cudaGetLastError(); if (e) { fprintf(stderr, "%d\n", e); abort(); } } while (0)
#define DEFINE_BINARY(name, op)                                           \
    __global__ void name##_kernel(float *x, const float *y, int n) {      \
        int i = ops::index();                                             \
        if (i < n) x[i] = x[i] op ops::identity(y[i]);                    \
    }                                                                     \
    void name(float *x, const float *y, int n) { name##_kernel<<<1, n>>>(x, y, n); CHECK_LAST(); }

BEGIN_OPS
GPU_FN int index() { return blockIdx.x * blockDim.x + threadIdx.x; }
template <class T> HD T identity(T x) { return x; }
void report(FILE *out) { fprintf(out, "ops\n"); }
END_OPS

#define __global__device__ none
KERNEL scale(float *x, float by) { x[ops::index()] *= by; }

__global__ void plus_kernel(float *x, const float *y, int n) { x[ops::index()] += y[0]; }
__global__ void mul_kernel(float *x, const float *y, int n) {
    int i = ops::index();
    if (i < n) x[i] = x[i] * ops::identity(y[i]);
}

int main() { CHECK_LAST(); }
