//! Grades one submission in a child process, so that a crash affects nobody else.
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use wait_timeout::ChildExt;

use crate::grade::results::Results;
use crate::grade::{Process, Request};
use crate::submission;
use harness::terminal::harmless;

/// Every launch has its own limits, so no honest submission takes this long.
const LONGEST: Duration = Duration::from_secs(120);

/// The most bytes of a grade, or of error output.
const MOST: u64 = 4 << 20;

/// The outcome of a submission.
pub type Outcome = Result<Graded, String>;

pub struct Graded {
    pub results: Results,
    pub json: String,
    pub passed: bool,
}

pub fn grade(process: &Process, request: &Request) -> Outcome {
    let (code, json, said) = process(request)
        .and_then(run)
        .map_err(|error| error.to_string())?;
    match code {
        Some(code @ (0 | 1)) => {
            let results = serde_json::from_str(&json);
            Ok(Graded {
                results: results.map_err(|error| format!("its grade is not JSON: {error}"))?,
                json,
                passed: code == 0,
            })
        }
        Some(_) => Err(harmless(said.trim().trim_start_matches("error: "))),
        None => Err(format!(
            "stopped: it took more than {} s, or crashed the grader",
            LONGEST.as_secs()
        )),
    }
}

/// Finds the file to be graded.
pub fn find(folder: &Path, wanted: &str) -> Result<PathBuf, String> {
    if folder.is_symlink() {
        return Err("the folder is a link: put a copy of what it leads to here".into());
    }
    submission::find(folder, wanted).map_err(|error| format!("{error:#}"))
}

/// The exit code if the process ended in time, its standard output and its standard error.
fn run(mut command: Command) -> std::io::Result<(Option<i32>, String, String)> {
    // Files, because nobody reads a pipe during the wait.
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command
        // Students are graded in parallel and already use all cores.
        .env("RAYON_NUM_THREADS", "1")
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(err.try_clone()?);
    let mut child = command.spawn()?;
    let status = child.wait_timeout(LONGEST)?;
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    let code = status.and_then(|status| status.code());
    Ok((code, whole(&mut out)?, whole(&mut err)?))
}

fn whole(file: &mut File) -> std::io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
