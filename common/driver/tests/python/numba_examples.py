"""The examples of Numba's manual ("CUDA Python": vector addition, heat equation, reduction, matrix multiplication, Monte Carlo
integration, atomics, random numbers), with smaller problems, and what else its users write: device functions, ufuncs, streams,
events, warp intrinsics, constant memory; pinned, mapped and managed arrays."""
import math

import numpy as np
from numba import cuda, float32, guvectorize, int32, vectorize
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

# Vector addition

@cuda.jit
def f(a, b, c):
    # like threadIdx.x + (blockIdx.x * blockDim.x)
    tid = cuda.grid(1)
    size = len(c)

    if tid < size:
        c[tid] = a[tid] + b[tid]

# Seed the random number generator so that the results are reproducible.
N = 3000
a = cuda.to_device(np.random.random(N))
b = cuda.to_device(np.random.random(N))
c = cuda.device_array_like(a)

f.forall(len(a))(a, b, c)

# Enough threads per block for several warps per block
nthreads = 256
# Enough blocks to cover the entire vector depending on its length
nblocks = (len(a) // nthreads) + 1
f[nblocks, nthreads](a, b, c)
np.testing.assert_equal(c.copy_to_host(), a.copy_to_host() + b.copy_to_host())

# The heat equation, with a barrier of the whole grid

# Use an odd problem size.
# This is so there can be an element truly in the "middle" for symmetry.
size = 1001
data = np.zeros(size)

# Middle element is made very hot
data[500] = 10000
buf_0 = cuda.to_device(data)

# This extra array is used for synchronization purposes
buf_1 = cuda.device_array_like(buf_0)

niter = 100

@cuda.jit
def solve_heat_equation(buf_0, buf_1, timesteps, k):
    i = cuda.grid(1)

    # Don't continue if our index is outside the domain
    if i >= len(buf_0):
        return

    # Prepare to do a grid-wide synchronization later
    grid = cuda.cg.this_grid()

    for step in range(timesteps):
        # Select the buffer from the previous timestep
        if (step % 2) == 0:
            data = buf_0
            next_data = buf_1
        else:
            data = buf_1
            next_data = buf_0

        # Get the current temperature associated with this point
        curr_temp = data[i]

        # Apply formula from finite difference equation
        if i == 0:
            # Left wall is held at T = 0
            next_temp = curr_temp + k * (data[i + 1] - (2 * curr_temp))
        elif i == len(data) - 1:
            # Right wall is held at T = 0
            next_temp = curr_temp + k * (data[i - 1] - (2 * curr_temp))
        else:
            # Interior points are a weighted average of their neighbors
            next_temp = curr_temp + k * (
                data[i - 1] - (2 * curr_temp) + data[i + 1]
            )

        # Write new value to the next buffer
        next_data[i] = next_temp

        # Wait for every thread to write before moving on
        grid.sync()

solve_heat_equation.forall(len(data))(buf_0, buf_1, niter, 0.25)
results = buf_1.copy_to_host()
np.testing.assert_allclose(results[500], 562.6, rtol=0.2)
np.testing.assert_allclose(results[:500], results[:500:-1])

# Reduction in shared memory

# generate data
a = cuda.to_device(np.arange(1024))
nelem = len(a)

@cuda.jit
def array_sum(data):
    tid = cuda.threadIdx.x
    size = len(data)
    if tid < size:
        i = cuda.grid(1)

        # Declare an array in shared memory
        shr = cuda.shared.array(nelem, int32)
        shr[tid] = data[i]

        # Ensure writes to shared memory are visible
        # to all threads before reducing
        cuda.syncthreads()

        s = 1
        while s < cuda.blockDim.x:
            if tid % (2 * s) == 0:
                # Stride by `s` and add
                shr[tid] += shr[tid + s]
            s *= 2
            cuda.syncthreads()

        # After the loop, the zeroth  element contains the sum
        if tid == 0:
            data[tid] = shr[tid]

array_sum[1, nelem](a)
np.testing.assert_equal(a[0], sum(np.arange(1024)))

# Matrix multiplication

@cuda.jit
def matmul(A, B, C):
    """Perform square matrix multiplication of C = A * B."""
    i, j = cuda.grid(2)
    if i < C.shape[0] and j < C.shape[1]:
        tmp = 0.
        for k in range(A.shape[1]):
            tmp += A[i, k] * B[k, j]
        C[i, j] = tmp

# Controls threads per block and shared memory usage.
# The computation will be done on blocks of TPBxTPB elements.
# TPB should not be larger than 32 in this example
TPB = 16

@cuda.jit
def fast_matmul(A, B, C):
    """
    Perform matrix multiplication of C = A * B using CUDA shared memory.
    """
    # Define an array in the shared memory
    # The size and type of the arrays must be known at compile time
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)

    x, y = cuda.grid(2)

    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bpg = cuda.gridDim.x    # blocks per grid

    # Each thread computes one element in the result matrix.
    # The dot product is chunked into dot products of TPB-long vectors.
    tmp = float32(0.)
    for i in range(bpg):
        # Preload data into shared memory
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and (tx + i * TPB) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TPB]
        if x < B.shape[1] and (ty + i * TPB) < B.shape[0]:
            sB[ty, tx] = B[ty + i * TPB, x]

        # Wait until all threads finish preloading
        cuda.syncthreads()

        # Computes partial product on the shared memory
        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]

        # Wait until all threads finish computing
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp

