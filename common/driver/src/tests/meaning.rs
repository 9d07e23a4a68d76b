//! The semantics of calls that no other test checks, grouped by kind.
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::context::*;
use crate::device::*;
use crate::error::{INVALID_DEVICE, INVALID_HANDLE, INVALID_VALUE, PEER_ACCESS_UNSUPPORTED};
use crate::event::{cuEventCreate, cuEventQuery, cuEventRecordWithFlags};
use crate::graph::*;
use crate::graph_node::{
    MemsetNodeParams, cuGraphAddMemsetNode, cuGraphExecMemsetNodeSetParams,
    cuGraphMemsetNodeSetParams,
};
use crate::launch::{Attribute, Config, cuLaunchKernelEx};
use crate::memory::*;
use crate::module::*;
use crate::occupancy::*;
use crate::pool::*;
use crate::stream::*;

#[test]
fn there_is_one_device_with_a_name_and_a_place() {
    let _context = Current::new();
    assert_eq!(got(|at| cuDeviceGetCount(at)), 1);
    assert_eq!(got(|device| cuDeviceGet(device, 0)), 0);
    let (mut major, mut minor) = (0, 0);
    ok(cuDeviceComputeCapability(
        out(&mut major),
        out(&mut minor),
        0,
    ));
    assert_eq!((major, minor), (9, 0));
    let uuid = got(|uuid: Out<[u8; 16]>| cuDeviceGetUuid_v2(uuid, 0));
    assert!(uuid.starts_with(b"emulated GPU"));
    let mut place = [0u8; 20];
    let at = Out::at(place.as_mut_ptr() as usize);
    ok(cuDeviceGetPCIBusId(at, 20, 0));
    let found = |text| cuDeviceGetByPCIBusId(out(&mut 0), text);
    ok(found(Text::at(place.as_ptr() as usize)));
    assert_eq!(found(text(c"0000:01:00.0")), INVALID_DEVICE);
    let all = got(|bytes| cuDeviceTotalMem_v2(bytes, 0));
    let (mut free, mut total) = (0usize, 0usize);
    ok(cuMemGetInfo_v2(out(&mut free), out(&mut total)));
    assert!(total == all && free <= all);
    assert_eq!(cuCtxEnablePeerAccess(0, 0), PEER_ACCESS_UNSUPPORTED);
}

#[test]
fn a_context_knows_its_flags_device_and_number() {
    let one = Current::new();
    ok(cuCtxSetFlags(8));
    assert_eq!(got(|at| cuCtxGetFlags(at)), 8);
    assert_eq!(got(|at| cuCtxGetDevice(at)), 0);
    let first = got(|id: Out<u64>| cuCtxGetId(0, id));
    let two = Current::new();
    assert_ne!(got(|id: Out<u64>| cuCtxGetId(two.0, id)), first);
    assert_eq!(got(|id: Out<u64>| cuCtxGetId(one.0, id)), first);
}

#[test]
fn bytes_are_copied_and_filled_within_the_device() {
    let _context = Current::new();
    let stream = got(|stream| cuStreamCreate(stream, 1));
    let (from, to) = (upload(&[1, 2, 3, 4]), upload(&[0; 4]));
    ok(cuMemcpyDtoD_v2(to, from, 4));
    ok(cuMemcpyDtoDAsync_v2(to + 4, from + 4, 4, stream));
    ok(cuMemcpyPeer(to + 8, 0, from + 8, 0, 4));
    ok(cuMemcpyPeerAsync(to + 12, 0, from + 12, 0, 4, stream));
    assert_eq!(download(to, 4), [1, 2, 3, 4]);
    ok(cuMemcpyAsync(to, from + 12, 4, stream));
    ok(cuMemsetD8Async(to + 4, 0xab, 1, stream));
    ok(cuMemsetD16Async(to + 8, 0x1234, 2, stream));
    assert_eq!(download(to, 4), [4, 0xab, 0x1234_1234, 4]);
    // Rows of 8 bytes; the first value of each is filled.
    ok(cuMemsetD2D16_v2(to, 8, 7, 2, 2));
    assert_eq!(download(to, 4), [0x7_0007, 0xab, 0x7_0007, 4]);
    ok(cuMemsetD2D32Async(to, 8, 5, 1, 2, stream));
    ok(cuMemsetD2D8Async(to + 4, 8, 1, 4, 2, stream));
    assert_eq!(download(to, 4), [5, 0x101_0101, 5, 0x101_0101]);
}

