//! Connects the state with the outside world: threads send events, and this thread acts on them.
use std::fs;
use std::path::{Path, PathBuf};
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
    let readme = fs::read_to_string(watch.assignment.join("README.md"));
    state.command = command(&readme.unwrap_or_default(), &watch.file);
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

/// The command of an assignment's README.md that shows the whole of this kernel: a profile, if it names one.
fn command(readme: &str, kernel: &Path) -> Option<String> {
    const KERNEL: &str = "--kernel my_kernel.cu";
    let commands = readme.lines().filter(|line| line.starts_with("cargo run "));
    let mut commands = commands.filter(|line| line.contains(KERNEL));
    let profile = commands.clone().find(|line| line.contains(" profile "));
    let command = profile.or_else(|| commands.next())?;
    let command = command.split(" #").next().unwrap_or(command).trim();
    Some(command.replace(KERNEL, &format!("--kernel {}", kernel.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_an_assignment_shows_the_students_kernel() {
        let of = |name: &str| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assignments");
            let readme = fs::read_to_string(folder.join(name).join("README.md"));
            command(&readme.expect("a README.md"), Path::new("a/k.cu"))
        };
        assert_eq!(of("00_predict"), None);
        assert_eq!(
            of("08_ring_bug").as_deref(),
            Some(
                "cargo run -p rung09_tma -- sanitize --arch sm_90a --kernel a/k.cu --size 70x40x200"
            )
        );
        assert_eq!(
            of("12_faster").as_deref(),
            Some("cargo run -p rung04_mma -- profile --kernel a/k.cu --size 256")
        );
    }
}
