//! Events: points in a stream. Their times are wall-clock times of this machine, which runs the emulator, not a GPU's.
use std::time::Instant;

use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_HANDLE, INVALID_VALUE};
use crate::host::Out;
use crate::state::{State, with, with_context};
use crate::stream::Work;
use crate::table::Handle;

/// An event.
pub struct Event {
    pub context: Handle,
    flags: u32,
    /// When it was last recorded.
    at: Option<Instant>,
    /// The graph into which its last record was captured.
    pub captured: Option<Handle>,
}

/// `CU_EVENT_DISABLE_TIMING`
const NO_TIMING: u32 = 2;
/// All flags: blocking sync, no timing, interprocess.
const FLAGS: u32 = 7;

impl State {
    fn event(&mut self, handle: Handle) -> Result<&mut Event, Fault> {
        let found = self.events.get_mut(handle);
        found.ok_or(Fault::silent(INVALID_HANDLE))
    }

    fn record(&mut self, event: Handle, stream: Handle) -> Answer {
        self.event(event)?;
        let captured = self.capturing(stream)?;
        if captured.is_some() {
            self.enqueue(stream, Work::Nothing)?;
        }
        let event = self.event(event)?;
        event.captured = captured;
        if captured.is_none() {
            event.at = Some(Instant::now());
        }
        Ok(())
    }

    fn elapsed(&mut self, start: Handle, end: Handle) -> Result<f32, Fault> {
        let mut at = |handle| {
            let event = self.event(handle)?;
            let timed = event.flags & NO_TIMING == 0;
            event
                .at
                .filter(|_| timed)
                .ok_or(Fault::silent(INVALID_HANDLE))
        };
        let (start, end) = (at(start)?, at(end)?);
        let seconds = match end.checked_duration_since(start) {
            Some(after) => after.as_secs_f64(),
            None => -start.duration_since(end).as_secs_f64(),
        };
        Ok((1e3 * seconds) as f32)
    }
}

entry_points! {
    /// Creates an event.
    2000 fn cuEventCreate(event: Out<Handle>, flags: u32) {
        with_context(|state, context| {
            event.check()?;
            // An interprocess event must disable timing.
            if flags & !FLAGS != 0 || flags & 6 == 4 {
                return Err(Fault::silent(INVALID_VALUE));
            }
            event.put(state.events.insert(Event { context, flags, at: None, captured: None }))
        })
    }
    /// Destroys an event.
    4000 fn cuEventDestroy_v2(event: Handle) {
        with(|state| state.events.remove(event).map(|_| ()).ok_or(Fault::silent(INVALID_HANDLE)))
    }
    /// Records an event in a stream.
    2000 fn cuEventRecord(event: Handle, stream: Handle) {
        with_context(|state, _| state.record(event, stream))
    }
    /// As above.
    11010 fn cuEventRecordWithFlags(event: Handle, stream: Handle, _flags: u32) {
        with_context(|state, _| state.record(event, stream))
    }
    /// Always complete: work is done when it is enqueued.
    2000 fn cuEventQuery(event: Handle) { with_context(|state, _| state.event(event).map(|_| ())) }
    /// As above.
    2000 fn cuEventSynchronize(event: Handle) {
        with_context(|state, context| { state.event(event)?; state.end_of_work(context) })
    }
    /// Milliseconds between two events, on this machine's clock.
    2000 fn cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) {
        with_context(|state, _| { milliseconds.check()?; milliseconds.put(state.elapsed(start, end)?) })
    }
    /// As above.
    12080 fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: Handle, end: Handle) {
        with_context(|state, _| { milliseconds.check()?; milliseconds.put(state.elapsed(start, end)?) })
    }
    /// The stream continues, since the event has happened already. If the event was recorded in a capture, the stream
    /// joins the capture.
    3020 fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32) {
        with_context(|state, _| {
            // CU_EVENT_WAIT_EXTERNAL
            if flags > 1 {
                return Err(Fault::silent(INVALID_VALUE));
            }
            match state.event(event)?.captured {
                Some(graph) => state.join_capture(stream, graph)?,
                None => { state.capturing(stream)?; }
            }
            if state.capturing(stream)?.is_some() {
                state.enqueue(stream, Work::Nothing)?;
            }
            Ok(())
        })
    }
}
