//! The nodes of a graph: what each does, what it depends on, and how to change both.
use crate::copy::{Copy, Fill, Side};
use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED};
use crate::graph::Node;
use crate::host::{self, In, Out, plain_struct};
use crate::memory::{Memcpy3d, UNIFIED, copy_3d, set};
use crate::state::{State, with, with_context};
use crate::stream::Work;
use crate::table::Handle;

// CUgraphNodeType
const KERNEL: u32 = 0;
const COPY: u32 = 1;
const FILL: u32 = 2;
const CALL: u32 = 3;
const CHILD: u32 = 4;
const EMPTY: u32 = 5;
const ALLOCATE: u32 = 10;
const FREE: u32 = 11;

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

plain_struct! {
    /// `CUDA_MEMSET_NODE_PARAMS`
    pub struct MemsetNodeParams {
        pub to: u64,
        pub pitch: usize,
        pub value: u32,
        pub element: u32,
        pub width: usize,
        pub rows: usize,
    }
}

plain_struct! {
    /// `CUgraphNodeParams`: a type, and a union of 29 words.
    pub struct NodeParams {
        pub kind: u32,
        pub reserved: [u32; 3],
        pub of: [u64; 29],
        pub reserved_2: u64,
    }
}

impl State {
    /// Adds a node that depends on others of the same graph.
    pub fn insert_node(
        &mut self,
        graph: Handle,
        work: Work,
        after: Vec<Handle>,
    ) -> Result<Handle, Fault> {
        self.graph(graph)?;
        self.belong_to(graph, &after)?;
        let node = self.nodes.insert(Node { graph, work, after });
        if let Some(graph) = self.graphs.get_mut(graph) {
            graph.nodes.push(node);
        }
        Ok(node)
    }

    fn belong_to(&self, graph: Handle, nodes: &[Handle]) -> Answer {
        nodes
            .iter()
            .try_for_each(|&node| match self.node(node)?.graph == graph {
                true => Ok(()),
                false => Err(Fault::silent(INVALID_VALUE)),
            })
    }

    fn node_mut(&mut self, node: Handle) -> Result<&mut Node, Fault> {
        self.nodes
            .get_mut(node)
            .ok_or(Fault::silent(INVALID_HANDLE))
    }

    /// Every pair of nodes in which the second depends on the first.
    fn edges(&self, graph: Handle) -> Result<Vec<(Handle, Handle)>, Fault> {
        let nodes = self.graph(graph)?.nodes.iter();
        let edges = nodes.flat_map(|&to| {
            let after = self.nodes.get(to).map(|node| node.after.as_slice());
            after
                .unwrap_or_default()
                .iter()
                .map(move |&from| (from, to))
        });
        Ok(edges.collect())
    }

    /// Replaces what a node does; its type stays the same.
    fn set_work(&mut self, node: Handle, work: Work) -> Answer {
        let node = self.node_mut(node)?;
        if kind(&node.work) != kind(&work) {
            return Err(Fault::silent(INVALID_VALUE));
        }
        node.work = work;
        Ok(())
    }

    /// The same for an instantiated graph.
    fn set_executable_work(&mut self, executable: Handle, node: Handle, work: Work) -> Answer {
        let known = self.executables.get_mut(executable);
        let works = &mut known.ok_or(Fault::silent(INVALID_HANDLE))?.works;
        let found = works.iter_mut().find(|(of, _)| *of == node);
        match found {
            Some((_, old)) if kind(old) == kind(&work) => {
                *old = work;
                Ok(())
            }
            _ => Err(Fault::silent(INVALID_VALUE)),
        }
    }
}

fn kind(work: &Work) -> u32 {
    match work {
        Work::Launch(_) => KERNEL,
        Work::Copy(_) => COPY,
        Work::Fill(_) => FILL,
        Work::Call(..) => CALL,
        Work::Graph(_) => CHILD,
        Work::Nothing => EMPTY,
        Work::Allocate(_, true) => ALLOCATE,
        Work::Allocate(_, false) => FREE,
    }
}

fn launch_of(state: &State, params: In<KernelNodeParams>) -> Result<Work, Fault> {
    let p = params.get()?;
    let config = emulator::LaunchConfig {
        grid: p.grid,
        block: p.block,
        dynamic_shared: p.dynamic_shared,
        ..emulator::LaunchConfig::default()
    };
    // A node may name a library's kernel; kernels and functions have the same handles here.
    let kernel = if p.function == 0 {
        p.kernel
    } else {
        p.function
    };
    state.prepare(kernel, config, In::at(p.parameters), In::at(p.extra))
}

