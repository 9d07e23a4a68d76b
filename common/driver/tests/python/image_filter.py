"""cuda.bindings: constant memory, a global counter, pitched rows, two streams ordered by an event, and functions that the GPU
approximates."""
import ctypes

import numpy as np
from cuda.bindings import driver, nvrtc
from digests import digest

SOURCE = rb"""
__constant__ float taps[5];
__device__ int launches;
extern "C" __global__ void blur(const char* in, size_t in_pitch, char* out, size_t out_pitch, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x == 0 && y == 0) atomicAdd(&launches, 1);
    if (x >= width || y >= height) return;
    const float* row = (const float*)(in + y * in_pitch);
    float sum = 0;
    for (int k = -2; k <= 2; ++k) sum = fmaf(taps[k + 2], row[min(max(x + k, 0), width - 1)], sum);
    ((float*)(out + y * out_pitch))[x] = sum;
}
extern "C" __global__ void functions(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = __expf(x[i]);
    y[n + i] = rsqrtf(x[i] + 1.0f);
    y[2 * n + i] = sinf(x[i]);
    y[3 * n + i] = logf(x[i] + 1.0f);
    y[4 * n + i] = tanhf(x[i]);
    y[5 * n + i] = 1.0f / (x[i] + 1.0f);
    y[6 * n + i] = powf(x[i], 1.5f);
}
"""


def check(result):
    code, *values = result
    assert code.value == 0, code
    return values[0] if len(values) == 1 else values


program = check(nvrtc.nvrtcCreateProgram(SOURCE, b"image_filter.cu", 0, [], []))
options = [b"--gpu-architecture=compute_90", b"--fmad=false"]
check(nvrtc.nvrtcCompileProgram(program, len(options), options))
ptx = b" " * check(nvrtc.nvrtcGetPTXSize(program))
check(nvrtc.nvrtcGetPTX(program, ptx))

check(driver.cuInit(0))
device = check(driver.cuDeviceGet(0))
check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(device))))
module = check(driver.cuModuleLoadData(ptx))
blur, functions = (check(driver.cuModuleGetFunction(module, name)) for name in (b"blur", b"functions"))

taps = np.array([1, 4, 6, 4, 1], np.float32) / np.float32(16)
d_taps, size = check(driver.cuModuleGetGlobal(module, b"taps"))
assert size == taps.nbytes
check(driver.cuMemcpyHtoD(d_taps, taps.ctypes.data, taps.nbytes))

width, height = 150, 37
image = np.random.default_rng(3).random((height, width), dtype=np.float32)
out = np.zeros_like(image)
(d_in, in_pitch), (d_out, out_pitch) = (check(driver.cuMemAllocPitch(4 * width, height, 4)) for _ in range(2))
host, device_memory = driver.CUmemorytype.CU_MEMORYTYPE_HOST, driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
upload, compute = (check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)) for _ in range(2))
uploaded = check(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING))

rows = driver.CUDA_MEMCPY2D()
rows.srcMemoryType, rows.srcHost, rows.srcPitch = host, image.ctypes.data, 4 * width
rows.dstMemoryType, rows.dstDevice, rows.dstPitch = device_memory, d_in, in_pitch
rows.WidthInBytes, rows.Height = 4 * width, height
check(driver.cuMemcpy2DAsync(rows, upload))
check(driver.cuEventRecord(uploaded, upload))
check(driver.cuStreamWaitEvent(compute, uploaded, 0))
types = (None, ctypes.c_size_t, None, ctypes.c_size_t, ctypes.c_int, ctypes.c_int)
arguments = ((d_in, in_pitch, d_out, out_pitch, width, height), types)
check(driver.cuLaunchKernel(blur, -(-width // 32), -(-height // 8), 1, 32, 8, 1, 0, compute, arguments, 0))
rows = driver.CUDA_MEMCPY2D()
rows.srcMemoryType, rows.srcDevice, rows.srcPitch = device_memory, d_out, out_pitch
rows.dstMemoryType, rows.dstHost, rows.dstPitch = host, out.ctypes.data, 4 * width
rows.WidthInBytes, rows.Height = 4 * width, height
check(driver.cuMemcpy2DAsync(rows, compute))
check(driver.cuStreamSynchronize(compute))
padded = np.pad(image, ((0, 0), (2, 2)), mode="edge").astype(np.float64)
np.testing.assert_allclose(out, sum(taps[k] * padded[:, k:k + width] for k in range(5)), rtol=1e-6)
launches = np.zeros(1, np.int32)
d_launches, _ = check(driver.cuModuleGetGlobal(module, b"launches"))
check(driver.cuMemcpyDtoH(launches.ctypes.data, d_launches, 4))
assert launches[0] == 1
digest("blur", out)

n = 3000
x = np.random.default_rng(4).random(n, dtype=np.float32) * np.float32(5)
y = np.zeros((7, n), np.float32)
d_x, d_y = (check(driver.cuMemAllocAsync(array.nbytes, compute)) for array in (x, y))
check(driver.cuMemcpyHtoDAsync(d_x, x.ctypes.data, x.nbytes, compute))
check(driver.cuMemsetD32Async(d_y, 0, 7 * n, compute))
check(driver.cuLaunchKernel(functions, 12, 1, 1, 256, 1, 1, 0, compute, ((d_x, d_y, n), (None, None, ctypes.c_int)), 0))
check(driver.cuMemcpyDtoHAsync(y.ctypes.data, d_y, y.nbytes, compute))
check(driver.cuMemFreeAsync(d_x, compute))
check(driver.cuMemFreeAsync(d_y, compute))
check(driver.cuStreamSynchronize(compute))
wide = x.astype(np.float64)
right = [np.exp(wide), 1 / np.sqrt(wide + 1), np.sin(wide), np.log(wide + 1), np.tanh(wide), 1 / (wide + 1), wide**1.5]
np.testing.assert_allclose(y, right, rtol=1e-5, atol=1e-6)
for name, values in zip(("exp", "rsqrt", "sin", "log", "tanh", "reciprocal", "power"), y):
    digest(name, values)
print("image filter: every element is right")
