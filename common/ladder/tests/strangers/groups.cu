// Cooperative groups, on the device and for the host's launch.
// cargo ladder emulate: --grid 2 --block 64 --arg 'i32[128]=ones' --arg 'i32[4]=poison'
// expect 1: 32 32 32 32
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <cub/cub.cuh>
namespace cg = cooperative_groups;

__global__ void sums(const int *in, int *out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int sum = cg::reduce(tile, in[blockIdx.x * blockDim.x + threadIdx.x], cg::plus<int>());
    block.sync();
    if (tile.thread_rank() == 0) out[blockIdx.x * tile.meta_group_size() + tile.meta_group_rank()] = sum;
}

int main() {
    thrust::device_vector<int> in(128, 1), out(4);
    void *args[] = {thrust::raw_pointer_cast(in.data()), thrust::raw_pointer_cast(out.data())};
    cudaLaunchCooperativeKernel((void *)sums, dim3(2), dim3(64), args, 0, nullptr);
    size_t bytes = 0;
    cub::DeviceReduce::Sum(nullptr, bytes, in.begin(), out.begin(), 128);
}
