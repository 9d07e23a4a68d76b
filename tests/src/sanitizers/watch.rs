//! Launches every subject on a GPU under every tool, and keeps the output.
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{Checker, PROVENANCE, stem, subjects};
use crate::broken::Broken;

/// Time limits, and the number of processes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The limit of a launch without a tool.
    pub alone: Duration,
    /// The limit of a launch under a tool, which is slower; if the launch without a tool never ended, that limit
    /// applies.
    pub watched: Duration,
    /// Concurrent processes, all on one GPU.
    pub jobs: usize,
    /// Whether launches that an earlier recording in the folder has completed are skipped.
    pub again: bool,
}

/// The first line of a file of `raw/` if the process had to be stopped.
pub const NO_END: &str = "no end";

/// Findings printed for a kernel; the summary has the number of all.
const PRINT_LIMIT: &str = "4";
/// The option that makes initcheck watch shared memory too, in versions that have it.
const ADDRESS_SPACE: &str = "--initcheck-address-space";
/// The polling interval for the end of a process.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs all subjects under all tools; `programs` is the folder of the rungs' programs. Each output is written to
/// `folder/raw/SUBJECT.WATCHER.txt` as soon as it is complete, and `sanitizers.csv` is made from these files.
///
/// # Errors
/// If compute-sanitizer or a rung's program cannot be started, or a file cannot be written.
pub fn record(folder: &Path, programs: &Path, limits: Limits) -> io::Result<()> {
    let (raw, kernels) = (folder.join("raw"), folder.join("kernels"));
    fs::create_dir_all(&raw)?;
    let sanitizer = Sanitizer::find()?;
    let recorder = Recorder {
        programs,
        raw: &raw,
        kernels: &kernels,
        sanitizer,
        again: limits.again,
    };
    let subjects = subjects();
    for subject in &subjects {
        write(subject, &kernels)?;
    }
    fs::write(
        folder.join(PROVENANCE),
        recorder.provenance(&subjects, limits)?,
    )?;
    // First without a tool, which shows the kernels that never end: those run last, since they occupy the GPU.
    let alone: Vec<_> = subjects.iter().map(|of| (of, Checker::Hardware)).collect();
    let mut ended = recorder.all(&alone, limits.alone, limits.jobs)?;
    // Processes that waited for one of those run once more, with the GPU to themselves.
    for (work, ended) in alone.iter().zip(&mut ended).filter(|(_, ended)| !**ended) {
        *ended = recorder.all(&[*work], limits.alone, 1)? == [true];
    }
    let tools = |does_end: bool| -> Vec<_> {
        let subjects = subjects.iter().zip(&ended);
        let subjects = subjects.filter(|(_, ended)| **ended == does_end);
        let tools = &Checker::ALL[1..];
        subjects
            .flat_map(|(of, _)| tools.iter().map(move |tool| (of, *tool)))
            .collect()
    };
    recorder.all(&tools(true), limits.watched, limits.jobs)?;
    // Few at a time: a tool finds nothing before it has the GPU.
    recorder.all(&tools(false), 2 * limits.alone, limits.jobs.div_ceil(2))?;
    Ok(())
}

/// Writes the kernel's file, named like its other files.
fn write(subject: &Broken, kernels: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(kernels)?;
    let path = kernels.join(stem(subject) + ".cu");
    fs::write(&path, subject.source())?;
    Ok(path)
}

/// compute-sanitizer, and the options that this version supports.
struct Sanitizer {
    version: String,
    sees_shared: bool,
}

impl Sanitizer {
    fn find() -> io::Result<Self> {
        let ask = |option: &str| {
            let output = Command::new("compute-sanitizer").arg(option).output();
            let output = output.map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!(
                        "compute-sanitizer, which the CUDA toolkit has, cannot be run: {error}"
                    ),
                )
            })?;
            Ok::<_, io::Error>(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let version = ask("--version")?;
        let last = version.lines().rfind(|line| !line.trim().is_empty());
        Ok(Self {
            version: last.unwrap_or("unknown").trim().to_owned(),
            sees_shared: ask("--help")?.contains(ADDRESS_SPACE),
        })
    }
}

struct Recorder<'a> {
    programs: &'a Path,
    raw: &'a Path,
    kernels: &'a Path,
    sanitizer: Sanitizer,
    again: bool,
}

