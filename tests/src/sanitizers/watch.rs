//! Launches every subject on a GPU under every tool, and keeps what is printed.
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{PROVENANCE, Watcher, stem, subjects};
use crate::broken::Broken;

/// How long, and how many at a time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A launch that nobody watches is stopped after this.
    pub alone: Duration,
    /// One under a tool, which makes it slower, after this; or after as long as an unwatched one, if that had no end.
    pub watched: Duration,
    /// Children at a time, all on one GPU.
    pub jobs: usize,
    /// Whether what a recording in the same folder has seen to its end is left as it is.
    pub again: bool,
}

/// How a file of `raw/` begins if the child had to be stopped.
pub const NO_END: &str = "no end";

/// Messages of a kernel that are printed; the number of all stands in the summary.
const PRINTED: &str = "4";
/// The option that makes initcheck watch shared memory too, in versions that have it.
const ADDRESS_SPACE: &str = "--initcheck-address-space";
/// How often a child is asked whether it has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Watches all subjects; `programs` is the folder of the rungs' programs. What each watcher printed goes to
/// `folder/raw/SUBJECT.WATCHER.txt` as soon as it is there, and `sanitizers.csv` is made from that.
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
    // First without a tool, which shows who never ends: those are the last, since they keep the GPU from the others.
    let alone: Vec<_> = subjects.iter().map(|of| (of, Watcher::Nobody)).collect();
    let mut ended = recorder.all(&alone, limits.alone, limits.jobs)?;
    // Who has waited for one of them has an end, too: once more, with the GPU to itself.
    for (work, ended) in alone.iter().zip(&mut ended).filter(|(_, ended)| !**ended) {
        *ended = recorder.all(&[*work], limits.alone, 1)? == [true];
    }
    let tools = |does_end: bool| -> Vec<_> {
        let subjects = subjects.iter().zip(&ended);
        let subjects = subjects.filter(|(_, ended)| **ended == does_end);
        let tools = &Watcher::ALL[1..];
        subjects
            .flat_map(|(of, _)| tools.iter().map(move |tool| (of, *tool)))
            .collect()
    };
    recorder.all(&tools(true), limits.watched, limits.jobs)?;
    // Few at a time: a tool finds nothing before it has the GPU.
    recorder.all(&tools(false), 2 * limits.alone, limits.jobs.div_ceil(2))?;
    Ok(())
}

/// The kernel's file, named as its other files are.
fn write(subject: &Broken, kernels: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(kernels)?;
    let path = kernels.join(stem(subject) + ".cu");
    fs::write(&path, subject.source())?;
    Ok(path)
}

/// compute-sanitizer, and what this version of it can do.
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
    /// The rung's program with what launches the subject once.
    fn launch(&self, subject: &Broken) -> Command {
        let mut command = Command::new(self.programs.join(format!("rung{}", subject.rung)));
        command
            .args(["launch", "--device", "gpu", "--size", subject.size])
            .args(subject.arguments)
            .arg("--kernel")
            .arg(self.kernels.join(stem(subject) + ".cu"));
        command
    }

    fn command(&self, subject: &Broken, watcher: Watcher) -> Command {
        let launch = self.launch(subject);
        let Watcher::Tool(tool) = watcher else {
            return launch;
        };
        let mut command = Command::new("compute-sanitizer");
        command.args(["--tool", tool, "--print-limit", PRINTED]);
        if tool == "initcheck" && self.sanitizer.sees_shared {
            command.args([ADDRESS_SPACE, "all"]);
        }
        command.arg(launch.get_program()).args(launch.get_args());
        command
    }

    /// Does all of them, `jobs` at a time; which have come to an end.
    fn all(
        &self,
        work: &[(&Broken, Watcher)],
        limit: Duration,
        jobs: usize,
    ) -> io::Result<Vec<bool>> {
        let next = AtomicUsize::new(0);
        let worker = || {
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(subject, watcher)) = work.get(number) else {
                    return Ok(done);
                };
                done.push((number, self.one(subject, watcher, limit)?));
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

    /// Keeps what one watcher prints of one subject; whether it came to an end.
    fn one(&self, subject: &Broken, watcher: Watcher, limit: Duration) -> io::Result<bool> {
        let path = self
            .raw
            .join(format!("{}.{}.txt", stem(subject), watcher.name()));
        if self.again && fs::read(&path).is_ok_and(|known| !known.starts_with(NO_END.as_bytes())) {
            return Ok(true);
        }
        let output = path.with_extension("part");
        let (started, file) = (Instant::now(), File::create(&output)?);
        let mut command = self.command(subject, watcher);
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
        // What a tool prints need not be UTF-8.
        whole.write_all(&fs::read(&output)?)?;
        fs::remove_file(&output)?;
        let seconds = started.elapsed().as_secs_f64();
        eprintln!(
            "{seconds:6.1} s  {}  {}  {how}",
            watcher.name(),
            stem(subject)
        );
        Ok(ended.is_some())
    }

    /// Of a sound kernel's run.
    fn provenance(&self, subjects: &[Broken], limits: Limits) -> io::Result<String> {
        let sound = subjects.first().map(|subject| self.launch(subject));
        let Some(mut sound) = sound else {
            return Ok(String::new());
        };
        let output = sound.arg("--json").output()?;
        let said = || {
            let (out, aside) = (&output.stdout, &output.stderr);
            let said = String::from_utf8_lossy(out) + String::from_utf8_lossy(aside);
            io::Error::other(format!("a sound kernel does not run: {}", said.trim()))
        };
        let report: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|_| said())?;
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

/// Runs it; nothing if it had to be stopped.
fn within(command: &mut Command, limit: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    // In a group of its own: compute-sanitizer is one process, and what it watches another.
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
        std::thread::sleep(PAUSE);
    }
}

/// Stops a child and what it has started.
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
