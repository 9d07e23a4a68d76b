/ cargo ladder emulate: --grid 2 --block 32 --arg 'f32[64]=iota' --arg 'f32[64]=nan'
// expect 1: 31 30 29 28 27 26
#include <cuda/pipeline>
#include <cuda/std/cstdint>
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void reversed(const float *in, float *out) {
    __shared__ alignas(16) float tile[32];
    auto pipe = cuda::make_pipeline();
    const cuda::std::uint32_t base = blockIdx.x * 32;
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[threadIdx.x], &in[base + threadIdx.x], sizeof(float), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    __syncthreads();
    out[base + threadIdx.x] = tile[31 - threadIdx.x];
    pipe.consumer_release();
}

int main() { 