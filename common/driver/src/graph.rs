//! Graphs: work to be done again as a whole. What was captured runs in the order in which it was captured; nodes that were
//! added explicitly (`graph_node`) run after those that they depend on.
use std::collections::HashMap;

use crate::entry::entry_points;
use crate::error::{Fault, INVALID_HANDLE, INVALID_VALUE};
use crate::host::{self, HostFunction, Out};
use crate::state::{State, with, with_context};
use crate::stream::{self, Work};
use crate::table::Handle;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`
const AUTO_FREE_ON_LAUNCH: u64 = 1;

/// Work that was captured or added.
#[derive(Clone, Default)]
pub struct Graph {
    /// In the order in which they were added.
    pub nodes: Vec<Handle>,
    /// The client's objects that it has references to, and how many.
    kept: Vec<(Handle, u64)>,
}

/// An object of the client, counted by references: its destructor is called when the last one is released.
pub struct UserObject {
    kept: usize,
    free: HostFunction,
    count: u64,
}

/// Destroys objects without references. The lock is not held, since the client's functions are called.
fn free(unused: Vec<UserObject>) {
    for one in unused {
        host::call(one.free, one.kept);
    }
}

/// A node of a graph.
#[derive(Clone)]
pub struct Node {
    pub graph: Handle,
    pub work: Work,
    /// The nodes of the same graph that come before it.
    pub after: Vec<Handle>,
}

/// A graph that is ready to run.
pub struct Executable {
    /// In an order in which they may run, each with the node that it was made from.
    pub works: Vec<(Handle, Work)>,
    /// The references that its graph had when it was made.
    kept: Vec<(Handle, u64)>,
    flags: u64,
}

impl State {
    pub fn graph(&self, handle: Handle) -> Result<&Graph, Fault> {
        self.graphs.get(handle).ok_or(Fault::silent(INVALID_HANDLE))
    }

    pub fn node(&self, handle: Handle) -> Result<&Node, Fault> {
        self.nodes.get(handle).ok_or(Fault::silent(INVALID_HANDLE))
    }

    /// The nodes of a graph, each after those that it depends on; of several that may be next, the one that was added first.
    ///
    /// # Errors
    /// If they depend on each other in a circle.
    pub fn in_order(&self, graph: Handle) -> Result<Vec<Handle>, Fault> {
        let mut left = self.graph(graph)?.nodes.clone();
        let mut done = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let ready = left.iter().position(|&node| {
                let after = self.nodes.get(node).map(|node| &node.after);
                after.is_none_or(|after| after.iter().all(|one| !left.contains(one)))
            });
            let ready = ready.ok_or_else(|| {
                Fault::of(
                    INVALID_VALUE,
                    "the graph's nodes depend on each other in a circle",
                )
            })?;
            done.push(left.remove(ready));
        }
        Ok(done)
    }

    fn instantiate(&mut self, graph: Handle, flags: u64) -> Result<Handle, Fault> {
        let nodes = self.in_order(graph)?;
        let works = nodes.iter();
        let works = works.map(|&node| Ok((node, self.node(node)?.work.clone())));
        let works = works.collect::<Result<_, Fault>>()?;
        let kept = self.graph(graph)?.kept.clone();
        for &(object, times) in &kept {
            self.user_object(object)?.count += times;
        }
        Ok(self.executables.insert(Executable { works, kept, flags }))
    }

    fn user_object(&mut self, handle: Handle) -> Result<&mut UserObject, Fault> {
        let found = self.user_objects.get_mut(handle);
        found.ok_or(Fault::silent(INVALID_HANDLE))
    }

    /// Releases references; the object itself if those were the last.
    fn release(&mut self, handle: Handle, times: u64) -> Result<Option<UserObject>, Fault> {
        let object = self.user_object(handle)?;
        object.count = object.count.saturating_sub(times);
        Ok(match object.count {
            0 => self.user_objects.remove(handle),
            _ => None,
        })
    }

    /// Releases all references of a graph.
    fn release_all(&mut self, kept: Vec<(Handle, u64)>) -> Vec<UserObject> {
        let released = kept.into_iter();
        let released = released.map(|(object, times)| self.release(object, times).ok().flatten());
        released.flatten().collect()
    }
}

entry_points! {
    /// A graph without nodes.
    10000 fn cuGraphCreate(graph: Out<Handle>, flags: u32) {
        with(|state| {
            graph.check()?;
            match flags {
                0 => graph.put(state.graphs.insert(Graph::default())),
                _ => Err(Fault::silent(INVALID_VALUE)),
            }
        })
    }
    /// Frees a graph; what was instantiated stays.
    10000 fn cuGraphDestroy(graph: Handle) {
        let unused = with(|state| {
            let gone = state.graphs.remove(graph).ok_or(Fault::silent(INVALID_HANDLE))?;
            state.nodes.retain(|node| node.graph != graph);
            state.end_capture(graph);
            state.release_graph_memory()?;
            Ok(state.release_all(gone.kept))
        })?;
        free(unused);
        Ok(())
    }
    /// A copy.
    10000 fn cuGraphClone(clone: Out<Handle>, graph: Handle) {
        with(|state| {
            clone.check()?;
            let nodes = state.graph(graph)?.nodes.clone();
            let made = state.graphs.insert(Graph::default());
            let mut clones = HashMap::new();
            for node in state.in_order(graph)? {
                let original = state.node(node)?.clone();
                let after = original.after.iter().filter_map(|one| clones.get(one).copied()).collect();
                clones.insert(node, state.insert_node(made, original.work, after)?);
            }
            // In the original's order.
            if let Some(graph) = state.graphs.get_mut(made) {
                graph.nodes = nodes.iter().filter_map(|node| clones.get(node).copied()).collect();
            }
            clone.put(made)
        })
    }
    /// Makes it ready to run.
    11040 fn cuGraphInstantiateWithFlags(executable: Out<Handle>, graph: Handle, flags: u64) {
        with_context(|state, _| { executable.check()?; executable.put(state.instantiate(graph, flags)?) })
    }
    /// The same; the first number of the parameters is the flags, the third and fourth say what went wrong.
    12000 fn cuGraphInstantiateWithParams(executable: Out<Handle>, graph: Handle, parameters: Out<[u64; 4]>) {
        with_context(|state, _| {
            executable.check()?;
            let [flags, stream, _, _] = parameters.get()?;
            executable.put(state.instantiate(graph, flags)?)?;
            parameters.put([flags, stream, 0, 0])
        })
    }
    /// Nothing has to be copied to the device beforehand.
    11010 fn cuGraphUpload(executable: Handle, stream: Handle) {
        with_context(|state, _| {
            state.capturing(stream)?;
            state.executables.get(executable).map(|_| ()).ok_or(Fault::silent(INVALID_HANDLE))
        })
    }
    /// Runs all of its work.
    10000 fn cuGraphLaunch(executable: Handle, stream: Handle) {
        let works = with_context(|state, _| {
            if executable == 0 {
                return Err(Fault::silent(INVALID_VALUE));
            }
            state.not_capturing(stream)?;
            let known = state.executables.get(executable);
            let known = known.ok_or(Fault::silent(INVALID_HANDLE))?;
            let frees = known.flags & AUTO_FREE_ON_LAUNCH != 0;
            let works: Vec<_> = known.works.iter().map(|(_, work)| work.clone()).collect();
            if frees {
                state.free_memory_of(&works);
            }
            Ok(works)
        })?;
        stream::run(&works)
    }
    /// Frees what was instantiated.
    10000 fn cuGraphExecDestroy(executable: Handle) {
        let unused = with(|state| {
            let gone = state.executables.remove(executable).ok_or(Fault::silent(INVALID_HANDLE))?;
            state.release_graph_memory()?;
            Ok(state.release_all(gone.kept))
        })?;
        free(unused);
        Ok(())
    }
    /// Replaces what was instantiated by another graph; the result is a struct of a number and two handles.
    12000 fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, result: Out<[u64; 3]>) {
        with_context(|state, _| {
            let made = state.instantiate(graph, 0)?;
            let made = state.executables.remove(made).ok_or(Fault::silent(INVALID_HANDLE))?;
            let known = state.executables.get_mut(executable).ok_or(Fault::silent(INVALID_HANDLE))?;
            known.works = made.works;
            known.kept.extend(made.kept);
            result.put_if_wanted([0; 3])
        })
    }
    /// Makes it ready to run, as before CUDA 12; no node is named after an error.
    11000 fn cuGraphInstantiate_v2(
        executable: Out<Handle>, graph: Handle, node: Out<Handle>, _log: Out<u8>, _room: usize,
    ) {
        with_context(|state, _| {
            executable.check()?;
            node.put_if_wanted(0)?;
            executable.put(state.instantiate(graph, 0)?)
        })
    }
    /// How it was instantiated.
    12000 fn cuGraphExecGetFlags(executable: Handle, flags: Out<u64>) {
        with(|state| {
            let known = state.executables.get(executable);
            flags.put(known.ok_or(Fault::silent(INVALID_HANDLE))?.flags)
        })
    }
    /// A reference-counted object of the client, with its destructor.
    11030 fn cuUserObjectCreate(object: Out<Handle>, kept: usize, free: HostFunction, count: u32, flags: u32) {
        with(|state| {
            object.check()?;
            if free.is_none() || count == 0 || flags != 1 {
                return Err(Fault::silent(INVALID_VALUE));
            }
            object.put(state.user_objects.insert(UserObject { kept, free, count: count.into() }))
        })
    }
    /// Adds references.
    11030 fn cuUserObjectRetain(object: Handle, count: u32) {
        with(|state| { state.user_object(object)?.count += u64::from(count); Ok(()) })
    }
    /// Releases references.
    11030 fn cuUserObjectRelease(object: Handle, count: u32) {
        let unused = with(|state| state.release(object, count.into()))?;
        free(unused.into_iter().collect());
        Ok(())
    }
    /// Gives references to a graph: new ones, or the caller's with `CU_GRAPH_USER_OBJECT_MOVE`.
    11030 fn cuGraphRetainUserObject(graph: Handle, object: Handle, count: u32, flags: u32) {
        with(|state| {
            let moved = flags & 1 == 1;
            let known = state.user_object(object)?;
            known.count += if moved { 0 } else { u64::from(count) };
            let graph = state.graphs.get_mut(graph).ok_or(Fault::silent(INVALID_HANDLE))?;
            graph.kept.push((object, count.into()));
            Ok(())
        })
    }
    /// Releases a graph's references.
    11030 fn cuGraphReleaseUserObject(graph: Handle, object: Handle, count: u32) {
        let unused = with(|state| {
            let known = state.graphs.get_mut(graph).ok_or(Fault::silent(INVALID_HANDLE))?;
            let kept = known.kept.iter_mut().find(|(one, times)| *one == object && *times >= u64::from(count));
            kept.ok_or(Fault::silent(INVALID_VALUE))?.1 -= u64::from(count);
            state.release(object, count.into())
        })?;
        free(unused.into_iter().collect());
        Ok(())
    }
}