fn fill_of(params: In<MemsetNodeParams>) -> Result<Work, Fault> {
    let p = params.get()?;
    let wrong = Fault::silent(INVALID_VALUE);
    let element = u8::try_from(p.element)
        .ok()
        .filter(|element| matches!(element, 1 | 2 | 4));
    let pitch = if p.rows <= 1 { 0 } else { p.pitch };
    Ok(set(
        p.to,
        pitch,
        p.value,
        element.ok_or(wrong)?,
        p.width,
        p.rows,
    ))
}

fn call_of(params: In<[usize; 2]>) -> Result<Work, Fault> {
    // CUDA_HOST_NODE_PARAMS: a function and its argument.
    let [_, argument] = params.get()?;
    match host::function_at(params.address())? {
        None => Err(Fault::silent(INVALID_VALUE)),
        function => Ok(Work::Call(function, argument)),
    }
}

/// Adds a node that does `work`.
fn add(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    work: impl FnOnce(&State) -> Result<Work, Fault>,
) -> Answer {
    with_context(|state, _| {
        node.check()?;
        // A node cannot depend on more nodes than the graph has; don't read that many.
        if count > state.graph(graph)?.nodes.len() {
            return Err(Fault::silent(INVALID_VALUE));
        }
        let after = after.all(count)?;
        let work = work(state)?;
        node.put(state.insert_node(graph, work, after)?)
    })
}

/// Adds a node of any type.
fn add_any(
    node: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    params: In<NodeParams>,
) -> Answer {
    let p = params.get()?;
    let of = params.address() + std::mem::offset_of!(NodeParams, of);
    add(node, graph, after, count, |state| match p.kind {
        KERNEL => launch_of(state, In::at(of)),
        // CUDA_MEMCPY_NODE_PARAMS: flags, a reserved word, the context, and the copy.
        COPY => copy_3d(In::at(of + 16)),
        FILL => fill_of(In::at(of)),
        CALL => call_of(In::at(of)),
        CHILD => child_of(state, p.of[0] as Handle),
        EMPTY => Ok(Work::Nothing),
        _ => Err(Fault::of(
            NOT_SUPPORTED,
            "graphs have nodes of kernels, copies, fills, host functions and other graphs here; allocate by cuMemAllocAsync in a capture, and branch on the host",
        )),
    })
}

fn child_of(state: &State, graph: Handle) -> Result<Work, Fault> {
    let nodes = state.in_order(graph)?;
    let works = nodes.iter();
    let works = works.map(|&node| Ok(state.node(node)?.work.clone()));
    Ok(Work::Graph(works.collect::<Result<_, Fault>>()?))
}

/// Returns a list as CUDA's queries do: without an output array only the length, otherwise as many elements as fit.
fn put_list<const LISTS: usize>(
    lists: [(Out<Handle>, Vec<Handle>); LISTS],
    count: Out<usize>,
) -> Answer {
    let all = lists
        .iter()
        .map(|(_, values)| values.len())
        .max()
        .unwrap_or(0);
    if lists.iter().any(|(out, _)| out.is_null()) {
        return count.put(all);
    }
    let room = count.get()?;
    for (out, values) in lists {
        out.put_all(&values[..values.len().min(room)])?;
    }
    count.put(all.min(room))
}

fn put_edges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) -> Answer {
    with(|state| {
        let (froms, tos) = state.edges(graph)?.into_iter().unzip();
        put_list([(from, froms), (to, tos)], count)
    })
}

fn put_dependencies(node: Handle, nodes: Out<Handle>, count: Out<usize>) -> Answer {
    with(|state| put_list([(nodes, state.node(node)?.after.clone())], count))
}

fn put_dependents(node: Handle, nodes: Out<Handle>, count: Out<usize>) -> Answer {
    with(|state| {
        let edges = state.edges(state.node(node)?.graph)?.into_iter();
        let dependents = edges.filter(|(from, _)| *from == node).map(|(_, to)| to);
        put_list([(nodes, dependents.collect())], count)
    })
}

/// Adds or removes edges.
fn change_edges(
    graph: Handle,
    from: In<Handle>,
    to: In<Handle>,
    count: usize,
    add: bool,
) -> Answer {
    with(|state| {
        let nodes = state.graph(graph)?.nodes.len();
        if count > nodes.saturating_mul(nodes) {
            return Err(Fault::silent(INVALID_VALUE));
        }
        let (froms, tos) = (from.all(count)?, to.all(count)?);
        state.belong_to(graph, &froms)?;
        state.belong_to(graph, &tos)?;
        for (from, to) in froms.into_iter().zip(tos) {
            let after = &mut state.node_mut(to)?.after;
            let there = after.contains(&from);
            if there == add || from == to {
                return Err(Fault::silent(INVALID_VALUE));
            }
            match add {
                true => after.push(from),
                false => after.retain(|one| *one != from),
            }
        }
        Ok(())
    })
}