#[test]
fn a_library_has_kernels_and_variables() {
    let _context = Current::new();
    let ptx = std::ffi::CString::new(ADD).expect("no NUL");
    let image = ptx.as_ptr() as usize;
    let (none, no_values) = (In::at(0), Out::at(0));
    let library =
        got(|library| cuLibraryLoadData(library, image, none, no_values, 0, none, no_values, 0));
    assert_eq!(got(|count| cuLibraryGetKernelCount(count, library)), 2);
    let kernel = got(|kernel| cuLibraryGetKernel(kernel, library, text(c"add")));
    assert_eq!(got(|of| cuKernelGetLibrary(of, kernel)), library);
    let name = got(|name| cuKernelGetName(name, kernel));
    assert_eq!(Text::at(name).get().as_deref(), Ok("add"));
    let (mut offset, mut size) = (0, 0);
    ok(cuKernelGetParamInfo(
        kernel,
        1,
        out(&mut offset),
        out(&mut size),
    ));
    assert_eq!((offset, size), (8, 4));
    let (mut address, mut bytes) = (0u64, 0usize);
    let (at, size) = (out(&mut address), out(&mut bytes));
    ok(cuLibraryGetGlobal(at, size, library, text(c"launches")));
    assert_eq!(bytes, 4);

    // Its kernel is launched as a function, here with attributes.
    let function = got(|function| cuKernelGetFunction(function, kernel));
    let data = upload(&[1; 4]);
    let (by, n) = (2u32, 4u32);
    let list = [
        &raw const data as usize,
        &raw const by as usize,
        &raw const n as usize,
    ];
    let cluster = Attribute {
        id: 4,
        value: [2, 1, 1, 0, 0, 0, 0, 0],
        ..Attribute::default()
    };
    let mut config = Config {
        grid: [2, 1, 1],
        block: [32, 1, 1],
        attributes: &raw const cluster as usize,
        count: 1,
        ..Config::default()
    };
    let launch =
        |config: Config| cuLaunchKernelEx(input(&[config]), function, input(&list), In::at(0));
    ok(launch(config));
    assert_eq!(download(data, 4), [3; 4]);
    config.grid = [3, 1, 1];
    assert_ne!(
        launch(config),
        0,
        "three blocks cannot form clusters of two"
    );
    ok(cuLibraryUnload(library));
    assert_eq!(cuLibraryUnload(library), INVALID_HANDLE);
}

#[test]
fn occupancy_is_that_of_an_h100() {
    let _context = Current::new();
    let kernel = function(module(ADD), c"bare");
    // 2,048 threads, 32 blocks, and 228 KiB of shared memory, of which each block takes 1 KiB extra.
    let blocks = |threads, bytes| {
        got(|out| {
            cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, kernel, threads, bytes, 0)
        })
    };
    assert_eq!(
        [blocks(256, 0), blocks(32, 0), blocks(32, 100 << 10)],
        [8, 32, 2]
    );
    let (mut grid, mut block) = (0, 0);
    ok(cuOccupancyMaxPotentialBlockSize(
        out(&mut grid),
        out(&mut block),
        kernel,
        0,
        0,
        0,
    ));
    assert_eq!((grid, block), (264, 1024));
    let bytes = got(|out| cuOccupancyAvailableDynamicSMemPerBlock(out, kernel, 2, 128));
    assert_eq!((blocks(128, bytes), blocks(128, bytes + 128)), (2, 1));
    let cluster = |out| cuOccupancyMaxPotentialClusterSize(out, kernel, In::at(0));
    assert_eq!(got(cluster), 8);
    ok(cuFuncSetAttribute(kernel, 14, 1));
    assert_eq!(got(cluster), 16);
}

