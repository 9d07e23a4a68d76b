//! Copies in batches, and memory of pools and graphs.
use std::sync::{Mutex, PoisonError};

use super::*;
use crate::error::INVALID_VALUE;
use crate::graph::{
    cuGraphCreate, cuGraphDestroy, cuGraphExecDestroy, cuGraphExecUpdate_v2,
    cuGraphInstantiateWithFlags, cuGraphLaunch,
};
use crate::graph_memory::{cuDeviceGetGraphMemAttribute, cuDeviceSetGraphMemAttribute};
use crate::graph_node::cuGraphAddChildGraphNode;
use crate::memory::{
    MemcpyAttributes, cuMemFree_v2, cuMemcpyBatchAsync_v2, cuMemcpyDtoDAsync_v2, cuMemsetD32_v2,
    cuMemsetD32Async,
};
use crate::pool::{
    cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemFreeAsync, cuMemGetDefaultMemPool,
    cuMemGetMemPool, cuMemPoolCreate, cuMemPoolDestroy, cuMemPoolGetAttribute, cuMemSetMemPool,
};
use crate::state::with;
use crate::stream::{LEGACY, cuStreamBeginCapture_v2, cuStreamCreate, cuStreamEndCapture};

/// All tests share the counters of graph memory; those that use it take turns.
static GRAPH_MEMORY: Mutex<()> = Mutex::new(());