fn kernel_params(state: &State, node: Handle) -> Result<KernelNodeParams, Fault> {
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

fn copy_params(copy: &Copy) -> Memcpy3d {
    let at = |side: &Side| side.place.address();
    let height = |side: &Side| side.slice.checked_div(side.pitch).unwrap_or(0);
    Memcpy3d {
        src_type: UNIFIED,
        src_device: at(&copy.from),
        src_pitch: copy.from.pitch,
        src_height: height(&copy.from),
        dst_type: UNIFIED,
        dst_device: at(&copy.to),
        dst_pitch: copy.to.pitch,
        dst_height: height(&copy.to),
        width: copy.shape.width,
        height: copy.shape.rows,
        depth: copy.shape.slices,
        ..Memcpy3d::default()
    }
}

fn fill_params(fill: &Fill) -> MemsetNodeParams {
    MemsetNodeParams {
        to: fill.to,
        pitch: fill.pitch as usize,
        value: fill.value,
        element: fill.element.into(),
        width: fill.width as usize,
        rows: fill.rows as usize,
    }
}

entry_points! {
    /// Adds a node that launches a kernel; its arguments are read now.
    12000 fn cuGraphAddKernelNode_v2(node: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<KernelNodeParams>) {
        add(node, graph, after, count, |state| launch_of(state, params))
    }
    /// Adds a copy node.
    10000 fn cuGraphAddMemcpyNode(node: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, copy: In<Memcpy3d>, _context: Handle) {
        add(node, graph, after, count, |_| copy_3d(copy))
    }
    /// Adds a fill node.
    10000 fn cuGraphAddMemsetNode(node: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<MemsetNodeParams>, _context: Handle) {
        add(node, graph, after, count, |_| fill_of(params))
    }
    /// Adds a node that calls a function of the client.
    10000 fn cuGraphAddHostNode(node: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<[usize; 2]>) {
        add(node, graph, after, count, |_| call_of(params))
    }
    /// Adds a node that runs another graph, as it is now.
    10000 fn cuGraphAddChildGraphNode(node: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, child: Handle) {
        add(node, graph, after, count, |state| child_of(state, child))
    }
    /// Adds a node that only waits for its dependencies.
    10000 fn cuGraphAddEmptyNode(node: Out<Handle>, graph: Handle, after: In<Handle>, count: usize) {
        add(node, graph, after, count, |_| Ok(Work::Nothing))
    }
    /// Adds a node of any type.
    12020 fn cuGraphAddNode(node: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, params: In<NodeParams>) {
        add_any(node, graph, after, count, params)
    }
    /// Adds a node of any type; edges carry no data.
    12030 fn cuGraphAddNode_v2(node: Out<Handle>, graph: Handle, after: In<Handle>, _edges: usize, count: usize, params: In<NodeParams>) {
        add_any(node, graph, after, count, params)
    }
    /// Removes a node and its edges.
    10000 fn cuGraphDestroyNode(node: Handle) {
        with(|state| {
            let gone = state.nodes.remove(node).ok_or(Fault::silent(INVALID_HANDLE))?;
            if let Some(graph) = state.graphs.get_mut(gone.graph) {
                graph.nodes.retain(|one| *one != node);
            }
            state.nodes.update(|other| other.after.retain(|one| *one != node));
            state.release_graph_memory()
        })
    }
    /// The nodes, or their number.
    10000 fn cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        with(|state| put_list([(nodes, state.graph(graph)?.nodes.clone())], count))
    }
    /// The nodes without dependencies.
    10000 fn cuGraphGetRootNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        with(|state| {
            let mut roots = state.graph(graph)?.nodes.clone();
            roots.retain(|&node| state.nodes.get(node).is_some_and(|node| node.after.is_empty()));
            put_list([(nodes, roots)], count)
        })
    }
    /// Pairs of nodes in which the second depends on the first.
    10000 fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) {
        put_edges(graph, from, to, count)
    }
    /// As above; edges carry no data.
    12030 fn cuGraphGetEdges_v2(graph: Handle, from: Out<Handle>, to: Out<Handle>, _data: usize, count: Out<usize>) {
        put_edges(graph, from, to, count)
    }
    /// The nodes that a node depends on.
    10000 fn cuGraphNodeGetDependencies(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        put_dependencies(node, nodes, count)
    }
    /// As above; edges carry no data.
    12030 fn cuGraphNodeGetDependencies_v2(node: Handle, nodes: Out<Handle>, _data: usize, count: Out<usize>) {
        put_dependencies(node, nodes, count)
    }
    /// The nodes that depend on a node.
    10000 fn cuGraphNodeGetDependentNodes(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        put_dependents(node, nodes, count)
    }
    /// As above; edges carry no data.
    12030 fn cuGraphNodeGetDependentNodes_v2(node: Handle, nodes: Out<Handle>, _data: usize, count: Out<usize>) {
        put_dependents(node, nodes, count)
    }
    /// Adds edges.
    10000 fn cuGraphAddDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        change_edges(graph, from, to, count, true)
    }
    /// As above; edges carry no data.
    12030 fn cuGraphAddDependencies_v2(graph: Handle, from: In<Handle>, to: In<Handle>, _data: usize, count: usize) {
        change_edges(graph, from, to, count, true)
    }
    /// Removes edges.
    10000 fn cuGraphRemoveDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        change_edges(graph, from, to, count, false)
    }
    /// As above; edges carry no data.
    12030 fn cuGraphRemoveDependencies_v2(graph: Handle, from: In<Handle>, to: In<Handle>, _data: usize, count: usize) {
        change_edges(graph, from, to, count, false)
    }
    /// The type of a node.
    10000 fn cuGraphNodeGetType(node: Handle, out: Out<u32>) {
        with(|state| out.put(kind(&state.node(node)?.work)))
    }
    /// The launch of a kernel node, without the arguments.
    12000 fn cuGraphKernelNodeGetParams_v2(node: Handle, out: Out<KernelNodeParams>) {
        with(|state| out.put(kernel_params(state, node)?))
    }
    /// The parameters of a copy node, with unified addresses.
    10000 fn cuGraphMemcpyNodeGetParams(node: Handle, out: Out<Memcpy3d>) {
        with(|state| match &state.node(node)?.work {
            Work::Copy(copy) => out.put(copy_params(copy)),
            _ => Err(Fault::silent(INVALID_VALUE)),
        })
    }
    /// The parameters of a fill node.
    10000 fn cuGraphMemsetNodeGetParams(node: Handle, out: Out<MemsetNodeParams>) {
        with(|state| match &state.node(node)?.work {
            Work::Fill(fill) => out.put(fill_params(fill)),
            _ => Err(Fault::silent(INVALID_VALUE)),
        })
    }
    /// Replaces a kernel node's launch.
    12000 fn cuGraphKernelNodeSetParams_v2(node: Handle, params: In<KernelNodeParams>) {
        with_context(|state, _| { let work = launch_of(state, params)?; state.set_work(node, work) })
    }
    /// Replaces a node's copy.
    10000 fn cuGraphMemcpyNodeSetParams(node: Handle, copy: In<Memcpy3d>) {
        with_context(|state, _| { let work = copy_3d(copy)?; state.set_work(node, work) })
    }
    /// Replaces a node's fill.
    10000 fn cuGraphMemsetNodeSetParams(node: Handle, params: In<MemsetNodeParams>) {
        with_context(|state, _| { let work = fill_of(params)?; state.set_work(node, work) })
    }
    /// Replaces a node's function.
    10000 fn cuGraphHostNodeSetParams(node: Handle, params: In<[usize; 2]>) {
        with_context(|state, _| { let work = call_of(params)?; state.set_work(node, work) })
    }
    /// Replaces a kernel's launch in an instantiated graph.
    12000 fn cuGraphExecKernelNodeSetParams_v2(executable: Handle, node: Handle, params: In<KernelNodeParams>) {
        with_context(|state, _| { let work = launch_of(state, params)?; state.set_executable_work(executable, node, work) })
    }
    /// Replaces a copy in an instantiated graph.
    10020 fn cuGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, copy: In<Memcpy3d>, _context: Handle) {
        with_context(|state, _| { let work = copy_3d(copy)?; state.set_executable_work(executable, node, work) })
    }
    /// Replaces a fill in an instantiated graph.
    10020 fn cuGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, params: In<MemsetNodeParams>, _context: Handle) {
        with_context(|state, _| { let work = fill_of(params)?; state.set_executable_work(executable, node, work) })
    }
    /// Replaces a function in an instantiated graph.
    10020 fn cuGraphExecHostNodeSetParams(executable: Handle, node: Handle, params: In<[usize; 2]>) {
        with_context(|state, _| { let work = call_of(params)?; state.set_executable_work(executable, node, work) })
    }
}
