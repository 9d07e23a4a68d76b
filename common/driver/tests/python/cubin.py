"""A program that asks NVRTC for machine code, as most do."""
import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

SOURCE = 'extern "C" __global__ void twice(int *value) { *value *= 2; }'

device = Device()
device.set_current()
stream = device.create_stream()
program = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{device.arch}"))
twice = program.compile("cubin").get_kernel("twice")
buffer = LegacyPinnedMemoryResource().allocate(4)
value = np.from_dlpack(buffer).view(np.int32)
value[0] = 21
launch(stream, LaunchConfig(grid=1, block=1), twice, buffer)
stream.sync()
print("cubin:", value[0])
