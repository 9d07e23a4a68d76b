/*
Several versions of one kernel, and a main that takes a number on the command line.
cargo ladder emulate: --kernel residual_forward_kernel2 --grid 2 --block 32
  --arg 'f32[256]=nan' --arg 'f32[256]=iota' --arg 'f32[256]=2' --arg 256
expect 0: 2 3 4 5 6 7
*/
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include "shared.h"

namespace cg = cooperative_groups;

// CPU code reference
void residual_forward_cpu(float *out, const float *inp1, const float *inp2, int N) {
    for (int i = 0; i < N; i++) {
        out[i] = inp1[i] + inp2[i];
    }
}

__global__ void residual_forward_kernel1(floatX *out, const floatX *inp1, const floatX *inp2, int N) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < N) out[idx] = (floatX)((float)inp1[idx] + (float)inp2[idx]);
}

__device__ x128 load128(const floatX *address) { return x128{*reinterpret_cast<const int4 *>(address)}; }

__global__ void residual_forward_kernel2(floatX *out, const floatX *inp1, const floatX *inp2, int N) {
    int idx = (blockIdx.x * blockDim.x + threadIdx.x) * x128::size;
    if (idx < N) {
        x128 packed_out;
        x128 packed_inp1 = load128(inp1 + idx), packed_inp2 = load128(inp2 + idx);
        for (int k = 0; k < packed_inp1.size; ++k) packed_out[k] = (floatX)((float)packed_inp1[k] + (float)packed_inp2[k]);
        *reinterpret_cast<int4 *>(out + idx) = packed_out.get_bits();
    }
}

void residual_forward1(floatX *out, const floatX *inp1, const floatX *inp2, int N, const int block_size) {
    const int grid_size = ceil_div(N, block_size);
    residual_forward_kernel1<<<grid_size, block_size>>>(out, inp1, inp2, N);
    cudaCheck(cudaGetLastError());
}

void residual_forward2(floatX *out, const floatX *inp1, const floatX *inp2, int N, const int block_size) {
    const int grid_size = ceil_div(N, (int)(block_size * x128::size));
    residual_forward_kernel2<<<grid_size, block_size>>>(out, inp1, inp2, N);
}

void residual_forward(int kernel_num, floatX *out, const floatX *inp1, const floatX *inp2, int N, int block_size) {
    switch (kernel_num) {
        case 1: residual_forward1(out, inp1, inp2, N, block_size); break;
        case 2: residual_forward2(out, inp1, inp2, N, block_size); break;
        default: printf("Invalid kernel number\n"); exit(1);
    }
}

int main(int argc, char **argv) {
    int kernel_num = argc > 1 ? atoi(argv[1]) : 1;
    int block_sizes[] = {32, 64, 128, 256, 512, 1024};
    float *inp1 = make_random_float(256);
    for (int j = 0; j < sizeof(block_sizes) / sizeof(int); j++) {
        float ms = benchmark_kernel(100, residual_forward, kernel_num, nullptr, nullptr, nullptr, 256, block_sizes[j]);
        validate_result(inp1, inp1, "out", 256, 1e-5f);
        printf("block_size %4d | time %.4f ms\n", block_sizes[j], ms);
    }
}
