"""Numba's examples with a line taken out of each: `GEMM_EMULATE=sanitize` names the lines that are marked `race`."""
import numpy as np
from numba import cuda, float32, int32

TPB = 16


@cuda.jit(lineinfo=True)
def fast_matmul(A, B, C):
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tmp = float32(0.)
    for i in range(cuda.gridDim.x):
        sA[ty, tx] = A[y, tx + i * TPB]  # race
        sB[ty, tx] = B[ty + i * TPB, x]
        cuda.syncthreads()
        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]
        # taken out: cuda.syncthreads()
    C[y, x] = tmp


# ANCHOR: array_sum
@cuda.jit(lineinfo=True)
def array_sum(data):
    tid = cuda.threadIdx.x
    shr = cuda.shared.array(128, int32)
    shr[tid] = data[tid]
    cuda.syncthreads()
    s = 1
    while s < cuda.blockDim.x:
        if tid % (2 * s) == 0:
            shr[tid] += shr[tid + s]  # race
        s *= 2
        # taken out: cuda.syncthreads()
    if tid == 0:
        data[0] = shr[0]
# ANCHOR_END: array_sum


@cuda.jit(lineinfo=True)
def histogram(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        bins[x[i]] += 1  # race
        # instead of: cuda.atomic.add(bins, x[i], 1)


@cuda.jit(lineinfo=True)
def heat(buf_0, buf_1, timesteps, k):
    i = cuda.grid(1)
    if i >= buf_0.size:
        return
    grid = cuda.cg.this_grid()
    for step in range(timesteps):
        source, target = buf_0, buf_1
        if step % 2 != 0:
            source, target = buf_1, buf_0
        left = source[i - 1] if i > 0 else 0.
        right = source[i + 1] if i < buf_0.size - 1 else 0.
        target[i] = source[i] + k * (left - 2 * source[i] + right)  # race
        # taken out, in all but the first step: grid.sync()
        if step == 0:
            grid.sync()


ones = np.ones((32, 32), dtype=np.float32)
fast_matmul[(2, 2), (TPB, TPB)](ones, ones, ones.copy())
array_sum[1, 128](np.arange(128, dtype=np.int32))
histogram[2, 64](np.zeros(128, dtype=np.int32), np.zeros(4, dtype=np.int32))
heat[2, 64](np.arange(100.) ** 2, np.zeros(100), 4, 0.25)
