//! Progress in a page: the listener is called with the number of blocks that are done.
use std::sync::{Arc, OnceLock};

/// Who listens.
static LISTENER: OnceLock<fn(u64, u64)> = OnceLock::new();

/// Has `listener` told of blocks that are done, of how many, from now on. The first to ask is told.
pub fn listen(listener: fn(u64, u64)) {
    // A second listener is the first again: a page has one.
    let _ = LISTENER.set(listener);
}

/// Counts blocks.
#[derive(Clone)]
pub struct Progress;

impl Progress {
    /// As on a terminal; there is nothing to start.
    pub fn new() -> Self {
        Self
    }

    /// What the emulator is to call.
    pub fn observer(&self) -> emulator::Progress {
        Arc::new(|done, all| {
            if let Some(listener) = LISTENER.get() {
                listener(done, all);
            }
        })
    }

    /// As on a terminal; there is nothing to take away.
    pub fn finish(&self) {}
}
