//! Streams: queues of work. Each call returns when its work is done, which is one of the orders that CUDA allows.
use crate::copy::{Copy, Fill};
use crate::entry::entry_points;
use crate::error::{
    Answer, Fault, ILLEGAL_STATE, INVALID_HANDLE, INVALID_VALUE, STREAM_CAPTURE_IMPLICIT,
    STREAM_CAPTURE_UNMATCHED, STREAM_CAPTURE_UNSUPPORTED,
};
use crate::graph::Graph;
use crate::host::{self, HostFunction, Out, StreamCallback};
use crate::launch::Launch;
use crate::state::{State, with, with_context};
use crate::table::Handle;

/// A created stream.
pub struct Stream {
    pub context: Handle,
    flags: u32,
    priority: i32,
    /// The capture that records enqueued work, if any.
    pub capture: Option<Capture>,
}

/// A stream's part in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    pub graph: Handle,
    /// Whether the capture began in this stream and so must end in it.
    origin: bool,
}

/// A unit of work.
#[derive(Clone, Debug)]
pub enum Work {
    Launch(Box<Launch>),
    Copy(Copy),
    Fill(Fill),
    /// A function of the client.
    Call(HostFunction, usize),
    /// The work of a child graph.
    Graph(Vec<Work>),
    /// Allocates (true) or frees graph memory at an address.
    Allocate(u64, bool),
    /// Nothing to do: an empty node, which only orders others.
    Nothing,
}

/// The handles of the default streams: the legacy one (which has two) and the per-thread one.
pub const LEGACY: Handle = 0;
pub const LEGACY_BY_NAME: Handle = 1;
const PER_THREAD: Handle = 2;

/// `CU_STREAM_NON_BLOCKING`
const NON_BLOCKING: u32 = 1;

impl State {
    /// The stream of a handle; none for a default stream.
    fn stream(&self, handle: Handle) -> Result<Option<&Stream>, Fault> {
        match handle {
            LEGACY | LEGACY_BY_NAME | PER_THREAD => Ok(None),
            _ => match self.streams.get(handle) {
                Some(stream) => Ok(Some(stream)),
                None => Err(Fault::silent(INVALID_HANDLE)),
            },
        }
    }

    /// The graph that captures a stream's work.
    pub fn capturing(&self, stream: Handle) -> Result<Option<Handle>, Fault> {
        let capture = self.stream(stream)?.and_then(|stream| stream.capture);
        Ok(capture.map(|capture| capture.graph))
    }

    /// Checks that the stream is not capturing, for calls that cannot be captured.
    pub fn not_capturing(&self, stream: Handle) -> Answer {
        match self.capturing(stream)? {
            Some(_) => Err(Fault::silent(STREAM_CAPTURE_UNSUPPORTED)),
            None => Ok(()),
        }
    }

    /// Adds work to the graph that the stream captures, or returns it to be done now.
    pub fn captured(&mut self, stream: Handle, work: Work) -> Result<Option<Work>, Fault> {
        let Some(graph) = self.capturing(stream)? else {
            // Work of a context's default stream would have to wait for that of blocking streams, which has not run
            // yet.
            let context = self.current()?;
            let blocking = |stream: &Stream| {
                stream.context == context
                    && stream.capture.is_some()
                    && stream.flags & NON_BLOCKING == 0
            };
            let waits = matches!(stream, LEGACY | LEGACY_BY_NAME);
            if waits && self.streams.iter().any(|(_, stream)| blocking(stream)) {
                return Err(Fault::silent(STREAM_CAPTURE_IMPLICIT));
            }
            return Ok(Some(work));
        };
        self.add_node(graph, work)?;
        Ok(None)
    }

    /// Adds a node after the graph's last one.
    fn add_node(&mut self, graph: Handle, work: Work) -> Result<Handle, Fault> {
        let last = self.graph(graph)?.nodes.last();
        let after = last.copied().into_iter().collect();
        self.insert_node(graph, work, after)
    }

    /// Does work now, or adds it to the graph that the stream captures. Never calls a function of the client.
    pub fn enqueue(&mut self, stream: Handle, work: Work) -> Answer {
        match self.captured(stream, work)? {
            Some(work) => self.execute(&work),
            None => Ok(()),
        }
    }

