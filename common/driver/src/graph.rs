//! Graphs: work that was captured, to be done again as a whole. Its nodes run in the order in which they were captured.
use crate::entry::entry_points;
use crate::error::{Fault, INVALID_HANDLE, INVALID_VALUE};
use crate::host::{self, HostFunction, Out, plain_struct};
use crate::state::{State, with, with_context};
use crate::stream::{self, Work};
use crate::table::Handle;

/// Work that was captured.
#[derive(Clone, Default)]
pub struct Graph {
    pub nodes: Vec<Handle>,
    /// What it keeps of the client's, and how many times.
    kept: Vec<(Handle, u64)>,
}

/// Something of the client's that graphs keep.
pub struct UserObject {
    kept: usize,
    free: HostFunction,
    count: u64,
}

/// Frees what nobody keeps any more; without the lock, since the client is called.
fn free(unused: Vec<UserObject>) {
    for one in unused {
        host::call(one.free, one.kept);
    }
}

/// One piece of it.
pub struct Node {
    graph: Handle,
    pub work: Work,
}

impl Node {
    pub fn new(graph: Handle, work: Work) -> Self {
        Self { graph, work }
    }
}

/// A graph that is ready to run.
pub struct Executable {
    works: Vec<Work>,
    /// What its graph kept when it was made.
    kept: Vec<(Handle, u64)>,
}

// CUgraphNodeType
const KERNEL: u32 = 0;
const COPY: u32 = 1;
const FILL: u32 = 2;
const CALL: u32 = 3;
const EMPTY: u32 = 5;

plain_struct! {
    /// `CUDA_KERNEL_NODE_PARAMS_v2`
    pub struct KernelNodeParams {
        pub function: usize,
        pub grid: [u32; 3],
        pub block: [u32; 3],
        pub dynamic_shared: u32,
        pub pad: u32,
        pub parameters: usize,
        pub extra: usize,
        pub kernel: usize,
        pub context: usize,
    }
}

impl State {
    fn graph(&self, handle: Handle) -> Result<&Graph, Fault> {
        self.graphs.get(handle).ok_or(Fault::silent(INVALID_HANDLE))
    }

    fn node(&self, handle: Handle) -> Result<&Node, Fault> {
        self.nodes.get(handle).ok_or(Fault::silent(INVALID_HANDLE))
    }

    fn instantiate(&mut self, graph: Handle) -> Result<Handle, Fault> {
        let known = self.graph(graph)?;
        let nodes = known.nodes.iter();
        let works = nodes.filter_map(|&node| Some(self.nodes.get(node)?.work.clone()));
        let works = works.collect();
        let kept = known.kept.clone();
        for &(object, times) in &kept {
            self.user_object(object)?.count += times;
        }
        Ok(self.executables.insert(Executable { works, kept }))
    }

    fn user_object(&mut self, handle: Handle) -> Result<&mut UserObject, Fault> {
        let found = self.user_objects.get_mut(handle);
        found.ok_or(Fault::silent(INVALID_HANDLE))
    }

    /// Keeps it so many times less; what is to be freed, if that were all.
    fn release(&mut self, handle: Handle, times: u64) -> Result<Option<UserObject>, Fault> {
        let object = self.user_object(handle)?;
        object.count = object.count.saturating_sub(times);
        Ok(match object.count {
            0 => self.user_objects.remove(handle),
            _ => None,
        })
    }

    /// Gives up all that a graph kept.
    fn release_all(&mut self, kept: Vec<(Handle, u64)>) -> Vec<UserObject> {
        let released = kept.into_iter();
        let released = released.map(|(object, times)| self.release(object, times).ok().flatten());
        released.flatten().collect()
    }
}

