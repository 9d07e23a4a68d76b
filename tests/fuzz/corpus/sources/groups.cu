nst int *in, int *out) {
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
    cub::DeviceReduce::Sum(nullptr, bytes, in.begin(), out.begin(),