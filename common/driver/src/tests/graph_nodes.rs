//! Graphs whose nodes are added explicitly.
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::error::INVALID_VALUE;
use crate::graph::{cuGraphClone, cuGraphCreate, cuGraphInstantiateWithFlags, cuGraphLaunch};
use crate::graph_node::*;
use crate::memory::Memcpy3d;

static SEEN: AtomicU32 = AtomicU32::new(0);

extern "C" fn see(value: *mut c_void) {
    let value = In::<u32>::at(value as usize).get().expect("mapped");
    SEEN.store(value, Ordering::Relaxed);
}

fn list(query: impl Fn(Out<Handle>, Out<usize>) -> u32) -> Vec<Handle> {
    let mut count = 0;
    ok(query(Out::at(0), out(&mut count)));
    let mut all = vec![0; count];
    if count > 0 {
        ok(query(Out::at(all.as_mut_ptr() as usize), out(&mut count)));
    }
    all
}

#[test]
fn nodes_run_after_those_that_they_depend_on() {
    let _context = Current::new();
    let kernel = function(module(ADD), c"add");
    let data = upload(&[0; 4]);
    let mut back = 0u32;
    let graph = got(|graph| cuGraphCreate(graph, 0));
    let none = In::at(0);

    // Added in the order host, copy, kernel, fill; each depends on the next one.
    let call = [see as *const () as usize, &raw mut back as usize];
    let call = got(|node| cuGraphAddHostNode(node, graph, none, 0, input(&[call])));
    let to_host = Memcpy3d {
        src_type: 2,
        src_device: data,
        dst_type: 1,
        dst_host: &raw mut back as u64,
        width: 4,
        height: 1,
        depth: 1,
        ..Memcpy3d::default()
    };
    let copy = got(|node| cuGraphAddMemcpyNode(node, graph, none, 0, input(&[to_host]), 0));
    let (by, n) = (10u32, 3u32);
    let arguments = [
        &raw const data as usize,
        &raw const by as usize,
        &raw const n as usize,
    ];
    let launch = KernelNodeParams {
        function: kernel,
        grid: [1; 3],
        block: [32, 1, 1],
        parameters: arguments.as_ptr() as usize,
        ..KernelNodeParams::default()
    };
    let launch_node = got(|node| cuGraphAddKernelNode_v2(node, graph, none, 0, input(&[launch])));
    let set = MemsetNodeParams {
        to: data,
        value: 7,
        element: 4,
        width: 4,
        rows: 1,
        ..MemsetNodeParams::default()
    };
    let fill = got(|node| cuGraphAddMemsetNode(node, graph, none, 0, input(&[set]), 0));
    let (from, to) = ([copy, launch_node, fill], [call, copy, launch_node]);
    ok(cuGraphAddDependencies(graph, input(&from), input(&to), 3));
    let again = cuGraphAddDependencies(graph, input(&from), input(&to), 1);
    assert_eq!(again, INVALID_VALUE, "it is there");

    assert_eq!(
        list(|nodes, count| cuGraphGetRootNodes(graph, nodes, count)),
        [fill]
    );
    assert_eq!(
        list(|nodes, count| cuGraphNodeGetDependencies(copy, nodes, count)),
        [launch_node]
    );
    assert_eq!(
        list(|nodes, count| cuGraphNodeGetDependentNodes(copy, nodes, count)),
        [call]
    );
    let kinds =
        [call, copy, launch_node, fill].map(|node| got(|kind| cuGraphNodeGetType(node, kind)));
    assert_eq!(kinds, [3, 1, 0, 2]);
    let read: MemsetNodeParams = got(|out| cuGraphMemsetNodeGetParams(fill, out));
    assert_eq!((read.to, read.value, read.width), (data, 7, 4));

    let executable = got(|made| cuGraphInstantiateWithFlags(made, graph, 0));
    ok(cuGraphLaunch(executable, 0));
    assert_eq!(download(data, 4), [17, 17, 17, 7]);
    assert_eq!(SEEN.load(Ordering::Relaxed), 17);

    // The instantiated graph is changed; the graph is not.
    let other = MemsetNodeParams { value: 1, ..set };
    ok(cuGraphExecMemsetNodeSetParams(
        executable,
        fill,
        input(&[other]),
        0,
    ));
    ok(cuGraphLaunch(executable, 0));
    assert_eq!(SEEN.load(Ordering::Relaxed), 11);
    assert_eq!(
        cuGraphExecMemsetNodeSetParams(executable, copy, input(&[other]), 0),
        INVALID_VALUE
    );

    // As a node of another graph, and as a clone.
    let outer = got(|graph| cuGraphCreate(graph, 0));
    let inner = got(|clone| cuGraphClone(clone, graph));
    got(|node| cuGraphAddChildGraphNode(node, outer, none, 0, inner));
    let executable = got(|made| cuGraphInstantiateWithFlags(made, outer, 0));
    ok(cuGraphLaunch(executable, 0));
    assert_eq!(SEEN.load(Ordering::Relaxed), 17);

    // A cycle cannot run.
    ok(cuGraphAddDependencies(
        graph,
        input(&[call]),
        input(&[fill]),
        1,
    ));
    let mut made = 0;
    assert_eq!(
        cuGraphInstantiateWithFlags(out(&mut made), graph, 0),
        INVALID_VALUE
    );
    ok(cuGraphRemoveDependencies(
        graph,
        input(&[call]),
        input(&[fill]),
        1,
    ));
    ok(cuGraphDestroyNode(fill));
    assert_eq!(
        list(|nodes, count| cuGraphGetRootNodes(graph, nodes, count)),
        [launch_node]
    );
    let foreign = cuGraphAddEmptyNode(out(&mut made), outer, input(&[copy]), 1);
    assert_eq!(foreign, INVALID_VALUE, "of another graph");
}

#[test]
fn a_node_of_any_type_is_described_by_one_struct() {
    let _context = Current::new();
    let data = upload(&[0; 4]);
    let graph = got(|graph| cuGraphCreate(graph, 0));
    let mut of = [0u64; 29];
    (of[0], of[2], of[3], of[4]) = (data, 3 | 4 << 32, 2, 1); // to, pitch, value and element, width, rows
    let params = NodeParams {
        kind: 2,
        of,
        ..NodeParams::default()
    };
    got(|node| cuGraphAddNode_v2(node, graph, In::at(0), 0, 0, input(&[params])));
    let allocation = NodeParams { kind: 10, ..params };
    let mut node = 0;
    let code = cuGraphAddNode_v2(out(&mut node), graph, In::at(0), 0, 0, input(&[allocation]));
    assert_eq!(code, crate::error::NOT_SUPPORTED);
    let executable = got(|made| cuGraphInstantiateWithFlags(made, graph, 0));
    ok(cuGraphLaunch(executable, 0));
    assert_eq!(download(data, 3), [3, 3, 0]);
}