fn kernel_node(state: &State, node: Handle) -> Result<KernelNodeParams, Fault> {
    let Work::Launch(launch) = &state.node(node)?.work else {
        return Err(Fault::silent(INVALID_VALUE));
    };
    Ok(KernelNodeParams {
        function: launch.kernel,
        grid: launch.config.grid,
        block: launch.config.block,
        dynamic_shared: launch.config.dynamic_shared,
        ..KernelNodeParams::default()
    })
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
            Ok(state.release_all(gone.kept))
        })?;
        free(unused);
        Ok(())
    }
    /// A copy.
    10000 fn cuGraphClone(clone: Out<Handle>, graph: Handle) {
        with(|state| {
            clone.check()?;
            let works: Vec<Work> = state.graph(graph)?.nodes.iter()
                .filter_map(|&node| Some(state.nodes.get(node)?.work.clone())).collect();
            let made = state.graphs.insert(Graph::default());
            for work in works {
                state.add_node(made, work)?;
            }
            clone.put(made)
        })
    }
    /// Makes it ready to run.
    11040 fn cuGraphInstantiateWithFlags(executable: Out<Handle>, graph: Handle, _flags: u64) {
        with_context(|state, _| { executable.check()?; executable.put(state.instantiate(graph)?) })
    }
    /// The same; the first number of the parameters is the flags, the third and fourth what went wrong.
    12000 fn cuGraphInstantiateWithParams(executable: Out<Handle>, graph: Handle, parameters: Out<[u64; 4]>) {
        with_context(|state, _| {
            executable.check()?;
            let [flags, stream, _, _] = parameters.get()?;
            executable.put(state.instantiate(graph)?)?;
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
    /// Does all of it.
    10000 fn cuGraphLaunch(executable: Handle, stream: Handle) {
        let works = with_context(|state, _| {
            state.not_capturing(stream)?;
            let known = state.executables.get(executable);
            Ok(known.ok_or(Fault::silent(INVALID_HANDLE))?.works.clone())
        })?;
        stream::run(&works)
    }
    /// Frees what was instantiated.
    10000 fn cuGraphExecDestroy(executable: Handle) {
        let unused = with(|state| {
            let gone = state.executables.remove(executable).ok_or(Fault::silent(INVALID_HANDLE))?;
            Ok(state.release_all(gone.kept))
        })?;
        free(unused);
        Ok(())
    }
    /// Replaces what was instantiated by another graph; the result is a struct of a number and two handles.
    12000 fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, result: Out<[u64; 3]>) {
        with_context(|state, _| {
            let made = state.instantiate(graph)?;
            let made = state.executables.remove(made).ok_or(Fault::silent(INVALID_HANDLE))?;
            let known = state.executables.get_mut(executable).ok_or(Fault::silent(INVALID_HANDLE))?;
            known.works = made.works;
            known.kept.extend(made.kept);
            result.put_if_wanted([0; 3])
        })
    }
    /// The nodes, or how many there are.
    10000 fn cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        with(|state| {
            let all = &state.graph(graph)?.nodes;
            if nodes.is_null() {
                return count.put(all.len());
            }
            let room = count.get()?;
            nodes.put_all(&all[..all.len().min(room)])?;
            count.put(all.len().min(room))
        })
    }
    /// The first node.
    10000 fn cuGraphGetRootNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        with(|state| {
            let all = &state.graph(graph)?.nodes;
            let first = &all[..all.len().min(1)];
            if !nodes.is_null() && count.get()? > 0 {
                nodes.put_all(first)?;
            }
            count.put(first.len())
        })
    }
    /// What a node does.
    10000 fn cuGraphNodeGetType(node: Handle, kind: Out<u32>) {
        with(|state| kind.put(match state.node(node)?.work {
            Work::Launch(_) => KERNEL,
            Work::Copy(_) => COPY,
            Work::Fill(_) => FILL,
            Work::Call(..) => CALL,
            Work::Nothing => EMPTY,
        }))
    }
    /// The launch of a kernel's node, without the arguments.
    12000 fn cuGraphKernelNodeGetParams_v2(node: Handle, out: Out<KernelNodeParams>) {
        with(|state| out.put(kernel_node(state, node)?))
    }
    /// How it was instantiated.
    12000 fn cuGraphExecGetFlags(executable: Handle, flags: Out<u64>) {
        with(|state| {
            state.executables.get(executable).ok_or(Fault::silent(INVALID_HANDLE))?;
            flags.put(0)
        })
    }
    /// Something of the client's that graphs keep, with what frees it.
    11030 fn cuUserObjectCreate(object: Out<Handle>, kept: usize, free: HostFunction, count: u32, flags: u32) {
        with(|state| {
            object.check()?;
            if free.is_none() || count == 0 || flags != 1 {
                return Err(Fault::silent(INVALID_VALUE));
            }
            object.put(state.user_objects.insert(UserObject { kept, free, count: count.into() }))
        })
    }
    /// Keeps it so many times more.
    11030 fn cuUserObjectRetain(object: Handle, count: u32) {
        with(|state| { state.user_object(object)?.count += u64::from(count); Ok(()) })
    }
    /// Keeps it so many times less.
    11030 fn cuUserObjectRelease(object: Handle, count: u32) {
        let unused = with(|state| state.release(object, count.into()))?;
        free(unused.into_iter().collect());
        Ok(())
    }
    /// A graph keeps it, as many times more unless the caller gives up its own.
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
    /// A graph gives it up.
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
    /// A node that does nothing, behind all others.
    10000 fn cuGraphAddEmptyNode(node: Out<Handle>, graph: Handle, _dependencies: usize, _count: usize) {
        with(|state| { node.check()?; node.put(state.add_node(graph, Work::Nothing)?) })
    }
}