x_h = np.arange(115).reshape([5, 23])
y_h = np.ones([23, 7])
z_h = np.zeros([5, 7])

x_d = cuda.to_device(x_h)
y_d = cuda.to_device(y_h)
z_d = cuda.to_device(z_h)

threadsperblock = (TPB, TPB)
grid_y_max = max(x_h.shape[0], y_h.shape[0])
grid_x_max = max(x_h.shape[1], y_h.shape[1])
blockspergrid_x = math.ceil(grid_x_max / threadsperblock[0])
blockspergrid_y = math.ceil(grid_y_max / threadsperblock[1])
blockspergrid = (blockspergrid_x, blockspergrid_y)

fast_matmul[blockspergrid, threadsperblock](x_d, y_d, z_d)
z_h = z_d.copy_to_host()
np.testing.assert_allclose(z_h, x_h @ y_h)
matmul[blockspergrid, threadsperblock](x_d, y_d, z_d)
np.testing.assert_allclose(z_d.copy_to_host(), x_h @ y_h)

# Device functions

# device functions
@cuda.jit(device=True)
def clamp(x, lo, hi):
    return min(max(x, lo), hi)

@cuda.jit
def clamp_all(x, lo, hi):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = clamp(x[i], lo, hi)
x = np.linspace(-2, 2, 1000)
y = x.copy()
clamp_all[4, 256](y, -1.0, 1.0)   # implicit transfer
np.testing.assert_equal(y, np.clip(x, -1, 1))

# vectorize
@vectorize(['float32(float32, float32, float32)', 'float64(float64, float64, float64)'], target='cuda')
def cu_discriminant(a, b, c):
    return math.sqrt(b ** 2 - 4 * a * c)
N = 10000
A = np.array(np.random.sample(N), dtype=np.float32)
B = np.array(np.random.sample(N) + 10, dtype=A.dtype)
C = np.array(np.random.sample(N), dtype=A.dtype)
D = cu_discriminant(A, B, C)
np.testing.assert_allclose(D, np.sqrt(B**2 - 4*A*C), rtol=1e-5)

# atomics
@cuda.jit
def max_example(result, values):
    """Find the maximum value in values and store in result[0]"""
    tid = cuda.threadIdx.x
    bid = cuda.blockIdx.x
    bdim = cuda.blockDim.x
    i = (bid * bdim) + tid
    cuda.atomic.max(result, 0, values[i])
arr = np.random.rand(16384)
result = np.zeros(1, dtype=np.float64)
max_example[256,64](result, arr)
assert result[0] == max(arr)

@cuda.jit
def max_example_3d(result, values):
    i, j, k = cuda.grid(3)
    cuda.atomic.max(result, (0, 1, 2), values[i, j, k])
arr = np.random.rand(1000).reshape(10,10,10)
result = np.zeros((3, 3, 3), dtype=np.float64)
max_example_3d[(2, 2, 2), (5, 5, 5)](result, arr)
assert result[0, 1, 2] == np.max(arr)

@cuda.jit
def histogram(x, xmin, xmax, histogram_out):
    nbins = histogram_out.shape[0]
    bin_width = (xmax - xmin) / nbins
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        bin_number = np.int32((x[i] - xmin)/bin_width)
        if bin_number >= 0 and bin_number < histogram_out.shape[0]:
            cuda.atomic.add(histogram_out, bin_number, 1)
