// What several files share: checks of the host's, helpers of both.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>
#include "deeper/types.h"

template <class T>
__host__ __device__ T ceil_div(T dividend, T divisor) { return (dividend + divisor - 1) / divisor; }

inline void cuda_check(cudaError_t error, const char *file, int line) {
    if (error != cudaSuccess) {
        printf("[CUDA ERROR] at file %s:%d:\n%s\n", file, line, cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}
#define cudaCheck(err) (cuda_check(err, __FILE__, __LINE__))

static float *make_random_float(size_t n) {
    float *all = (float *)malloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++) all[i] = ((float)rand() / RAND_MAX) * 2.0 - 1.0;
    return all;
}

template <class D, class T>
void validate_result(D *device, const T *reference, const char *name, size_t n, T tolerance = 1e-4) {
    D *out = (D *)malloc(n * sizeof(D));
    cudaCheck(cudaMemcpy(out, device, n * sizeof(D), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++) if (fabs(reference[i] - (T)out[i]) > tolerance) printf("Mismatch of %s at %zu\n", name, i);
    free(out);
}

template <class Kernel, class... Args>
float benchmark_kernel(int repeats, Kernel kernel, Args &&...args) {
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    for (int i = 0; i < repeats; i++) kernel(std::forward<Args>(args)...);
    cudaEventCreate(&stop);
    return 0.f;
}
