"""cuda.core: a template, pools and pinned memory, events, shared memory, occupancy, a graph."""
import numpy as np
from cuda.core import (
    Device, EventOptions, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch,
)
from digests import digest

SOURCE = r"""
template <int BLOCK>
__global__ void reduce(const int* x, int* sum, int n) {
    __shared__ int partial[BLOCK];
    int t = threadIdx.x, value = 0;
    for (int i = blockIdx.x * BLOCK + t; i < n; i += gridDim.x * BLOCK) value += x[i];
    partial[t] = value;
    __syncthreads();
    for (int step = BLOCK / 2; step > 0; step /= 2) {
        if (t < step) partial[t] += partial[t + step];
        __syncthreads();
    }
    if (t == 0) atomicAdd(sum, partial[0]);
}
"""

device = Device()
device.set_current()
assert device.compute_capability == (9, 0), device.name
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch="sm_90", name="reduction.cu", lineinfo=True)
module = Program(SOURCE, code_type="c++", options=options).compile("ptx", name_expressions=("reduce<256>",))
kernel = module.get_kernel("reduce<256>")
assert kernel.num_arguments == 3
assert kernel.occupancy.max_active_blocks_per_multiprocessor(256, 0) == 8

n = 5000
pinned = LegacyPinnedMemoryResource()
on_host = pinned.allocate(4 * n)
numbers = np.from_dlpack(on_host).view(np.int32)
numbers[:] = np.arange(n)
on_device = device.memory_resource.allocate(4 * n, stream=stream)
result = device.memory_resource.allocate(4, stream=stream)
on_host.copy_to(on_device, stream=stream)
config = LaunchConfig(grid=4, block=256)

timed = EventOptions(timing_enabled=True)
start = stream.record(options=timed)
result.fill(0, stream=stream)
launch(stream, config, kernel, on_device, result, np.int32(n))
end = stream.record(options=timed)
back = pinned.allocate(4)
value = np.from_dlpack(back).view(np.int32)
result.copy_to(back, stream=stream)
stream.sync()
assert value[0] == n * (n - 1) // 2, value
assert end - start >= 0
digest("sum", value)

builder = stream.create_graph_builder()
builder.begin_building()
launch(builder, config, kernel, on_device, result, np.int32(n))
graph = builder.end_building().complete()
for _ in range(2):
    graph.launch(stream)
result.copy_to(back, stream=stream)
stream.sync()
assert value[0] == 3 * n * (n - 1) // 2, value
digest("three_sums", value)
print("reduction: the sum is right, and so it is twice more by a graph")
