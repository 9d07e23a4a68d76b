// Launches: empty blocks, and blocks that spin for `step` clocks and record when and where.
extern "C" __global__ void nothing(PARAMETERS) {}

// result: three numbers for each block: its first and its last clock, and its SM.
__device__ void spin_for(PARAMETERS)
{
    const long long start = clock64();
    while (clock64() - start < step) {}
    if (threadIdx.x > 0)
        return;
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    result[3 * blockIdx.x] = start;
    result[3 * blockIdx.x + 1] = clock64();
    result[3 * blockIdx.x + 2] = sm;
}

// Blocks one after the other on an SM.
extern "C" __global__ void spin(PARAMETERS) { spin_for(result, sink, data, bytes, step, times); }

// Blocks that an SM holds at the same time: how much later than one does the next begin?
extern "C" __global__ void starts(PARAMETERS) { spin_for(result, sink, data, bytes, step, times); }
