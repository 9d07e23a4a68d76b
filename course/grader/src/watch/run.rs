//! A run in a child process: it can be stopped at any time, and if a kernel crashes it, the watching process survives.
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread;

use super::report::{RunReport, Stage};
use super::state::Event;
use harness::terminal::harmless;

/// The limit of a run's output.
const MOST: u64 = 16 << 20;

/// A run in progress.
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
        // Read concurrently, since a process with long error output would block on a full pipe.
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
                // If nobody receives events any more, nobody needs this one.
                let _ = to.send(Event::Reported(number, Box::new(report)));
            }
            if let Ok(mut child) = own.lock() {
                // The pipe is closed: the process has ended, or its output is too long.
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

    /// Stops the run.
    pub fn cancel(self) {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
        }
    }
}