    /// Does work. The caller has to run functions of the client, and graphs, which may contain some.
    pub fn execute(&mut self, work: &Work) -> Answer {
        match work {
            Work::Launch(launch) => self.launch(launch),
            Work::Copy(copy) => self.copy(copy),
            Work::Fill(fill) => self.fill(fill),
            Work::Allocate(address, allocated) => self.set_allocated(*address, *allocated),
            Work::Call(..) | Work::Graph(_) | Work::Nothing => Ok(()),
        }
    }

    /// Ends a capture in all streams that take part in it.
    pub fn end_capture(&mut self, graph: Handle) {
        self.streams.update(|stream| {
            if stream.capture.is_some_and(|capture| capture.graph == graph) {
                stream.capture = None;
            }
        });
        self.events.update(|event| {
            if event.captured == Some(graph) {
                event.captured = None;
            }
        });
    }

    /// Adds a stream to a capture, as waiting for an event that was recorded in it does.
    pub fn join_capture(&mut self, stream: Handle, graph: Handle) -> Answer {
        match self.streams.get_mut(stream) {
            Some(stream) if stream.capture.is_none() => {
                stream.capture = Some(Capture {
                    graph,
                    origin: false,
                });
                Ok(())
            }
            Some(_) => Ok(()),
            None => Err(Fault::silent(STREAM_CAPTURE_IMPLICIT)),
        }
    }
}

/// Does all of `works`; the lock is not held while a function of the client runs.
pub fn run(works: &[Work]) -> Answer {
    works.iter().try_for_each(|work| match work {
        Work::Call(function, argument) => {
            host::call(*function, *argument);
            Ok(())
        }
        Work::Graph(works) => run(works),
        Work::Launch(_) | Work::Copy(_) | Work::Fill(_) | Work::Allocate(..) | Work::Nothing => {
            with_context(|state, _| state.execute(work))
        }
    })
}

fn create(out: Out<Handle>, flags: u32, priority: i32) -> Answer {
    with_context(|state, context| {
        out.check()?;
        if flags & !NON_BLOCKING != 0 {
            return Err(Fault::silent(INVALID_VALUE));
        }
        out.put(state.streams.insert(Stream {
            context,
            flags,
            priority: priority.clamp(-5, 0),
            capture: None,
        }))
    })
}

fn capture_info(
    stream: Handle,
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<Handle>,
    lists: &[Out<usize>],
) -> Answer {
    with(|state| {
        let found = state.capturing(stream)?;
        status.put(found.is_some().into())?;
        if let Some(found) = found {
            id.put_if_wanted(found as u64)?;
            graph.put_if_wanted(found)?;
            // The nodes of a captured graph form a chain, so there is no list of dependencies.
            lists.iter().try_for_each(|list| list.put_if_wanted(0))?;
        }
        Ok(())
    })
}

fn begin_capture(stream: Handle, mode: u32) -> Answer {
    with_context(|state, _| {
        if mode > 2 {
            return Err(Fault::silent(INVALID_VALUE));
        }
        let Some(known) = state.stream(stream)? else {
            return Err(Fault::silent(STREAM_CAPTURE_UNSUPPORTED));
        };
        if known.capture.is_some() {
            return Err(Fault::silent(ILLEGAL_STATE));
        }
        let graph = state.graphs.insert(Graph::default());
        if let Some(stream) = state.streams.get_mut(stream) {
            stream.capture = Some(Capture {
                graph,
                origin: true,
            });
        }
        Ok(())
    })
}

