// A sum in a __device__ variable grows from launch to launch.
// cargo ladder emulate: --grid 1 --block 32 --arg u32[64]
__device__ unsigned sum;
extern "C" __global__ void k(unsigned* out) //~ NOTE State left for the next launch: sum
{
    atomicAdd(&sum, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
        out[0] = sum;
    }
}
