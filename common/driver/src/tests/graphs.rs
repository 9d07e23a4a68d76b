//! Work that is captured and launched again.
use super::*;
use crate::error::{ILLEGAL_STATE, INVALID_HANDLE, STREAM_CAPTURE_UNSUPPORTED};
use crate::event::{cuEventCreate, cuEventRecord, cuStreamWaitEvent};
use crate::graph::{
    cuGraphDestroy, cuGraphExecDestroy, cuGraphInstantiateWithFlags, cuGraphLaunch,
};
use crate::graph_node::{
    KernelNodeParams, cuGraphGetNodes, cuGraphKernelNodeGetParams_v2, cuGraphNodeGetType,
};
use crate::launch::cuLaunchKernel;
use crate::memory::cuMemsetD32Async;
use crate::stream::{
    cuLaunchHostFunc, cuStreamBeginCapture_v2, cuStreamCreate, cuStreamEndCapture,
    cuStreamIsCapturing, cuStreamSynchronize,
};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

static CALLS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(by: *mut c_void) {
    CALLS.fetch_add(by as usize as u32, Ordering::Relaxed);
}

#[test]
fn a_graph_does_in_order_what_two_streams_captured() {
    let _context = Current::new();
    let module = module(ADD);
    let kernel = function(module, c"add");
    let data = upload(&[9; 4]);
    let streams = [0, 0].map(|_| got(|stream| cuStreamCreate(stream, 1)));
    let event = got(|event| cuEventCreate(event, 2));

    ok(cuStreamBeginCapture_v2(streams[0], 2));
    assert_eq!(cuStreamBeginCapture_v2(streams[0], 2), ILLEGAL_STATE);
    assert_eq!(got(|status| cuStreamIsCapturing(streams[0], status)), 1);
    assert_eq!(cuStreamSynchronize(streams[0]), STREAM_CAPTURE_UNSUPPORTED);
    ok(cuMemsetD32Async(data, 1, 4, streams[0]));
    ok(cuEventRecord(event, streams[0]));
    ok(cuStreamWaitEvent(streams[1], event, 0));
    let (by, n) = (10u32, 3u32);
    let list = [
        &raw const data as usize,
        &raw const by as usize,
        &raw const n as usize,
    ];
    ok(cuLaunchKernel(
        kernel,
        1,
        1,
        1,
        32,
        1,
        1,
        0,
        streams[1],
        input(&list),
        In::at(0),
    ));
    ok(cuLaunchHostFunc(streams[1], Some(count), 3));
    ok(cuEventRecord(event, streams[1]));
    ok(cuStreamWaitEvent(streams[0], event, 0));
    let graph = got(|graph| cuStreamEndCapture(streams[0], graph));
    assert_eq!(got(|status| cuStreamIsCapturing(streams[1], status)), 0);
    assert_eq!(download(data, 4), [9; 4], "nothing has run");

    let mut nodes = [0; 16];
    let mut count = 16;
    ok(cuGraphGetNodes(
        graph,
        Out::at(nodes.as_mut_ptr() as usize),
        out(&mut count),
    ));
    let kinds = nodes[..count].iter();
    let kinds: Vec<u32> = kinds
        .map(|&node| got(|kind| cuGraphNodeGetType(node, kind)))
        .collect();
    assert_eq!(
        kinds.iter().filter(|&&kind| kind == 0).count(),
        1,
        "{kinds:?}"
    );
    let launch = kinds.iter().position(|&kind| kind == 0).expect("a kernel");
    let params: KernelNodeParams =
        got(|params| cuGraphKernelNodeGetParams_v2(nodes[launch], params));
    assert_eq!((params.function, params.block), (kernel, [32, 1, 1]));

    let executable = got(|made| cuGraphInstantiateWithFlags(made, graph, 0));
    ok(cuGraphDestroy(graph));
    assert_eq!(cuGraphDestroy(graph), INVALID_HANDLE);
    for launches in 1..=2 {
        ok(cuGraphLaunch(executable, streams[0]));
        assert_eq!(download(data, 4), [11, 11, 11, 1]);
        assert_eq!(CALLS.load(Ordering::Relaxed), 3 * launches);
    }
    ok(cuGraphExecDestroy(executable));
    assert_eq!(cuGraphLaunch(executable, 0), INVALID_HANDLE);
}
