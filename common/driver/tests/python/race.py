import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

SOURCE = r"""
extern "C" __global__ void reverse(int* numbers) {
    __shared__ int tile[64];
    tile[threadIdx.x] = numbers[threadIdx.x];
    numbers[threadIdx.x] = tile[63 - threadIdx.x];
}
"""

device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(arch="sm_90", name="reverse.cu", lineinfo=True)
kernel = Program(SOURCE, code_type="c++", options=options).compile("ptx").get_kernel("reverse")

pinned = LegacyPinnedMemoryResource().allocate(64 * 4)
host = np.from_dlpack(pinned).view(np.int32)
host[:] = np.arange(64)
numbers = device.memory_resource.allocate(64 * 4, stream=stream)
pinned.copy_to(numbers, stream=stream)
launch(stream, LaunchConfig(grid=1, block=64), kernel, numbers)
numbers.copy_to(pinned, stream=stream)
stream.sync()
print("reversed" if list(host) == list(range(63, -1, -1)) else "not reversed", flush=True)
