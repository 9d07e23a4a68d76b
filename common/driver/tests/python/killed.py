"""A kernel that runs for hours on the emulator, for a client that is killed in the middle of it."""
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

SOURCE = r"""
extern "C" __global__ void count(volatile unsigned long long* to) {
    for (unsigned long long i = 0; i < 1ull << 60; ++i) to[threadIdx.x] = i;
}
"""

device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(arch="sm_90", name="count.cu")
kernel = Program(SOURCE, code_type="c++", options=options).compile("ptx").get_kernel("count")
pinned = LegacyPinnedMemoryResource().allocate(32 * 8)
print("launched", flush=True)
launch(stream, LaunchConfig(grid=1, block=32), kernel, pinned)
stream.sync()
