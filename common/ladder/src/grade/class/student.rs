//! One submission, graded by a process of its own: what it does to that process, it does to nobody else.
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use wait_timeout::ChildExt;

use super::record::Record;
use crate::grade::Arguments;

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

pub fn grade(arguments: &Arguments, folder: &Path, student: &str) -> Outcome {
    let submission = submission(folder)?;
    let ladder = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(ladder);
    command.arg("grade").arg(&arguments.assignment);
    command
        .arg(&submission)
        .args(["--json", "--book", &arguments.book]);
    if let Some(secret) = &arguments.secret {
        command.arg("--secret").arg(secret);
        command.args(["--student", student]);
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
        Some(_) => Err(said.trim().trim_start_matches("error: ").to_owned()),
        None => Err(format!(
            "stopped: it took more than {} s, or crashed the grader",
            LONGEST.as_secs()
        )),
    }
}

/// The one kernel in a folder, or `kernel.cu` if there are more; else its answers.
pub fn submission(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|error| error.to_string())?;
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let kernels = files
        .iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "cu"));
    let named = |name: &str| {
        let path = folder.join(name);
        path.is_file().then_some(path)
    };
    match &kernels.collect::<Vec<_>>()[..] {
        [one] => Ok((*one).clone()),
        [] => named("answers.toml").ok_or("it holds no .cu file and no answers.toml".into()),
        _ => named("kernel.cu").ok_or("it holds several .cu files, none of them kernel.cu".into()),
    }
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

/// Nothing that a grader wrote is a submission.
#[cfg(test)]
mod tests {
    use super::super::record;
    use super::*;

    #[test]
    fn the_kernel_of_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str| fs::write(folder.path().join(name), "").expect("a file");
        let found =
            || submission(folder.path()).map(|path| path.file_name().map(ToOwned::to_owned));
        write(record::FILE);
        assert!(found().is_err_and(|why| why.contains("no .cu file")));
        write("answers.toml");
        assert_eq!(found(), Ok(Some("answers.toml".into())));
        write("mine.cu");
        assert_eq!(found(), Ok(Some("mine.cu".into())));
        write("old.cu");
        assert!(found().is_err_and(|why| why.contains("several")));
        write("kernel.cu");
        assert_eq!(found(), Ok(Some("kernel.cu".into())));
    }
}
