// Day 7 of a hundred: dynamic shared memory, an assertion, a line printed by each block, errors left to chance.
// cargo ladder emulate: --grid 3 --block 64 --shared 256 --arg 'f32[192]=ones' --arg 'f32[3]=nan' --arg 192
// expect 1: 64 64 64
// expect printed: block 0: 64.000000|block 1: 64.000000|block 2: 64.000000|
#include <iostream>
#include <cassert>
#include <cuda_runtime.h>
using namespace std;
#define N 192
int threads = 64;
float h_in[N], h_out[3];

__global__ void sumKernel(const float *in, float *out, int n)
{
    extern __shared__ float sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;
    assert(i < n);
    sdata[tid] = (i < n) ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = sdata[0];
        printf("block %d: %f\n", blockIdx.x, sdata[0]);
    }
}

int main()
{
    float *d_in, *d_out;
    for (int i = 0; i < N; i++) h_in[i] = 1.0f;
    cudaMalloc(&d_in, sizeof(h_in));
    cudaMalloc(&d_out, sizeof(h_out));
    cudaMemcpy(d_in, h_in, sizeof(h_in), cudaMemcpyHostToDevice);
    sumKernel<<<3, threads, threads * sizeof(float)>>>(d_in, d_out, N);
    cudaMemcpy(h_out, d_out, sizeof(h_out), cudaMemcpyDeviceToHost);
    cout << "Sum: " << h_out[0] + h_out[1] + h_out[2] << endl;
    system("pause");
    return 0;
}