x = np.random.normal(size=5000, loc=0, scale=1).astype(np.float32)
h = np.zeros(10, dtype=np.int32)
histogram[16, 64](x, np.float32(-4.0), np.float32(4.0), h)
assert h.sum() == (((x + 4) / 0.8 > -1) & (x < 4)).sum(), h

# reduce
@cuda.reduce
def sum_reduce(a, b):
    return a + b
A = (np.arange(1234, dtype=np.float64)) + 1
np.testing.assert_allclose(sum_reduce(A), A.sum())

# streams, events, pinned
stream = cuda.stream()
e0, e1 = cuda.event(), cuda.event()
a = cuda.pinned_array(1000, dtype=np.float32); a[:] = 1
with cuda.pinned(x):
    d = cuda.to_device(x, stream=stream)
e0.record(stream)
da = cuda.to_device(a, stream=stream)
clamp_all[4, 256, stream](da, 2, 3)
e1.record(stream); e1.synchronize()
da.copy_to_host(a, stream=stream)
stream.synchronize()
assert (a == 2).all() and e0.elapsed_time(e1) >= 0

# random
@cuda.jit
def compute_pi(rng_states, iterations, out):
    thread_id = cuda.grid(1)
    inside = 0
    for i in range(iterations):
        x = xoroshiro128p_uniform_float32(rng_states, thread_id)
        y = xoroshiro128p_uniform_float32(rng_states, thread_id)
        if x**2 + y**2 <= 1.0:
            inside += 1
    out[thread_id] = 4.0 * inside / iterations
rng_states = create_xoroshiro128p_states(64 * 4, seed=1)
out = np.zeros(64 * 4, dtype=np.float32)
compute_pi[4, 64](rng_states, 100, out)
assert abs(out.mean() - 3.14) < 0.1

# warp intrinsics, syncthreads_count, local arrays, math, constant memory
table = np.arange(32, dtype=np.float32)
@cuda.jit
def warp(x, n):
    c = cuda.const.array_like(table)
    l = cuda.local.array(4, float32)
    t = cuda.grid(1)
    for k in range(4): l[k] = c[(t + k) % 32]
    v = cuda.shfl_down_sync(0xffffffff, t, 1)
    b = cuda.ballot_sync(0xffffffff, t % 2 == 0)
    n[t] = cuda.syncthreads_count(1 if t < 10 else 0)
    x[t] = l[3] + v + cuda.popc(b) + math.sin(float32(0.0)) + cuda.laneid
x = np.zeros(64, dtype=np.float32); n = np.zeros(64, dtype=np.int32)
warp[1, 64](x, n)
assert (n == 10).all(), n
@cuda.jit
def hello():
    print("hello from", cuda.threadIdx.x)
hello[1, 2]()
cuda.synchronize()
@guvectorize(['(float32[:,:], float32[:,:], float32[:,:])'], '(m,n),(n,p)->(m,p)', target='cuda')
def mm(A, B, C):
    m, n = A.shape
    n, p = B.shape
    for i in range(m):
        for j in range(p):
            C[i, j] = 0
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]
A = np.random.rand(10, 4, 3).astype(np.float32); B = np.random.rand(10, 3, 5).astype(np.float32)
np.testing.assert_allclose(mm(A, B), A @ B, rtol=1e-5)

# Memory that the host and kernels share
@cuda.jit
def inc(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1
m = cuda.managed_array(1000, dtype=np.float32)
m[:] = 5
inc[4, 256](m)
cuda.synchronize()
assert (m == 6).all()
m[3] = 1
inc[4, 256](m); cuda.synchronize()
assert m[3] == 2 and m[4] == 7
p = cuda.mapped_array(1000, dtype=np.float32)
p[:] = 1
inc[4, 256](p); cuda.synchronize()
assert (p == 2).all()
q = cuda.pinned_array(1000, dtype=np.float32)
q[:] = 1
inc[4, 256](q); cuda.synchronize()
assert (q == 2).all()
own = np.ones(1000, dtype=np.float32)
with cuda.mapped(own) as d:
    inc[4, 256](d); cuda.synchronize()
assert (own == 2).all()
print("numba: every example is right")
