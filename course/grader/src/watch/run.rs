//! A run, in a process of its own: it can be ended at any time, and what a kernel does to it, it does not do to the one that
//! watches.
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread;

use super::report::{RunReport, Stage};
use super::state::Event;
use crate::submission::harmless;

/// Bytes of what a run may say.
const MOST: u64 = 16 << 20;

/// A run that goes on.
pub struct Run {
    child: Arc<Mutex<Child>>,
}

impl Run {
    /// Starts the process; its reports become events with this number.
    pub fn start(mut command: Command, number: u64, to: Sender<Event>) -> std::io::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let child = Arc::new(Mutex::new(child));
        // Read at the same time, or a process that complains at length would wait for a reader.
        let said = thread::spawn(move || {
            let mut said = Vec::new();
            let read = err.map(|err| err.take(MOST).read_to_end(&mut said));
            read.transpose().ok();
            String::from_utf8_lossy(&said).into_owned()
        });
        let own = Arc::clone(&child);
        thread::spawn(move || {
            let mut is_done = false;
            let lines = out.map(|out| BufReader::new(out.take(MOST)).lines());
            for line in lines.into_iter().flatten().map_while(Result::ok) {
                let Ok(report) = serde_json::from_str::<RunReport>(&line) else {
                    continue;
                };
                is_done = report.stage == Stage::All;
                // If nobody listens any more, nobody wants it.
                let _ = to.send(Event::Reported(number, Box::new(report)));
            }
            if let Ok(mut child) = own.lock() {
                // The pipe is closed, so it has ended, or says too much.
                let _ = child.kill();
                let _ = child.wait();
            }
            if !is_done {
                let said = said.join().unwrap_or_default();
                let why = match harmless(said.trim().trim_start_matches("error: ")) {
                    none if none.is_empty() => "the grader was stopped".into(),
                    why => why,
                };
                let _ = to.send(Event::Failed(number, why));
            }
        });
        Ok(Self { child })
    }

    /// Ends it.
    pub fn cancel(self) {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
        }
    }
}
