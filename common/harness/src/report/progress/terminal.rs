//! A progress bar on a terminal, for runs that take longer than a second.
use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A shorter run shows no progress.
const DELAY: Duration = Duration::from_secs(1);

/// Counts blocks; shows nothing unless standard error is a terminal.
#[derive(Clone)]
pub struct Progress {
    start: Instant,
    terminal: bool,
    bar: Arc<OnceLock<ProgressBar>>,
}

impl Progress {
    /// Starts the clock.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            terminal: std::io::stderr().is_terminal(),
            bar: Arc::default(),
        }
    }

    /// The callback for the emulator.
    pub fn observer(&self) -> emulator::Progress {
        let this = self.clone();
        Arc::new(move |done, all| this.set(done, all))
    }

    /// Sets how far the run is; may be called from any thread.
    fn set(&self, done: u64, all: u64) {
        if !self.terminal {
            return;
        }
        let bar = self.bar.get_or_init(|| hidden(all));
        if bar.is_hidden() && self.start.elapsed() >= DELAY {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(done);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

/// A bar that counts before it is drawn, so that it knows its speed when it is.
fn hidden(all: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "emulating {wide_bar} {human_pos} of {human_len} blocks, {eta} left",
    );
    ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::hidden())
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
