"""NVIDIA's runtime library, which the emulator cannot serve: it must end in an error that says what to do."""
import ctypes
import glob
import sys

library, = glob.glob(sys.prefix + "/lib/python*/site-packages/nvidia/cu13/lib/libcudart.so.*")
runtime = ctypes.CDLL(library)
pointer = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(pointer), 100) == 801  # cudaErrorNotSupported
