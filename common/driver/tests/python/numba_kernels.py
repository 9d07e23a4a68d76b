"""Numba: SAXPY on a stream between events, a tiled matrix product, a sum by shuffles and an atomic, the Mandelbrot set."""
import numpy as np
from digests import digest
from numba import cuda, float32, int32


@cuda.jit(lineinfo=True)
def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@cuda.jit(lineinfo=True)
def matmul(A, B, C):
    sA = cuda.shared.array((8, 8), float32)
    sB = cuda.shared.array((8, 8), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    acc = float32(0)
    for t in range((A.shape[1] + 7) // 8):
        sA[ty, tx] = A[y, t * 8 + tx] if y < A.shape[0] and t * 8 + tx < A.shape[1] else 0
        sB[ty, tx] = B[t * 8 + ty, x] if x < B.shape[1] and t * 8 + ty < B.shape[0] else 0
        cuda.syncthreads()
        for k in range(8):
            acc += sA[ty, k] * sB[k, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = acc


@cuda.jit(lineinfo=True)
def block_sum(x, out):
    tile = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    s = 64
    while s > 16:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t < 32:
        v = tile[t]
        for d in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xffffffff, v, d)
        if t == 0:
            cuda.atomic.add(out, 0, v)


@cuda.jit
def mandelbrot(img, x0, x1, y0, y1, iters):
    c, r = cuda.grid(2)
    h, w = img.shape
    if c < w and r < h:
        re = x0 + c * (x1 - x0) / w
        im = y0 + r * (y1 - y0) / h
        z = complex(0, 0)
        k = 0
        while k < iters and z.real * z.real + z.imag * z.imag <= 4:
            z = z * z + complex(re, im)
            k += 1
        img[r, c] = k


rng = np.random.default_rng(1)
n = 2000
x, y = rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32)
s = cuda.stream()
e0, e1 = cuda.event(), cuda.event()
dx, dy, do = cuda.to_device(x, stream=s), cuda.to_device(y, stream=s), cuda.device_array(n, np.float32, stream=s)
e0.record(s)
saxpy[(n + 127)//128, 128, s](np.float32(3), dx, dy, do)
e1.record(s)
out = do.copy_to_host(stream=s)
s.synchronize()
np.testing.assert_allclose(out, 3 * x + y, rtol=1e-6)
assert e0.elapsed_time(e1) >= 0
digest("saxpy", out)
A, B = rng.random((19, 30), dtype=np.float32), rng.random((30, 13), dtype=np.float32)
C = cuda.device_array((19, 13), np.float32)
matmul[(2, 3), (8, 8)](A, B, C)
np.testing.assert_allclose(C.copy_to_host(), A @ B, rtol=1e-5)
digest("matmul", C.copy_to_host())
v = rng.integers(0, 1000, 5000).astype(np.int32)
r = cuda.to_device(np.zeros(1, np.int32))
block_sum[40, 128](v, r)
assert r.copy_to_host()[0] == v.sum()
digest("sum", r.copy_to_host())
img = cuda.device_array((24, 32), np.uint16)
mandelbrot[(4, 3), (8, 8)](img, -2.0, 1.0, -1.0, 1.0, 30)
i = img.copy_to_host()


def escapes(re, im):
    z = 0
    k = 0
    while k < 30 and z.real * z.real + z.imag * z.imag <= 4:
        z = z * z + complex(re, im)
        k += 1
    return k


want = np.array([[escapes(-2 + c*3/32, -1 + q*2/24) for c in range(32)] for q in range(24)])
assert (i == want).mean() > .99
digest("mandelbrot", i)
print("numba kernels: every result is right")