entry_points! {
    /// Creates a stream.
    2000 fn cuStreamCreate(stream: Out<Handle>, flags: u32) { create(stream, flags, 0) }
    /// Creates a stream with a priority, which is stored and has no effect.
    5050 fn cuStreamCreateWithPriority(stream: Out<Handle>, flags: u32, priority: i32) {
        create(stream, flags, priority)
    }
    /// Destroys a stream.
    4000 fn cuStreamDestroy_v2(stream: Handle) {
        with(|state| state.streams.remove(stream).map(|_| ()).ok_or(Fault::silent(INVALID_HANDLE)))
    }
    /// Waits for all of a stream's work; returns a kernel's error.
    2000 fn cuStreamSynchronize(stream: Handle) {
        with_context(|state, context| { state.not_capturing(stream)?; state.end_of_work(context) })
    }
    /// As above: work is done when it is enqueued.
    2000 fn cuStreamQuery(stream: Handle) { with_context(|state, _| state.not_capturing(stream)) }
    /// The flags of a stream.
    5050 fn cuStreamGetFlags(stream: Handle, flags: Out<u32>) {
        with_context(|state, _| flags.put(state.stream(stream)?.map_or(0, |stream| stream.flags)))
    }
    /// The priority of a stream.
    5050 fn cuStreamGetPriority(stream: Handle, priority: Out<i32>) {
        with_context(|state, _| priority.put(state.stream(stream)?.map_or(0, |stream| stream.priority)))
    }
    /// The unique id of a stream.
    12000 fn cuStreamGetId(stream: Handle, id: Out<u64>) {
        with_context(|state, _| { state.stream(stream)?; id.put(stream as u64) })
    }
    /// The context of a stream.
    9020 fn cuStreamGetCtx(stream: Handle, context: Out<Handle>) {
        with_context(|state, current| context.put(state.stream(stream)?.map_or(current, |stream| stream.context)))
    }
    /// The context of a stream; there are no green contexts.
    12050 fn cuStreamGetCtx_v2(stream: Handle, context: Out<Handle>, green: Out<Handle>) {
        with_context(|state, current| {
            green.put_if_wanted(0)?;
            context.put(state.stream(stream)?.map_or(current, |stream| stream.context))
        })
    }
    /// The device of a stream.
    12080 fn cuStreamGetDevice(stream: Handle, device: Out<i32>) {
        with_context(|state, _| { state.stream(stream)?; device.put(0) })
    }
    /// A hint without effect here.
    6000 fn cuStreamAttachMemAsync(stream: Handle, _address: u64, _bytes: usize, _flags: u32) {
        with_context(|state, _| state.stream(stream).map(|_| ()))
    }
    /// A hint without effect here.
    11000 fn cuStreamSetAttribute(stream: Handle, _which: u32, _value: usize) {
        with_context(|state, _| state.stream(stream).map(|_| ()))
    }
    /// Calls a function of the client, in stream order.
    10000 fn cuLaunchHostFunc(stream: Handle, function: HostFunction, argument: usize) {
        if function.is_none() {
            return Err(Fault::silent(INVALID_VALUE));
        }
        let work = Work::Call(function, argument);
        match with_context(|state, _| state.captured(stream, work))? {
            Some(work) => run(&[work]),
            None => Ok(()),
        }
    }
    /// As above; the function also receives the status of the work before it.
    5000 fn cuStreamAddCallback(stream: Handle, function: StreamCallback, argument: usize, flags: u32) {
        if function.is_none() || flags != 0 {
            return Err(Fault::silent(INVALID_VALUE));
        }
        with_context(|state, _| state.not_capturing(stream))?;
        host::call_back(function, stream, 0, argument);
        Ok(())
    }
    /// Begins a capture: work enqueued from now on is recorded in a graph.
    10010 fn cuStreamBeginCapture_v2(stream: Handle, mode: u32) { begin_capture(stream, mode) }
    /// Ends a capture and returns its graph.
    10000 fn cuStreamEndCapture(stream: Handle, graph: Out<Handle>) {
        with_context(|state, _| {
            graph.check()?;
            let capture = state.stream(stream)?.and_then(|stream| stream.capture);
            let capture = capture.ok_or(Fault::silent(ILLEGAL_STATE))?;
            if !capture.origin {
                return Err(Fault::silent(STREAM_CAPTURE_UNMATCHED));
            }
            state.end_capture(capture.graph);
            graph.put(capture.graph)
        })
    }
    /// Whether a stream is capturing: 1 if so.
    10000 fn cuStreamIsCapturing(stream: Handle, status: Out<u32>) {
        with_context(|state, _| status.put(state.capturing(stream)?.is_some().into()))
    }
    /// As above, with the graph.
    10010 fn cuStreamGetCaptureInfo_v2(
        stream: Handle, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<usize>, count: Out<usize>,
    ) {
        capture_info(stream, status, id, graph, &[nodes, count])
    }
    /// As above.
    12030 fn cuStreamGetCaptureInfo_v3(
        stream: Handle, status: Out<u32>, id: Out<u64>, graph: Out<Handle>, nodes: Out<usize>, edges: Out<usize>, count: Out<usize>,
    ) {
        capture_info(stream, status, id, graph, &[nodes, edges, count])
    }
    /// The capture mode of this thread, without effect here.
    10010 fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) { with(|_| { mode.get()?; mode.put(0) }) }
}
