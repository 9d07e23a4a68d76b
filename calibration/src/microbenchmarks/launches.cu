// Launches: empty blocks, and blocks that spin for `step` clocks and record when and where.
extern "C" __global__ void nothing(PARAMETERS) {}

// Blocks that only load or store a word with each thread. In place of clocks, their launches have a time.
extern "C" __global__ void nothing_but_a_load(PARAMETERS)
{
    if (data[0] == 1)                                  // it is 0
        sink[threadIdx.x] = 0;
}

extern "C" __global__ void nothing_but_a_store(PARAMETERS) { sink[blockIdx.x * blockDim.x + threadIdx.x] = 0; }

// A block's first load, whose address is a parameter of the launch. An operation is the time from its start to the value.
extern "C" __global__ void first_load(PARAMETERS)
{
    const long long start = clock64();
    if (__ldcg(data) == 1 || threadIdx.x > 0)          // it is 0
        return;
    const long long end = clock64();
    result[2 * blockIdx.x] = end - start;
    result[2 * blockIdx.x + 1] = 1;
}

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

// Clusters, whose blocks run on SMs of one GPC. They take times of their own, so that the SMs of those that end mix.
extern "C" __global__ void __cluster_dims__(5) clusters(PARAMETERS)
{
    spin_for(result, sink, data, bytes, step * (1 + blockIdx.x * 7 % 11), times);
}

// Blocks one after the other on an SM.
extern "C" __global__ void spin(PARAMETERS) { spin_for(result, sink, data, bytes, step, times); }

// Blocks that an SM holds at the same time: how much later than one does the next begin?
extern "C" __global__ void starts(PARAMETERS) { spin_for(result, sink, data, bytes, step, times); }