impl Recorder<'_> {
    /// The command that launches the subject once.
    fn launch(&self, subject: &Broken) -> Command {
        let mut command = Command::new(self.programs.join(format!("rung{}", subject.rung)));
        command
            .args(["launch", "--device", "gpu", "--size", subject.size])
            .args(subject.arguments)
            .arg("--kernel")
            .arg(self.kernels.join(stem(subject) + ".cu"));
        command
    }

    fn command(&self, subject: &Broken, checker: Checker) -> Command {
        let launch = self.launch(subject);
        let Checker::Tool(tool) = checker else {
            return launch;
        };
        let mut command = Command::new("compute-sanitizer");
        command.args(["--tool", tool, "--print-limit", PRINT_LIMIT]);
        if tool == "initcheck" && self.sanitizer.sees_shared {
            command.args([ADDRESS_SPACE, "all"]);
        }
        command.arg(launch.get_program()).args(launch.get_args());
        command
    }

    /// Runs all of them, `jobs` at a time; returns which have ended.
    fn all(
        &self,
        work: &[(&Broken, Checker)],
        limit: Duration,
        jobs: usize,
    ) -> io::Result<Vec<bool>> {
        let next = AtomicUsize::new(0);
        let worker = || {
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(subject, checker)) = work.get(number) else {
                    return Ok(done);
                };
                done.push((number, self.one(subject, checker, limit)?));
            }
        };
        let mut done = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(worker)).collect();
            let mut done = Vec::new();
            for worker in workers {
                let of_worker = worker.join();
                done.extend(
                    of_worker.unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")))?,
                );
            }
            Ok::<_, io::Error>(done)
        })?;
        done.sort_unstable();
        Ok(done.into_iter().map(|(_, ended)| ended).collect())
    }

    /// Keeps the output for one subject under one tool; returns whether the process ended.
    fn one(&self, subject: &Broken, checker: Checker, limit: Duration) -> io::Result<bool> {
        let path = self
            .raw
            .join(format!("{}.{}.txt", stem(subject), checker.name()));
        if self.again && fs::read(&path).is_ok_and(|known| !known.starts_with(NO_END.as_bytes())) {
            return Ok(true);
        }
        let output = path.with_extension("part");
        let (started, file) = (Instant::now(), File::create(&output)?);
        let mut command = self.command(subject, checker);
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file);
        let ended = within(&mut command, limit)?;
        let how = match &ended {
            Some(status) => status.to_string(),
            None => format!("{NO_END} in {} s", limit.as_secs()),
        };
        let mut whole = File::create(&path)?;
        writeln!(whole, "{how}")?;
        // A tool's output may not be UTF-8.
        whole.write_all(&fs::read(&output)?)?;
        fs::remove_file(&output)?;
        let seconds = started.elapsed().as_secs_f64();
        eprintln!(
            "{seconds:6.1} s  {}  {}  {how}",
            checker.name(),
            stem(subject)
        );
        Ok(ended.is_some())
    }

    /// The provenance, from a correct kernel's run.
    fn provenance(&self, subjects: &[Broken], limits: Limits) -> io::Result<String> {
        let sound = subjects.first().map(|subject| self.launch(subject));
        let Some(mut sound) = sound else {
            return Ok(String::new());
        };
        let output = sound.arg("--json").output()?;
        let failed = || {
            let (out, aside) = (&output.stdout, &output.stderr);
            let printed = String::from_utf8_lossy(out) + String::from_utf8_lossy(aside);
            io::Error::other(format!("a sound kernel does not run: {}", printed.trim()))
        };
        let report: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|_| failed())?;
        let mut of = serde_json::Map::new();
        for key in ["gpu", "driver", "cuda", "commit", "date"] {
            of.insert(key.into(), report["provenance"][key].clone());
        }
        of.insert(
            "compute_sanitizer".into(),
            self.sanitizer.version.clone().into(),
        );
        of.insert(
            "initcheck_sees_shared_memory".into(),
            self.sanitizer.sees_shared.into(),
        );
        of.insert("seconds_alone".into(), limits.alone.as_secs().into());
        of.insert("seconds_watched".into(), limits.watched.as_secs().into());
        Ok(serde_json::to_string_pretty(&of)? + "\n")
    }
}

/// Runs a command; `None` if it had to be stopped.
fn within(command: &mut Command, limit: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    // In a process group of its own: compute-sanitizer is one process, and the program that it checks another.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let program = command.get_program().to_owned();
    let child = command.spawn();
    let mut child = child
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", program.display())))?;
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > end {
            stop(&mut child)?;
            return Ok(None);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Stops a process and its children.
fn stop(child: &mut Child) -> io::Result<()> {
    #[cfg(unix)]
    Command::new("kill")
        .args(["-KILL", "--", &format!("-{}", child.id())])
        .status()?;
    // It may have ended in the meantime.
    let _ = child.kill();
    child.wait().map(drop)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_stopped_with_its_children() {
        let folder = std::env::temp_dir().join(format!("watch-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let mark = folder.join("mark");
        let mut command = Command::new("sh");
        let script = format!("(sleep 1; touch {}) & wait", mark.display());
        command.args(["-c", &script]);
        let ended = within(&mut command, Duration::from_millis(200)).expect("sh starts");
        assert!(ended.is_none());
        std::thread::sleep(Duration::from_millis(1200));
        assert!(!mark.exists(), "the child's child went on");
        let ended = within(&mut Command::new("true"), Duration::from_secs(60)).expect("a program");
        assert!(ended.is_some_and(|status| status.success()));
        fs::remove_dir_all(folder).expect("a folder of ours");
    }
}