#[test]
fn a_batch_copies_each_source_to_its_destination() {
    let _context = Current::new();
    let stream = got(|stream| cuStreamCreate(stream, 1));
    let host = [[1u32; 4], [2; 4]];
    let from = host.each_ref().map(|row| row.as_ptr() as u64);
    let to = [upload(&[9; 4]), upload(&[9; 4])];
    let copy = |bytes: [usize; 2], orders: &[u32], firsts: &[usize], stream| {
        let attributes = orders.iter().map(|&order| MemcpyAttributes {
            order,
            ..MemcpyAttributes::default()
        });
        let attributes: Vec<_> = attributes.collect();
        let (bytes, of) = (input(&bytes), input(&attributes));
        cuMemcpyBatchAsync_v2(
            input(&to),
            input(&from),
            bytes,
            2,
            of,
            input(firsts),
            firsts.len(),
            stream,
        )
    };
    for (orders, firsts) in [
        (&[][..], &[][..]),
        (&[0], &[0]),
        (&[4], &[0]),
        (&[1], &[1]),
        (&[1, 1], &[0, 0]),
        (&[1, 1], &[0, 2]),
        (&[1, 1, 1], &[0, 1, 1]),
    ] {
        let code = copy([16, 16], orders, firsts, stream);
        assert_eq!(code, INVALID_VALUE, "{orders:?} {firsts:?}");
    }
    assert_eq!(copy([16, 16], &[1], &[0], LEGACY), INVALID_VALUE);
    assert_eq!(copy([16, 0], &[1], &[0], stream), INVALID_VALUE);
    assert_eq!(download(to[0], 4), [9; 4], "nothing was copied");
    ok(copy([16, 12], &[1, 3], &[0, 1], stream));
    assert_eq!(download(to[0], 4), [1; 4]);
    assert_eq!(download(to[1], 4), [2, 2, 2, 9]);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_from_a_pool_of_the_host_is_read_there() {
    use crate::pointer::cuPointerGetAttribute;
    let _context = Current::new();
    // Pinned on the host, pinned on a NUMA node, managed on the device.
    for (properties, kind, managed) in [
        ([1, 0, 2, 0], 1, 0),
        ([1, 0, 3, 0], 1, 0),
        ([2, 0, 1, 0], 2, 1),
    ] {
        let pool = got(|pool| cuMemPoolCreate(pool, input(&[properties])));
        let used = || got(|used: Out<u64>| cuMemPoolGetAttribute(pool, 7, used.address()));
        let data = got(|address| cuMemAllocFromPoolAsync(address, 16, pool, 0));
        ok(cuMemsetD32_v2(data, 7, 4));
        assert_eq!(In::<[u32; 4]>::at(data as usize).get().ok(), Some([7; 4]));
        let about =
            |which| got(|value: Out<u32>| cuPointerGetAttribute(value.address(), which, data));
        assert_eq!((about(2), about(8)), (kind, managed));
        assert_eq!(used(), 16);
        ok(cuMemFreeAsync(data, 0));
        assert_eq!(used(), 0);
        ok(cuMemPoolDestroy(pool));
    }
    assert_eq!(
        cuMemPoolCreate(out(&mut 0), input(&[[1, 0, 5, 0]])),
        INVALID_VALUE
    );
}

#[test]
fn a_graph_allocates_when_it_runs_and_frees() {
    let _turn = GRAPH_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let context = Current::new();
    let used = |which| got(|value| cuDeviceGetGraphMemAttribute(0, which, value));
    let stream = got(|stream| cuStreamCreate(stream, 1));
    let result = upload(&[0; 4]);
    let captured = |frees: bool| {
        ok(cuStreamBeginCapture_v2(stream, 2));
        let scratch = got(|address| cuMemAllocAsync(address, 16, stream));
        ok(cuMemsetD32Async(scratch, 5, 4, stream));
        ok(cuMemcpyDtoDAsync_v2(result, scratch, 16, stream));
        if frees {
            ok(cuMemFreeAsync(scratch, stream));
        }
        (scratch, got(|graph| cuStreamEndCapture(stream, graph)))
    };
    let (_, graph) = captured(true);
    let ready = got(|ready| cuGraphInstantiateWithFlags(ready, graph, 0));
    assert_eq!(used(1), 0, "nothing has run");
    for _ in 0..2 {
        ok(cuGraphLaunch(ready, stream));
    }
    assert_eq!(download(result, 4), [5; 4]);
    assert_eq!([0, 1, 2, 3].map(used), [0, 16, 0, 32 << 20]);
    ok(cuGraphExecDestroy(ready));
    ok(cuGraphDestroy(graph));
    ok(cuDeviceSetGraphMemAttribute(0, 3, input(&[0])));
    assert_eq!(used(1), 0);

    // Memory that a graph does not free belongs to the client: it outlives the graph, and until it is freed the graph
    // cannot be launched again.
    let (scratch, graph) = captured(false);
    let ready = got(|ready| cuGraphInstantiateWithFlags(ready, graph, 0));
    ok(cuGraphLaunch(ready, stream));
    assert_eq!(cuGraphLaunch(ready, stream), INVALID_VALUE);
    let freeing = got(|ready| cuGraphInstantiateWithFlags(ready, graph, 1));
    ok(cuGraphLaunch(freeing, stream));
    ok(cuGraphExecDestroy(freeing));
    ok(cuGraphExecDestroy(ready));
    ok(cuGraphDestroy(graph));
    assert_eq!(used(0), 16);
    assert_eq!(download(scratch, 4), [5; 4]);
    ok(cuMemFree_v2(scratch));
    assert_eq!(used(0), 0);
    assert_eq!(cuMemFree_v2(scratch), INVALID_VALUE, "it was free already");
    drop(context);
}

/// A graph that allocates 16 bytes and, if asked, frees them; and their address.
fn allocating_graph(frees: bool) -> (u64, Handle) {
    let stream = got(|stream| cuStreamCreate(stream, 1));
    ok(cuStreamBeginCapture_v2(stream, 2));
    let address = got(|address| cuMemAllocAsync(address, 16, stream));
    if frees {
        ok(cuMemFreeAsync(address, stream));
    }
    (address, got(|graph| cuStreamEndCapture(stream, graph)))
}

#[test]
fn a_graph_does_not_revive_the_memory_of_a_destroyed_context() {
    let _turn = GRAPH_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let context = Current::new();
    let (_, graph) = allocating_graph(true);
    let ready = got(|ready| cuGraphInstantiateWithFlags(ready, graph, 1));
    drop(context);
    let _context = Current::new();
    assert_eq!(cuGraphLaunch(ready, 0), INVALID_VALUE);
    ok(cuGraphExecDestroy(ready));
    ok(cuGraphDestroy(graph));
}

#[test]
fn what_a_child_graph_has_allocated_is_freed_before_the_next_launch() {
    let _turn = GRAPH_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let _context = Current::new();
    let (address, child) = allocating_graph(false);
    let parent = got(|graph| cuGraphCreate(graph, 0));
    got(|node| cuGraphAddChildGraphNode(node, parent, In::at(0), 0, child));
    let ready = got(|ready| cuGraphInstantiateWithFlags(ready, parent, 1));
    for _ in 0..2 {
        ok(cuGraphLaunch(ready, 0));
    }
    ok(cuMemFree_v2(address));
    for graph in [child, parent] {
        ok(cuGraphDestroy(graph));
    }
    ok(cuGraphExecDestroy(ready));
}

#[test]
fn an_update_releases_memory_that_no_node_refers_to() {
    let _turn = GRAPH_MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let _context = Current::new();
    let (address, graph) = allocating_graph(true);
    let ready = got(|ready| cuGraphInstantiateWithFlags(ready, graph, 0));
    ok(cuGraphDestroy(graph));
    let reserved = || with(|state| Ok(state.graph_memory.contains_key(&address))).ok();
    assert_eq!(reserved(), Some(true), "the instance refers to it");
    let empty = got(|graph| cuGraphCreate(graph, 0));
    ok(cuGraphExecUpdate_v2(ready, empty, Out::at(0)));
    assert_eq!(reserved(), Some(false));
}

#[cfg(target_os = "linux")]
#[test]
fn the_default_pool_stays_and_is_current_again_when_another_is_destroyed() {
    let _context = Current::new();
    // Managed memory, of which no other test uses the current pool.
    let (kind, device) = (2, [1, 0]);
    let default = || got(|pool| cuMemGetDefaultMemPool(pool, input(&[device]), kind));
    let current = || got(|pool| cuMemGetMemPool(pool, input(&[device]), kind));
    let first = default();
    assert_eq!(current(), first);
    let pool = got(|pool| cuMemPoolCreate(pool, input(&[[2, 0, 1, 0]])));
    ok(cuMemSetMemPool(input(&[device]), kind, pool));
    assert_eq!((default(), current()), (first, pool));
    assert_eq!(cuMemPoolDestroy(first), INVALID_VALUE);
    ok(cuMemPoolDestroy(pool));
    assert_eq!((default(), current()), (first, first));
}
