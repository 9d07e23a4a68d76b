//! One submission, graded by a process of its own: what it does to that process, it does to nobody else.
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use wait_timeout::ChildExt;

use super::handed_in;
use super::record::Record;
use crate::grade::{Arguments, harmless};

/// Every launch has limits of its own, so nothing honest takes as long.
const LONGEST: Duration = Duration::from_secs(120);

/// Bytes of a grade, or of what was said instead of one.
const MOST: u64 = 4 << 20;

/// What became of a submission.
pub type Outcome = Result<Graded, String>;

pub struct Graded {
    pub record: Record,
    pub json: String,
    pub passed: bool,
}

pub fn grade(arguments: &Arguments, wanted: &str, folder: &Path, student: &str) -> Outcome {
    let submission = submission(folder, wanted)?;
    let ladder = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(ladder);
    command.arg("grade").arg(&arguments.assignment);
    command
        .arg(&submission)
        .args(["--json", "--book", &arguments.book]);
    if let Some(secret) = &arguments.secret {
        command.arg("--secret").arg(secret);
        // In one word, or a name that begins with a dash would be a flag.
        command.arg(format!("--student={student}"));
    }
    command.args(arguments.untrusted.then_some("--untrusted"));
    // The students already take all cores.
    command.env("RAYON_NUM_THREADS", "1");
    let (code, json, said) = run(command).map_err(|error| error.to_string())?;
    match code {
        Some(code @ (0 | 1)) => {
            let record =
                Record::parse(&json).map_err(|error| format!("its grade is no JSON: {error}"))?;
            Ok(Graded {
                record,
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

/// The file that counts.
pub fn submission(folder: &Path, wanted: &str) -> Result<PathBuf, String> {
    if folder.is_symlink() {
        return Err("the folder is a link: put a copy of what it leads to here".into());
    }
    handed_in::find(folder, wanted).map_err(|error| format!("{error:#}"))
}

/// The exit code, if there was one in time; what was printed, and what was complained about.
fn run(mut command: Command) -> std::io::Result<(Option<i32>, String, String)> {
    // Files, since nobody reads a pipe while waiting.
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command
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
