"""Numba's CUDA target: a kernel in Python, with shared memory, a barrier and an atomic."""
import numpy as np
from numba import cuda, int32

BLOCK = 128


@cuda.jit
def total(numbers, result):
    partial = cuda.shared.array(BLOCK, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    partial[t] = numbers[i] if i < numbers.size else 0
    cuda.syncthreads()
    step = BLOCK // 2
    while step > 0:
        if t < step:
            partial[t] += partial[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(result, 0, partial[0])


numbers = np.arange(1000, dtype=np.int32)
result = cuda.to_device(np.zeros(1, dtype=np.int32))
total[(numbers.size + BLOCK - 1) // BLOCK, BLOCK](cuda.to_device(numbers), result)
assert result.copy_to_host()[0] == numbers.sum(), result.copy_to_host()
print("numba: the sum is right")