#[test]
fn a_pool_counts_what_is_taken_from_it() {
    let _context = Current::new();
    let pool = got(|pool| cuMemPoolCreate(pool, input(&[[1, 0, 1, 0]])));
    let used = |which| {
        let mut value = 0u64;
        ok(cuMemPoolGetAttribute(pool, which, &raw mut value as usize));
        value
    };
    let data = got(|address| cuMemAllocFromPoolAsync(address, 1000, pool, 0));
    assert_eq!([used(7), used(8)], [1000, 1000]);
    ok(cuMemFreeAsync(data, 0));
    assert_eq!([used(7), used(8)], [0, 1000]);
    let threshold = 4096u64;
    ok(cuMemPoolSetAttribute(
        pool,
        4,
        &raw const threshold as usize,
    ));
    assert_eq!(used(4), threshold);
    ok(cuMemPoolDestroy(pool));
    assert_eq!(cuMemPoolDestroy(pool), INVALID_HANDLE);
}

#[test]
fn a_stream_knows_its_flags_and_context() {
    let context = Current::new();
    let stream = got(|stream| cuStreamCreateWithPriority(stream, 1, -2));
    assert_eq!(got(|flags| cuStreamGetFlags(stream, flags)), 1);
    assert_eq!(got(|priority| cuStreamGetPriority(stream, priority)), -2);
    assert_eq!(got(|of| cuStreamGetCtx(stream, of)), context.0);
    assert_eq!(got(|device| cuStreamGetDevice(stream, device)), 0);
    ok(cuStreamQuery(stream));
    let event = got(|event| cuEventCreate(event, 0));
    ok(cuEventRecordWithFlags(event, stream, 0));
    ok(cuEventQuery(event));
}

static FREED: AtomicU32 = AtomicU32::new(0);

extern "C" fn free(_: *mut c_void) {
    FREED.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn an_executable_graph_is_changed_and_keeps_what_it_needs() {
    let _context = Current::new();
    let data = upload(&[0; 4]);
    let fill = |value| {
        input(&[MemsetNodeParams {
            to: data,
            element: 4,
            width: 4,
            rows: 1,
            value,
            ..MemsetNodeParams::default()
        }])
        .get()
        .expect("there")
    };
    let graph = got(|graph| cuGraphCreate(graph, 0));
    let node = got(|node| cuGraphAddMemsetNode(node, graph, In::at(0), 0, input(&[fill(1)]), 0));
    let object = got(|object| cuUserObjectCreate(object, 0, Some(free), 1, 1));
    ok(cuGraphRetainUserObject(graph, object, 1, 1));
    let executable = got(|made| cuGraphInstantiateWithFlags(made, graph, 0));
    let runs = |expected| {
        ok(cuGraphUpload(executable, 0));
        ok(cuGraphLaunch(executable, 0));
        assert_eq!(download(data, 4), [expected; 4]);
    };
    runs(1);
    // A change of the executable does not affect the graph; a change of the graph reaches the executable by an update.
    ok(cuGraphExecMemsetNodeSetParams(
        executable,
        node,
        input(&[fill(2)]),
        0,
    ));
    runs(2);
    ok(cuGraphMemsetNodeSetParams(node, input(&[fill(3)])));
    runs(2);
    ok(cuGraphExecUpdate_v2(executable, graph, Out::at(0)));
    runs(3);
    ok(cuGraphDestroy(graph));
    assert_eq!(FREED.load(Ordering::Relaxed), 0, "the executable keeps it");
    ok(cuGraphExecDestroy(executable));
    assert_eq!(FREED.load(Ordering::Relaxed), 1);
    let none = cuUserObjectCreate(out(&mut 0), 0, None, 1, 1);
    assert_eq!(none, INVALID_VALUE);
}
