"""cuda.bindings: TMA by a tensor map. With the argument `race`, threads read the tile before the copy has arrived."""
import ctypes
import sys

import numpy as np
from cuda.bindings import driver, nvrtc
from digests import digest

SOURCE = rb"""
struct alignas(64) TensorMap { unsigned long long opaque[16]; };
extern "C" __global__ void transpose(const __grid_constant__ TensorMap map, int* out, int wait) {
    __shared__ alignas(128) int tile[32][32];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier), to = (unsigned)__cvta_generic_to_shared(&tile);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar));
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" :: "r"(bar) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                     :: "r"(to), "l"(&map), "r"(bar), "r"(blockIdx.x * 32), "r"(blockIdx.y * 32) : "memory");
    }
    __syncthreads();
    if (wait)
        asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }" :: "r"(bar) : "memory");
    for (int row = 0; row < 32; ++row)
        out[(blockIdx.x * 32 + row) * 64 + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][row];  // race
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }" :: "r"(bar) : "memory");
}
"""


def check(result):
    code, *values = result
    assert code.value == 0, code
    return values[0] if len(values) == 1 else values


program = check(nvrtc.nvrtcCreateProgram(SOURCE, b"transpose.cu", 0, [], []))
options = [b"--gpu-architecture=compute_90a", b"--generate-line-info"]
check(nvrtc.nvrtcCompileProgram(program, len(options), options))
ptx = b" " * check(nvrtc.nvrtcGetPTXSize(program))
check(nvrtc.nvrtcGetPTX(program, ptx))

check(driver.cuInit(0))
context = check(driver.cuDevicePrimaryCtxRetain(check(driver.cuDeviceGet(0))))
check(driver.cuCtxSetCurrent(context))
kernel = check(driver.cuModuleGetFunction(check(driver.cuModuleLoadData(ptx)), b"transpose"))

numbers = np.arange(64 * 64, dtype=np.int32).reshape(64, 64)
d_in, d_out = (check(driver.cuMemAlloc(numbers.nbytes)) for _ in range(2))
check(driver.cuMemcpyHtoD(d_in, numbers.ctypes.data, numbers.nbytes))
u32, u64 = driver.cuuint32_t, driver.cuuint64_t
tensor_map = check(driver.cuTensorMapEncodeTiled(
    driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_INT32, 2, d_in, [u64(64), u64(64)], [u64(256)], [u32(32), u32(32)],
    [u32(1), u32(1)], driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
    driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_NONE, driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
    driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
arguments = ((tensor_map, int(d_out), "race" not in sys.argv), (None, ctypes.c_void_p, ctypes.c_int))
check(driver.cuLaunchKernel(kernel, 2, 2, 1, 32, 1, 1, 0, 0, arguments, 0))
out = np.zeros_like(numbers)
check(driver.cuMemcpyDtoH(out.ctypes.data, d_out, out.nbytes))
if "race" not in sys.argv:
    digest("transposed", out)
print("tensor map: transposed" if (out == numbers.T).all() else "tensor map: wrong")
