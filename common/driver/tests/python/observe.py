"""Runs a program of somebody else's, unchanged, and prints digests of what it computes: `observe.py PROGRAM ARGUMENTS`.

After a line of the program that waits for the GPU: the NumPy arrays in its variables, if they have changed. When one of its
functions returns: the bytes in its variables, and those it returns. Of a program on tinygrad, ThrustRTC or Numba: whatever is copied
from the GPU. Random numbers begin at a fixed seed.
"""
import collections
import contextlib
import functools
import importlib
import linecache
import os
import random
import runpy
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from digests import digest

# The last is a launch in Numba, `kernel[grid, block](array)`, which copies arrays of the host back.
WAITS = ("sync()", "synchronize(", "memcpydtoh(", "to_host(", "](")
# The function of a library that copies from the GPU: it fills an argument, or returns an array.
COPIES = {
    "tinygrad": "tinygrad.runtime.ops_cuda:CUDAAllocator._copyout",
    "ThrustRTC": "ThrustRTC.DVVector:DVVector.to_host",
    "numba": "numba.cuda.cudadrv.driver:device_to_host",
}
seen, counted = {}, collections.Counter()


def observe(name, data):
    data = np.ascontiguousarray(data).tobytes()
    if seen.get(name) != data:
        seen[name] = data
        counted[name] += 1
        with contextlib.redirect_stdout(sys.__stdout__):
            digest(f"{name}.{counted[name]}", np.frombuffer(data, np.uint8))


def observe_frames_of(program):
    def on_call(frame, *_):
        if frame.f_code.co_filename != program:
            return None
        function, line = frame.f_code.co_name.strip("<>"), ""

        def on_line(frame, event, result):
            nonlocal line
            variables = sorted(frame.f_locals.items())
            if any(wait in line.lower() for wait in WAITS):
                for name, value in variables:
                    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
                        observe(f"{function}.{name}", value)
            if event == "return":
                for name, value in [*variables, ("returned", result)]:
                    if isinstance(value, bytes) and len(value) >= 64:
                        observe(f"{function}.{name}", np.frombuffer(value, np.uint8))
            line = linecache.getline(program, frame.f_lineno)
            return on_line

        return on_line

    sys.settrace(on_call)


def observe_copies(where):
    module, _, path = where.partition(":")
    *owners, name = path.split(".")
    owner = functools.reduce(getattr, owners, importlib.import_module(module))
    copy = getattr(owner, name)

    def copied(*arguments, **named):
        result = copy(*arguments, **named)
        values = (result, *arguments, *named.values())
        observe("copied", next(value for value in values if isinstance(value, (np.ndarray, memoryview))))
        return result

    setattr(owner, name, copied)


program = sys.argv[1]
del sys.argv[0]
text = open(program).read()
for library, where in COPIES.items():
    if f"import {library}" in text or f"from {library}" in text:
        observe_copies(where)
np.random.seed(0)
random.seed(0)
if "tinygrad" in sys.modules:
    sys.modules["tinygrad"].Tensor.manual_seed(0)
observe_frames_of(program)
runpy.run_path(program, run_name="__main__")
