//! Captured launches that run as one, and the events that time them.
use crate::GpuError;
use crate::driver::check;
use crate::primary::Primary;
use cudarc::driver::sys;
use std::ptr::null_mut;
use std::rc::Rc;

/// Launches captured on the stream; none of them has run.
pub(crate) struct Captured {
    context: Rc<Primary>,
    graph: sys::CUgraph,
}

impl Captured {
    /// Captures what `enqueue` launches on the stream.
    pub(crate) fn new(
        context: &Rc<Primary>,
        enqueue: impl FnOnce() -> Result<(), GpuError>,
    ) -> Result<Self, GpuError> {
        context.bind()?;
        // Relaxed, because a kernel that the driver loads lazily may allocate during the capture.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: a live stream that is not the default one.
        check("cuStreamBeginCapture", unsafe {
            sys::cuStreamBeginCapture_v2(context.stream(), mode)
        })?;
        let enqueued = enqueue();
        let mut this = Self {
            context: Rc::clone(context),
            graph: null_mut(),
        };
        // SAFETY: the capture began above, and must end even if `enqueue` failed.
        let ended = check("cuStreamEndCapture", unsafe {
            sys::cuStreamEndCapture(context.stream(), &raw mut this.graph)
        });
        enqueued.and(ended).map(|()| this)
    }

    /// Each launch, copy and fill that was captured. CUDA promises no order; in practice it is that of the capture.
    pub(crate) fn nodes(&self) -> Result<Vec<sys::CUgraphNode>, GpuError> {
        self.context.bind()?;
        let mut count = 0;
        // SAFETY: a live graph and a valid place for a number; with a null array, only the number is written.
        check("cuGraphGetNodes", unsafe {
            sys::cuGraphGetNodes(self.graph, null_mut(), &raw mut count)
        })?;
        let mut nodes = vec![null_mut(); count];
        if count > 0 {
            // SAFETY: as above, with room for all nodes.
            check("cuGraphGetNodes", unsafe {
                sys::cuGraphGetNodes(self.graph, nodes.as_mut_ptr(), &raw mut count)
            })?;
        }
        nodes.truncate(count);
        Ok(nodes)
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        if !self.graph.is_null() {
            let _ = self.context.bind();
            // SAFETY: made in `new` and destroyed once; an instantiated graph no longer needs it.
            let _ = unsafe { sys::cuGraphDestroy(self.graph) };
        }
    }
}

/// Launches that were captured once and can run again, as one launch.
pub(crate) struct Graph {
    context: Rc<Primary>,
    graph: sys::CUgraphExec,
}

impl Graph {
    /// Captures what `enqueue` launches on the stream; nothing runs yet.
    pub(crate) fn capture(
        context: &Rc<Primary>,
        enqueue: impl FnOnce() -> Result<(), GpuError>,
    ) -> Result<Self, GpuError> {
        let captured = Captured::new(context, enqueue)?;
        let mut this = Self {
            context: Rc::clone(context),
            graph: null_mut(),
        };
        // SAFETY: a captured graph, and a valid place for the executable graph.
        check("cuGraphInstantiate", unsafe {
            sys::cuGraphInstantiateWithFlags(&raw mut this.graph, captured.graph, 0)
        })?;
        Ok(this)
    }

    /// Enqueues the graph.
    pub(crate) fn launch(&self) -> Result<(), GpuError> {
        self.context.bind()?;
        // SAFETY: a live graph and a live stream.
        check("cuGraphLaunch", unsafe {
            sys::cuGraphLaunch(self.graph, self.context.stream())
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if !self.graph.is_null() {
            let _ = self.context.synchronize();
            // SAFETY: made in `capture`, destroyed once, and no longer running.
            let _ = unsafe { sys::cuGraphExecDestroy(self.graph) };
        }
    }
}

/// A point in the stream with the time at which the GPU reached it.
pub(crate) struct Event {
    context: Rc<Primary>,
    event: sys::CUevent,
}

impl Event {
    /// Enqueues a new event.
    pub(crate) fn record(context: &Rc<Primary>) -> Result<Self, GpuError> {
        context.bind()?;
        let mut this = Self {
            context: Rc::clone(context),
            event: null_mut(),
        };
        // The default flags enable timing, which several wrappers disable.
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT as u32;
        // SAFETY: a valid place for the handle, then a live event and a live stream.
        unsafe {
            check(
                "cuEventCreate",
                sys::cuEventCreate(&raw mut this.event, flags),
            )?;
            check(
                "cuEventRecord",
                sys::cuEventRecord(this.event, context.stream()),
            )?;
        }
        Ok(this)
    }

    /// Milliseconds from `earlier` to this event; both have been reached.
    pub(crate) fn milliseconds_since(&self, earlier: &Self) -> Result<f64, GpuError> {
        let mut milliseconds = 0.0f32;
        // SAFETY: two live events and a valid place for a float.
        let result =
            unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, earlier.event, self.event) };
        check("cuEventElapsedTime", result)?;
        Ok(milliseconds.into())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.context.bind();
        // SAFETY: a live event, or null, which the driver refuses; destroyed once.
        let _ = unsafe { sys::cuEventDestroy_v2(self.event) };
    }
}
