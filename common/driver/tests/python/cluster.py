"""cuda.core: blocks of a cluster read each other's shared memory (cooperative groups' `map_shared_rank`, as PTX). With the argument
`race` they do not wait for each other first."""
import sys

import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch
from digests import digest

SOURCE = r"""
extern "C" __global__ void neighbor(int* out, int wait) {
    __shared__ int mine;
    unsigned rank, size, address;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    if (threadIdx.x == 0) mine = 100 * blockIdx.x;
    if (wait) asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
    int value;
    unsigned own = (unsigned)__cvta_generic_to_shared(&mine);
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(own), "r"((rank + 1) % size));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");  // race
    asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
    if (threadIdx.x == 0) out[blockIdx.x] = value;
}
"""

device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch="sm_90", name="cluster.cu", lineinfo=True)
kernel = Program(SOURCE, code_type="c++", options=options).compile("ptx").get_kernel("neighbor")
out = LegacyPinnedMemoryResource().allocate(4 * 8)
buffer = device.memory_resource.allocate(4 * 8, stream=stream)
# A grid is counted in clusters: two of four blocks.
race = "race" in sys.argv
launch(stream, LaunchConfig(grid=2, cluster=4, block=32), kernel, buffer, np.int32(not race))
buffer.copy_to(out, stream=stream)
stream.sync()
values = np.from_dlpack(out).view(np.int32)
assert race or list(values) == [100, 200, 300, 0, 500, 600, 700, 400], values
if not race:
    digest("neighbors", values)
print("cluster: each block has read its neighbor's shared memory")
