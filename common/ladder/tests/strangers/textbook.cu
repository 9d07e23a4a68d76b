// As textbooks have it: a function of the host around each kernel, with nearly the same name.
// cargo ladder emulate: --kernel vecAddKernel --grid 4 --block 32
//   --arg 'f32[100]=iota' --arg 'f32[100]=0.5' --arg 'f32[100]=nan' --arg 100
// expect 2: 0.5 1.5 2.5 3.5 4.5 5.5
#include <stdio.h>
#include <stdlib.h>
#include <cuda.h>

__global__
void vecAddKernel(float* A, float* B, float* C, int n) {
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i < n) {
        C[i] = A[i] + B[i];
    }
}

void vecAdd(float* A_h, float* B_h, float* C_h, int n) {
    int size = n * sizeof(float);
    float *A_d, *B_d, *C_d;
    cudaMalloc((void **) &A_d, size);
    cudaMalloc((void **) &B_d, size);
    cudaMalloc((void **) &C_d, size);
    cudaMemcpy(A_d, A_h, size, cudaMemcpyHostToDevice);
    cudaMemcpy(B_d, B_h, size, cudaMemcpyHostToDevice);
    vecAddKernel<<<ceil(n / 256.0), 256>>>(A_d, B_d, C_d, n);
    cudaMemcpy(C_h, C_d, size, cudaMemcpyDeviceToHost);
    cudaFree(A_d), cudaFree(B_d), cudaFree(C_d);
}

int compare(const void *a, const void *b) { return *(const float *)a < *(const float *)b ? -1 : 1; }

int main(void)
{
    float *A = (float *)malloc(100 * sizeof(float)), *B = (float *)malloc(400), *C = (float *)malloc(400);
    for (int i = 0; i < 100; ++i) { A[i] = i; B[i] = rand() / (float)RAND_MAX; }
    vecAdd(A, B, C, 100);
    qsort(C, 100, sizeof(float), compare);
    printf("C[0] = %f, \"{\" and '}'\n", C[0]);
    free(A); free(B); free(C);
    return 0;
}
