"""cuda.core: kernels from one template, a cooperative launch whose blocks wait for each other, and a graph that forks and joins."""
import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch
from digests import digest

SOURCE = r"""
template <typename T, int DEGREE>
__global__ void polynomial(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T sum = 0;
#pragma unroll
    for (int k = DEGREE; k >= 0; --k) sum = sum * x[i] + T(k + 1);
    y[i] = sum;
}
// The sums of all prefixes: each block's, then those of the blocks before it, for which all blocks have to be resident.
__global__ void scan(const int* in, int* out, volatile int* sums, unsigned* arrived, int n) {
    __shared__ int partial[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    partial[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        int before = t >= step ? partial[t - step] : 0;
        __syncthreads();
        partial[t] += before;
        __syncthreads();
    }
    if (t == 127) sums[blockIdx.x] = partial[127];
    __syncthreads();
    if (t == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    int before = 0;
    for (int block = 0; block < blockIdx.x; ++block) before += sums[block];
    if (i < n) out[i] = partial[t] + before;
}
"""

device = Device()
device.set_current()
stream = device.create_stream()
names = ("polynomial<float, 7>", "polynomial<double, 3>", "scan")
options = ProgramOptions(std="c++17", arch="sm_90", name="templates.cu", lineinfo=True)
module = Program(SOURCE, code_type="c++", options=options).compile("ptx", name_expressions=names)
in_float, in_double, scan = (module.get_kernel(name) for name in names)
pinned = LegacyPinnedMemoryResource()


class Array:
    """Numbers on the host and on the device."""

    def __init__(self, values):
        self.buffer = pinned.allocate(values.nbytes)
        self.values = np.from_dlpack(self.buffer).view(values.dtype)
        self.values[:] = values
        self.on_device = device.memory_resource.allocate(values.nbytes, stream=stream)
        self.buffer.copy_to(self.on_device, stream=stream)

    def back(self):
        self.on_device.copy_to(self.buffer, stream=stream)
        stream.sync()
        return self.values


n = 1000
random = np.random.default_rng(7)
config = LaunchConfig(grid=-(-n // 256), block=256)
for name, kernel, kind, degree in (("float", in_float, np.float32, 7), ("double", in_double, np.float64, 3)):
    x, y = Array(random.random(n).astype(kind)), Array(np.zeros(n, kind))
    launch(stream, config, kernel, x.on_device, y.on_device, np.int32(n))
    right = np.polyval(np.arange(degree + 1.0, 0, -1), x.values.astype(np.float64))
    np.testing.assert_allclose(y.back(), right, rtol=1e-5 if kind == np.float32 else 1e-13)
    digest(name, y.values)

numbers, sums = Array(random.integers(0, 100, n).astype(np.int32)), Array(np.zeros(n, np.int32))
of_blocks, arrived = Array(np.zeros(8, np.int32)), Array(np.zeros(1, np.uint32))
cooperative = LaunchConfig(grid=8, block=128, is_cooperative=True)
launch(stream, cooperative, scan, numbers.on_device, sums.on_device, of_blocks.on_device, arrived.on_device, np.int32(n))
np.testing.assert_array_equal(sums.back(), np.cumsum(numbers.values))
digest("scan", sums.values)

x, y, left, right = (Array(random.random(n).astype(np.float32) / 8) for _ in range(4))
graph = stream.create_graph_builder().begin_building()
launch(graph, config, in_float, x.on_device, y.on_device, np.int32(n))
branches = graph.split(2)
for branch, to in zip(branches, (left, right)):
    launch(branch, config, in_float, y.on_device, to.on_device, np.int32(n))
graph = graph.join(*branches)
launch(graph, config, in_float, left.on_device, x.on_device, np.int32(n))
graph = graph.end_building().complete()
graph.launch(stream)
np.testing.assert_array_equal(left.back(), right.back())
digest("forked", right.values)
digest("joined", x.back())
print("templates: every element is right")
