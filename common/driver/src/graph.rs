//! Graphs: recorded work that can be launched again as a whole. Captured work runs in the order of its capture; nodes
//! that were added explicitly (`graph_node`) run after their dependencies.
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
    /// The client's user objects that it references, and how often.
    kept: Vec<(Handle, u64)>,
}

/// A reference-counted object of the client: its destructor is called when the last reference is released.
pub struct UserObject {
    kept: usize,
    free: HostFunction,
    count: u64,
}

/// Destroys objects without references. The lock is not held, because this calls the client's functions.
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
    /// The nodes of the same graph that it depends on.
    pub after: Vec<Handle>,
}

/// An instantiated graph.
pub struct Executable {
    /// Work in an executable order, each with the node that it was made from.
    pub works: Vec<(Handle, Work)>,
    /// The references of its graph at instantiation.
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

    /// The nodes of a graph in topological order; among nodes that are ready, the one that was added first.
    ///
    /// # Errors
    /// If the dependencies form a cycle.
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
                    "the dependencies of the graph's nodes form a cycle",
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

    /// Releases references; returns the object if those were the last.
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
    /// Creates an empty graph.
    10000 fn cuGraphCreate(graph: Out<Handle>, flags: u32) {
        with(|state| {
            graph.check()?;
            match flags {
                0 => graph.put(state.graphs.insert(Graph::default())),
                _ => Err(Fault::silent(INVALID_VALUE)),
            }
        })
    }
    /// Destroys a graph; its instances remain.
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
    /// Clones a graph.
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
            // In the order of the original.
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
    /// As above. The first field of the parameters is the flags; the third and fourth receive the error.
    12000 fn cuGraphInstantiateWithParams(executable: Out<Handle>, graph: Handle, parameters: Out<[u64; 4]>) {
        with_context(|state, _| {
            executable.check()?;
            let [flags, stream, _, _] = parameters.get()?;
            executable.put(state.instantiate(graph, flags)?)?;
            parameters.put([flags, stream, 0, 0])
        })
    }
    /// Nothing has to be uploaded in advance.
    11010 fn cuGraphUpload(executable: Handle, stream: Handle) {
        with_context(|state, _| {
            state.capturing(stream)?;
            state.executables.get(executable).map(|_| ()).ok_or(Fault::silent(INVALID_HANDLE))
        })
    }
    /// Launches an instantiated graph.
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
    /// Destroys an instantiated graph.
    10000 fn cuGraphExecDestroy(executable: Handle) {
        let unused = with(|state| {
            let gone = state.executables.remove(executable).ok_or(Fault::silent(INVALID_HANDLE))?;
            state.release_graph_memory()?;
            Ok(state.release_all(gone.kept))
        })?;
        free(unused);
        Ok(())
    }
    /// Updates an instantiated graph from another graph; the result is a struct of a number and two handles.
    12000 fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, result: Out<[u64; 3]>) {
        with_context(|state, _| {
            state.executables.get(executable).ok_or(Fault::silent(INVALID_HANDLE))?;
            let made = state.instantiate(graph, 0)?;
            let made = state.executables.remove(made).ok_or(Fault::silent(INVALID_HANDLE))?;
            let known = state.executables.get_mut(executable).ok_or(Fault::silent(INVALID_HANDLE))?;
            known.works = made.works;
            known.kept.extend(made.kept);
            state.release_graph_memory()?;
            result.put_if_wanted([0; 3])
        })
    }
    /// Instantiates a graph, as before CUDA 12; the result does not name the failing node.
    11000 fn cuGraphInstantiate_v2(
        executable: Out<Handle>, graph: Handle, node: Out<Handle>, _log: Out<u8>, _room: usize,
    ) {
        with_context(|state, _| {
            executable.check()?;
            node.put_if_wanted(0)?;
            executable.put(state.instantiate(graph, 0)?)
        })
    }
    /// The flags that it was instantiated with.
    12000 fn cuGraphExecGetFlags(executable: Handle, flags: Out<u64>) {
        with(|state| {
            let known = state.executables.get(executable);
            flags.put(known.ok_or(Fault::silent(INVALID_HANDLE))?.flags)
        })
    }
    /// Creates a reference-counted object of the client, with its destructor.
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
