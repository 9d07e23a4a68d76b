//! Progress in a page: calls a listener with the number of completed blocks.
use std::sync::{Arc, OnceLock};

/// The listener.
static LISTENER: OnceLock<fn(u64, u64)> = OnceLock::new();

/// Registers `listener` for the number of completed blocks and of all blocks. Only the first registration counts.
pub fn listen(listener: fn(u64, u64)) {
    // A page has one listener, so a second registration is the same one.
    let _ = LISTENER.set(listener);
}

/// Counts blocks.
#[derive(Clone)]
pub struct Progress;

impl Progress {
    /// Same interface as on a terminal; there is nothing to start.
    pub fn new() -> Self {
        Self
    }

    /// The emulator's callback.
    pub fn observer(&self) -> emulator::Progress {
        Arc::new(|done, all| {
            if let Some(listener) = LISTENER.get() {
                listener(done, all);
            }
        })
    }

    /// Same interface as on a terminal; there is nothing to remove.
    pub fn finish(&self) {}
}
