// A vendor's sample: coefficients in constant memory, functions with C linkage for a file of the host's.
// cargo ladder emulate: --kernel rowsKernel --grid 2,4 --block 32,4 --symbol 'c_Kernel=f32[3]=1,10,100'
//   --arg 'f32[16,64]=nan' --arg 'f32[16,64]=ones' --arg 64 --arg 16 --arg 64
// expect 0: 11 111 111 111 111 111
#include <assert.h>
#include <helper_cuda.h>
#include "convolutionSeparable_common.h"

#define KERNEL_RADIUS 1
#define KERNEL_LENGTH (2 * KERNEL_RADIUS + 1)

////////////////////////////////////////////////////////////////////////////////
// Convolution kernel storage
////////////////////////////////////////////////////////////////////////////////
__constant__ float c_Kernel[KERNEL_LENGTH];

extern "C" void setConvolutionKernel(float *h_Kernel) {
    checkCudaErrors(cudaMemcpyToSymbol(c_Kernel, h_Kernel, KERNEL_LENGTH * sizeof(float)));
}

#define ROWS_BLOCKDIM_X 32
#define ROWS_BLOCKDIM_Y 4

__global__ void rowsKernel(float *d_Dst, float *d_Src, int imageW, int imageH, int pitch) {
    __shared__ float s_Data[ROWS_BLOCKDIM_Y][ROWS_BLOCKDIM_X + 2 * KERNEL_RADIUS];
    const int x = blockIdx.x * ROWS_BLOCKDIM_X + threadIdx.x;
    const int y = blockIdx.y * ROWS_BLOCKDIM_Y + threadIdx.y;
    assert(x < imageW && y < imageH);
    d_Src += y * pitch;
    s_Data[threadIdx.y][threadIdx.x + KERNEL_RADIUS] = d_Src[x];
    if (threadIdx.x < KERNEL_RADIUS) {
        s_Data[threadIdx.y][threadIdx.x] = x >= KERNEL_RADIUS ? d_Src[x - KERNEL_RADIUS] : 0;
        s_Data[threadIdx.y][threadIdx.x + ROWS_BLOCKDIM_X + KERNEL_RADIUS] =
            x + ROWS_BLOCKDIM_X < imageW ? d_Src[x + ROWS_BLOCKDIM_X] : 0;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++)
        sum += c_Kernel[KERNEL_RADIUS - j] * s_Data[threadIdx.y][threadIdx.x + KERNEL_RADIUS + j];
    d_Dst[y * pitch + x] = sum;
}

extern "C" void convolutionRowsGPU(float *d_Dst, float *d_Src, int imageW, int imageH)
{
    assert(imageW % ROWS_BLOCKDIM_X == 0);
    dim3 blocks(imageW / ROWS_BLOCKDIM_X, imageH / ROWS_BLOCKDIM_Y);
    dim3 threads(ROWS_BLOCKDIM_X, ROWS_BLOCKDIM_Y);
    rowsKernel<<<blocks, threads>>>(d_Dst, d_Src, imageW, imageH, imageW);
    getLastCudaError("rowsKernel() execution failed\n");
}
