"""cuda.core: a dot product by warp shuffles; its race is that warps' sums are read before they are all there."""
import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

SOURCE = r"""
template <bool BARRIER>
__global__ void dot(const float* x, const float* y, float* sum, int n) {
    __shared__ float warps[8];
    float value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += x[i] * y[i];
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    if (BARRIER) __syncthreads();
    if (threadIdx.x < 8) {
        value = warps[threadIdx.x];  // race
        for (int step = 4; step > 0; step /= 2) value += __shfl_down_sync(0xff, value, step);
        if (threadIdx.x == 0) atomicAdd(sum, value);
    }
}
"""

device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch="sm_90", name="dot.cu", lineinfo=True)
names = ("dot<true>", "dot<false>")
module = Program(SOURCE, code_type="c++", options=options).compile("ptx", name_expressions=names)

n = 4096
pinned = LegacyPinnedMemoryResource()
x, y, result = (pinned.allocate(4 * count) for count in (n, n, 1))
for buffer, seed in ((x, 1), (y, 2)):
    np.from_dlpack(buffer).view(np.float32)[:] = np.random.default_rng(seed).random(n, dtype=np.float32)
expected = np.from_dlpack(x).view(np.float32) @ np.from_dlpack(y).view(np.float32)
for name in names:
    # Kernels read and write pinned memory by the address that the host has.
    value = np.from_dlpack(result).view(np.float32)
    value[:] = 0
    launch(stream, LaunchConfig(grid=4, block=256), module.get_kernel(name), x, y, result, np.int32(n))
    stream.sync()
    print(name, "right" if np.isclose(value[0], expected, rtol=1e-4) else "wrong", flush=True)
