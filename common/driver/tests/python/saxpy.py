"""cuda.bindings: the driver API call by call, from NVRTC's PTX to the copy back."""
import ctypes

import numpy as np
from cuda.bindings import driver, nvrtc
from digests import digest

SOURCE = rb"""
extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* out, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
"""


def check(result):
    code, *values = result
    assert code.value == 0, code
    return values[0] if len(values) == 1 else values


def compile_to_ptx(source):
    program = check(nvrtc.nvrtcCreateProgram(source, b"saxpy.cu", 0, [], []))
    options = [b"--gpu-architecture=compute_90", b"--fmad=false", b"--generate-line-info"]
    check(nvrtc.nvrtcCompileProgram(program, len(options), options))
    ptx = b" " * check(nvrtc.nvrtcGetPTXSize(program))
    check(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx


check(driver.cuInit(0))
device = check(driver.cuDeviceGet(0))
context = check(driver.cuDevicePrimaryCtxRetain(device))
check(driver.cuCtxSetCurrent(context))
module = check(driver.cuModuleLoadData(compile_to_ptx(SOURCE)))
kernel = check(driver.cuModuleGetFunction(module, b"saxpy"))
stream = check(driver.cuStreamCreate(0))

n = 1000
a = np.float32(2.5)
x, y = (np.random.default_rng(seed).random(n, dtype=np.float32) for seed in (1, 2))
out = np.zeros_like(x)
d_x, d_y, d_out = (check(driver.cuMemAlloc(x.nbytes)) for _ in range(3))
check(driver.cuMemcpyHtoDAsync(d_x, x.ctypes.data, x.nbytes, stream))
check(driver.cuMemcpyHtoDAsync(d_y, y.ctypes.data, y.nbytes, stream))
arguments = (
    (float(a), int(d_x), int(d_y), int(d_out), n),
    (ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t),
)
check(driver.cuLaunchKernel(kernel, (n + 255) // 256, 1, 1, 256, 1, 1, 0, stream, arguments, 0))
check(driver.cuMemcpyDtoHAsync(out.ctypes.data, d_out, out.nbytes, stream))
check(driver.cuStreamSynchronize(stream))
assert np.array_equal(out, a * x + y)
digest("saxpy", out)

# A wrong argument is an error and no crash.
code, = driver.cuMemcpyDtoH(out.ctypes.data, int(d_out) + 4, out.nbytes)
assert code == driver.CUresult.CUDA_ERROR_INVALID_VALUE, code
for pointer in (d_x, d_y, d_out):
    check(driver.cuMemFree(pointer))
check(driver.cuModuleUnload(module))
check(driver.cuDevicePrimaryCtxRelease(device))
print("saxpy: every element is right")
