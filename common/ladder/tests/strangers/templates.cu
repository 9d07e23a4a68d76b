// A reduction as a template, launched by a template of the host's with a switch over sizes.
// cargo ladder emulate: --kernel 'reduce<float, 256>' --grid 4 --block 256
//   --arg 'f32[4096]=ones' --arg 'f32[4]=nan' --arg 4096
// expect 1: 1024 1024 1024 1024
#include <cstdio>
#include <iostream>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>

template <typename T>
__device__ __forceinline__ T warpReduce(T value) {
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) reduce(const T* __restrict__ in, T* __restrict__ out, int n) {
    __shared__ T partial[BLOCK / 32];
    T sum = T(0);
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) sum += in[i];
    sum = warpReduce<T>(sum);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < BLOCK / 32 ? partial[threadIdx.x] : T(0);
        sum = warpReduce(sum);
        if (threadIdx.x == 0) out[blockIdx.x] = sum;
    }
}

template <typename T>
void launch(const T *in, T *out, int n, int block, cudaStream_t stream = 0) {
    switch (block) {
    case 64: reduce<T, 64><<<4, 64, 0, stream>>>(in, out, n); break;
    case 256: reduce<T, 256><<<4, 256, 0, stream>>>(in, out, n); break;
    default: throw std::runtime_error("no such block");
    }
}

template void launch<float>(const float *, float *, int, int, cudaStream_t);

int main() {
    std::vector<float> host(4096, 1.0f);
    float *in = nullptr, *out = nullptr;
    cudaMalloc(&in, host.size() * sizeof(float));
    launch<float>(in, out, static_cast<int>(host.size()), 256);
    std::cout << std::accumulate(host.begin(), host.end(), 0.0f) << std::endl;
}
