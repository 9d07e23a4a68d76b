// A reduction in one cooperative launch: its blocks wait for each other.
// cargo ladder emulate: --cooperative --grid 8 --block 64 --arg 'f32[4096]=ones' --arg 'f32[8]=nan' --arg 'f32[4096]=nan' --arg 4096
// expect 1: 512 512 512 512 512 512
// expect 2: 0.000244140625 0.000244140625 0.000244140625 0.000244140625 0.000244140625 0.000244140625
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;

__global__ void normalize(const float *in, float *partial, float *out, int n) {
    cg::grid_group grid = cg::this_grid();
    __shared__ float sums[64];
    float sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
    grid.sync();
    float all = 0;
    for (int block = 0; block < gridDim.x; block++) all += partial[block];
    for (int i = grid.thread_rank(); i < n; i += grid.size()) out[i] = in[i] / all;
}

int main() {
    int n = 4096, blocks = 8;
    float *in, *partial, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&partial, blocks * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    void *args[] = {&in, &partial, &out, &n};
    cudaLaunchCooperativeKernel((void *)normalize, blocks, 64, args, 0, nullptr);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
