"""What the driver answers where no kernel runs: attributes of the device, of pointers and of a function, and the error of each wrong
call that a driver has to detect. By ctypes, so that nothing is between the program and the driver. One line for each:
`answer WHAT CODE VALUE`; `results/h100-80gb-hbm3/driver_answers.csv` has a GPU's."""
import ctypes
import sys
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

cu = ctypes.CDLL("libcuda.so.1")
PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 counter;
.visible .entry store(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r; .reg .b64 %d;
    ld.param.u64 %d, [to];
    ld.param.u32 %r, [value];
    st.global.u32 [%d], %r;
    ret;
}
.visible .entry bare() { ret; }
\0"""


def answer(what, code, value=""):
    print("answer", what, code, value if code == 0 else "")


def need(code):
    assert code == 0, code


def made(call, *arguments, kind=c_void_p):
    value = kind()
    need(call(byref(value), *arguments))
    return value


need(cu.cuInit(0))
context = made(cu.cuDevicePrimaryCtxRetain, 0)
need(cu.cuCtxSetCurrent(context))

# Attributes of the device
for which in range(1, 146):
    value = c_int(-7)
    code = cu.cuDeviceGetAttribute(byref(value), which, 0)
    answer(f"device_attribute_{which}", code, value.value)

# Attributes of pointers
BYTES = 8192
device = made(cu.cuMemAlloc_v2, c_size_t(BYTES), kind=c_uint64).value
pinned = made(cu.cuMemHostAlloc, c_size_t(BYTES), 0).value
managed = made(cu.cuMemAllocManaged, c_size_t(BYTES), 1, kind=c_uint64).value
room = ctypes.create_string_buffer(3 * 4096)
registered = (ctypes.addressof(room) + 4095) // 4096 * 4096
need(cu.cuMemHostRegister_v2(c_void_p(registered), c_size_t(4096), 0))
other = ctypes.create_string_buffer(64)
pointers = {
    "device": (device, device), "device_inside": (device + 100, device), "pinned": (pinned, pinned),
    "pinned_inside": (pinned + 100, pinned), "managed": (managed, managed), "registered": (registered, registered),
    "unknown": (ctypes.addressof(other), 1), "null": (0, 1),
}
SIZES = {1: 8, 3: 8, 4: 8, 5: 16, 7: 8, 11: 8, 12: 8, 17: 8, 18: 8, 19: 8, 20: 8}


def named(value, pointer, base):
    """A value without what differs from run to run."""
    names = {context.value: "context", pointer: "pointer", base: "base"}
    return names.get(value, value if value < 1 << 32 else "large")


for name, (pointer, base) in pointers.items():
    for which in (1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17):
        value = c_uint64(0)
        code = cu.cuPointerGetAttribute(byref(value), which, c_uint64(pointer))
        answer(f"pointer_attribute_{name}_{which}", code, named(value.value, pointer, base))
    kinds = (1, 2, 3, 4, 6, 8, 9, 11, 12, 13)
    values = [c_uint64(0) for _ in kinds]
    which = (c_uint * len(kinds))(*kinds)
    at = (c_void_p * len(kinds))(*(ctypes.addressof(value) for value in values))
    code = cu.cuPointerGetAttributes(len(kinds), which, at, c_uint64(pointer))
    answer(f"pointer_attributes_{name}", code, "/".join(str(named(value.value, pointer, base)) for value in values))

# Module, function, linker
module = made(cu.cuModuleLoadData, PTX)
store, bare = (made(cu.cuModuleGetFunction, module, name) for name in (b"store", b"bare"))
for which in (0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 14, 15, 16):
    value = c_int(-7)
    answer(f"function_attribute_{which}", cu.cuFuncGetAttribute(byref(value), which, bare), value.value)
link = made(lambda at: cu.cuLinkCreate_v2(0, None, None, at))
image, size = c_void_p(), c_size_t()
answer("link_complete_of_nothing", cu.cuLinkComplete(made(lambda at: cu.cuLinkCreate_v2(0, None, None, at)), byref(image), byref(size)))
need(cu.cuLinkAddData_v2(link, 1, PTX, c_size_t(len(PTX)), b"one", 0, None, None))
answer("link_complete", cu.cuLinkComplete(link, byref(image), byref(size)))
answer("link_complete_again", cu.cuLinkComplete(link, byref(image), byref(size)))
answer("link_add_after_complete", cu.cuLinkAddData_v2(link, 1, PTX, c_size_t(len(PTX)), b"two", 0, None, None))

# Wrong calls
host = ctypes.create_string_buffer(2 * BYTES)
event, unrecorded = (made(cu.cuEventCreate, 0) for _ in range(2))
untimed = made(cu.cuEventCreate, 2)
need(cu.cuEventRecord(event, None))
need(cu.cuEventRecord(untimed, None))
need(cu.cuCtxSynchronize())
stream = made(cu.cuStreamCreate, 0)
got, size, number, ms = c_uint64(), c_size_t(), c_int(), c_float()
pointer = c_void_p()
value, to = c_uint(5), c_uint64(device)
arguments = (c_void_p * 2)(ctypes.addressof(to), ctypes.addressof(value))


def launch(function, grid, block, shared=0):
    return cu.cuLaunchKernel(function, *grid, *block, shared, None, arguments, None)


wrong = {
    "init_flags": lambda: cu.cuInit(1),
    "device_get_1": lambda: cu.cuDeviceGet(byref(number), 99),
    "device_get_negative": lambda: cu.cuDeviceGet(byref(number), -1),
    "device_attribute_0": lambda: cu.cuDeviceGetAttribute(byref(number), 0, 0),
    "device_attribute_1000": lambda: cu.cuDeviceGetAttribute(byref(number), 1000, 0),
    "device_attribute_null": lambda: cu.cuDeviceGetAttribute(None, 1, 0),
    "alloc_0": lambda: cu.cuMemAlloc_v2(byref(got), c_size_t(0)),
    "alloc_null": lambda: cu.cuMemAlloc_v2(None, c_size_t(4)),
    "alloc_huge": lambda: cu.cuMemAlloc_v2(byref(got), c_size_t(1 << 60)),
    "alloc_pitch_element": lambda: cu.cuMemAllocPitch_v2(byref(got), byref(size), c_size_t(16), c_size_t(4), 5),
    "alloc_pitch_0": lambda: cu.cuMemAllocPitch_v2(byref(got), byref(size), c_size_t(0), c_size_t(4), 4),
    "alloc_host_0": lambda: cu.cuMemAllocHost_v2(byref(pointer), c_size_t(0)),
    "alloc_host_flags": lambda: cu.cuMemHostAlloc(byref(pointer), c_size_t(4), 0x100),
    "alloc_managed_flags": lambda: cu.cuMemAllocManaged(byref(got), c_size_t(4), 0),
    "alloc_managed_0": lambda: cu.cuMemAllocManaged(byref(got), c_size_t(0), 1),
    "free_null": lambda: cu.cuMemFree_v2(c_uint64(0)),
    "free_unknown": lambda: cu.cuMemFree_v2(c_uint64(0x1234500)),
    "free_inside": lambda: cu.cuMemFree_v2(c_uint64(device + 256)),
    "free_pinned_as_device": lambda: cu.cuMemFree_v2(c_uint64(pinned)),
    "free_host_of_device": lambda: cu.cuMemFreeHost(c_void_p(device)),
    "free_host_null": lambda: cu.cuMemFreeHost(None),
    "register_again": lambda: cu.cuMemHostRegister_v2(c_void_p(registered), c_size_t(4096), 0),
    "register_0": lambda: cu.cuMemHostRegister_v2(c_void_p(registered + 4096), c_size_t(0), 0),
    "unregister_unknown": lambda: cu.cuMemHostUnregister(c_void_p(registered + 4096)),
    "device_pointer_unknown": lambda: cu.cuMemHostGetDevicePointer_v2(byref(got), host, 0),
    "device_pointer_flags": lambda: cu.cuMemHostGetDevicePointer_v2(byref(got), c_void_p(pinned), 1),
    "range_unknown": lambda: cu.cuMemGetAddressRange_v2(byref(got), byref(size), c_uint64(0x1234500)),
    "copy_too_long": lambda: cu.cuMemcpyHtoD_v2(c_uint64(device), host, c_size_t(BYTES + (4 << 20))),
    "copy_back_unknown": lambda: cu.cuMemcpyDtoH_v2(host, c_uint64(0x1234500), c_size_t(4)),
    "copy_0": lambda: cu.cuMemcpyHtoD_v2(c_uint64(device), host, c_size_t(0)),
    "copy_to_null": lambda: cu.cuMemcpyHtoD_v2(c_uint64(0), host, c_size_t(4)),
    "copy_from_null": lambda: cu.cuMemcpyHtoD_v2(c_uint64(device), None, c_size_t(4)),
    "set_misaligned": lambda: cu.cuMemsetD32_v2(c_uint64(device + 2), 1, c_size_t(4)),
    "set_16_misaligned": lambda: cu.cuMemsetD16_v2(c_uint64(device + 1), 1, c_size_t(4)),
    "set_0": lambda: cu.cuMemsetD32_v2(c_uint64(device), 1, c_size_t(0)),
    "set_2d_pitch": lambda: cu.cuMemsetD2D8_v2(c_uint64(device), c_size_t(4), 1, c_size_t(8), c_size_t(2)),
    "prefetch_device_memory": lambda: cu.cuMemAdvise(c_uint64(device), c_size_t(64), 1, 0),
    "module_null": lambda: cu.cuModuleLoadData(byref(pointer), None),
    "module_text": lambda: cu.cuModuleLoadData(byref(pointer), b"no PTX at all"),
    "module_wrong_ptx": lambda: cu.cuModuleLoadData(byref(pointer), PTX.replace(b"st.global", b"st.glbl")),
    "module_no_file": lambda: cu.cuModuleLoad(byref(pointer), b"/nothing/here.ptx"),
    "function_unknown": lambda: cu.cuModuleGetFunction(byref(pointer), module, b"none"),
    "function_empty_name": lambda: cu.cuModuleGetFunction(byref(pointer), module, b""),
    "function_null_name": lambda: cu.cuModuleGetFunction(byref(pointer), module, None),
    "global_unknown": lambda: cu.cuModuleGetGlobal_v2(byref(got), byref(size), module, b"none"),
    "function_attribute_99": lambda: cu.cuFuncGetAttribute(byref(number), 99, bare),
    "function_set_read_only": lambda: cu.cuFuncSetAttribute(bare, 0, 1),
    "function_set_shared_huge": lambda: cu.cuFuncSetAttribute(bare, 8, 1 << 20),
    "function_set_shared_negative": lambda: cu.cuFuncSetAttribute(bare, 8, -2),
    "function_set_carveout_101": lambda: cu.cuFuncSetAttribute(bare, 9, 101),
    "launch_grid_0": lambda: launch(bare, (0, 1, 1), (32, 1, 1)),
    "launch_block_0": lambda: launch(bare, (1, 1, 1), (0, 1, 1)),
    "launch_block_1025": lambda: launch(bare, (1, 1, 1), (1025, 1, 1)),
    "launch_block_z_65": lambda: launch(bare, (1, 1, 1), (1, 1, 65)),
    "launch_grid_y_65536": lambda: launch(bare, (1, 65536, 1), (1, 1, 1)),
    "launch_shared_49153": lambda: launch(bare, (1, 1, 1), (32, 1, 1), 49153),
    "launch_null": lambda: launch(None, (1, 1, 1), (32, 1, 1)),
    "launch_no_arguments": lambda: cu.cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, None, None, None),
    "cooperative_too_many": lambda: cu.cuLaunchCooperativeKernel(bare, 1 << 20, 1, 1, 1024, 1, 1, 0, None, None),
    "stream_flags": lambda: cu.cuStreamCreate(byref(pointer), 8),
    "stream_destroy_null": lambda: cu.cuStreamDestroy_v2(None),
    "event_flags": lambda: cu.cuEventCreate(byref(pointer), 0x100),
    "event_interprocess_timed": lambda: cu.cuEventCreate(byref(pointer), 4),
    "event_destroy_null": lambda: cu.cuEventDestroy_v2(None),
    "event_query_unrecorded": lambda: cu.cuEventQuery(unrecorded),
    "event_synchronize_unrecorded": lambda: cu.cuEventSynchronize(unrecorded),
    "elapsed_unrecorded": lambda: cu.cuEventElapsedTime(byref(ms), event, unrecorded),
    "elapsed_untimed": lambda: cu.cuEventElapsedTime(byref(ms), event, untimed),
    "elapsed_null": lambda: cu.cuEventElapsedTime(byref(ms), None, event),
    "wait_event_flags": lambda: cu.cuStreamWaitEvent(stream, event, 8),
    "wait_event_unrecorded": lambda: cu.cuStreamWaitEvent(stream, unrecorded, 0),
    "end_capture_not_begun": lambda: cu.cuStreamEndCapture(stream, byref(pointer)),
    "begin_capture_mode": lambda: cu.cuStreamBeginCapture_v2(stream, 7),
    "begin_capture_legacy": lambda: cu.cuStreamBeginCapture_v2(None, 0),
    "graph_flags": lambda: cu.cuGraphCreate(byref(pointer), 1),
    "graph_launch_null": lambda: cu.cuGraphLaunch(None, stream),
    "limit_unknown": lambda: cu.cuCtxSetLimit(99, c_size_t(1)),
    "limit_get_unknown": lambda: cu.cuCtxGetLimit(byref(size), 99),
    "cache_config": lambda: cu.cuCtxSetCacheConfig(9),
    "flags_unknown": lambda: cu.cuCtxSetFlags(0x1000),
    "context_destroy_null": lambda: cu.cuCtxDestroy_v2(None),
    "context_create_device_9": lambda: cu.cuCtxCreate_v2(byref(pointer), 0, 99),
    "primary_release_device_9": lambda: cu.cuDevicePrimaryCtxRelease_v2(99),
    "peer_itself": lambda: cu.cuDeviceCanAccessPeer(byref(number), 0, 0),
    "error_name_unknown": lambda: cu.cuGetErrorName(123456, byref(pointer)),
    "occupancy_block_0": lambda: cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(byref(number), bare, 0, c_size_t(0)),
    "occupancy_block_2048": lambda: cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(byref(number), bare, 2048, c_size_t(0)),
    "pool_default_device_9": lambda: cu.cuDeviceGetDefaultMemPool(byref(pointer), 99),
    "alloc_async_0": lambda: cu.cuMemAllocAsync(byref(got), c_size_t(0), stream),
    "free_async_unknown": lambda: cu.cuMemFreeAsync(c_uint64(0x1234500), stream),
    "proc_address_unknown": lambda: cu.cuGetProcAddress_v2(b"cuNothing", byref(pointer), 13000, c_uint64(0), None),
    "proc_address_old": lambda: cu.cuGetProcAddress_v2(b"cuMemAllocAsync", byref(pointer), 4000, c_uint64(0), None),
}
only = sys.argv[1:]
for name, call in wrong.items():
    if not only or name in only:
        sys.stdout.flush()
        answer(name, call())
answer("still_healthy", cu.cuCtxSynchronize())
