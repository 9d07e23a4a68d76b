//! Connects the state with the outside world: threads send events, and this thread acts on them.
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;

use anyhow::{Context, Result};

use super::files::Saved;
use super::hints::Hints;
use super::run::Run;
use super::state::{Action, Event, State};
use super::terminal::Output;
use crate::submission::name;

/// What is watched.
pub struct Watch<'a> {
    /// The assignment's folder.
    pub assignment: PathBuf,
    /// The submitted file.
    pub file: PathBuf,
    /// Creates the process that grades it, and reports a line of JSON for each stage.
    pub process: &'a dyn Fn() -> Result<Command>,
}

/// Grades at once and whenever the file changes, until the student quits.
///
/// # Errors
/// If the file cannot be watched, a run cannot be started, or the terminal cannot be written to.
pub fn watch(watch: &Watch) -> Result<()> {
    let (to, events) = mpsc::channel();
    // An assignment need not have hints; if it has, errors in them are reported.
    let hints = match watch.assignment.join(super::hints::FILE).exists() {
        true => Some(Hints::read(&watch.assignment)?),
        false => None,
    };
    let (mut state, mut actions) = State::new(name(&watch.file), hints);
    let saved = Saved::watch(&watch.file, to.clone())?;
    let output = Output::open().context("the terminal cannot be prepared")?;
    output.listen(to.clone());
    let mut run: Option<Run> = None;
    loop {
        for action in actions.drain(..) {
            match action {
                Action::Start(number) => {
                    let process = (watch.process)()?;
                    let started = Run::start(process, number, to.clone());
                    run = Some(started.context("the grader cannot be started")?);
                }
                Action::Cancel => run.take().into_iter().for_each(Run::cancel),
                Action::Redraw => output.show(&state)?,
                Action::Quit => {
                    drop(saved);
                    return Ok(());
                }
            }
        }
        // There is always a sender, the one here.
        actions = state.update(
            events
                .recv()
                .unwrap_or(Event::Pressed(super::state::Key::Quit)),
        );
    }
}
