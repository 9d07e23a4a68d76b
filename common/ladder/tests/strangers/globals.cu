// Variables of the device's and of the host's, and two kernels of one name.
// cargo ladder emulate: --kernel 'tally(int const*, int)' --grid 2 --block 32 --symbol step=i32=3 --symbol params=i32[2]=4,1056964608
//   --arg 'i32[64]=uniform(0,4):1' --arg 64
// expect printed: bins 4 scale 0.5|
#include <cstdio>
struct Params { int bins; float scale; };
__constant__ Params params;
__device__ int step = 1;
__device__ unsigned histogram[4];
int host_counter = 0;
const int kBins = 4;
static bool verbose;
dim3 grid(2), block(32);

__global__ void tally(const int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&histogram[x[i] % kBins], step);
    if (i == 0) printf("bins %d scale %g\n", params.bins, params.scale);
}
__global__ void tally(const float *x, int n) {
    if (threadIdx.x < n) atomicAdd(&histogram[0], (unsigned)x[threadIdx.x]);
}
int main() {
    Params host = {4, 0.5f};
    cudaMemcpyToSymbol(params, &host, sizeof(host));
    tally<<<grid, block>>>((const int *)0, 64);
    host_counter++;
}
