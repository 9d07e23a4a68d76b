"""A process that is forked after `cuInit` cannot use CUDA: it is told so, on a GPU and here."""
import os
import signal

from cuda.bindings import driver


def check(result):
    code, *values = result
    assert code.value == 0, code
    return values[0] if values else None


check(driver.cuInit(0))
check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(0))))
child = os.fork()
if child == 0:
    signal.alarm(20)  # in place of a wait without end
    code, _ = driver.cuMemAlloc(4)
    os._exit(code.value)
_, status = os.waitpid(child, 0)
code = driver.CUresult(os.WEXITSTATUS(status)) if os.WIFEXITED(status) else status
check(driver.cuMemFree(check(driver.cuMemAlloc(4))))
print(f"forked: {code.name}, and the parent goes on")
