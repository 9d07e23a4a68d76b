//! Compiles untrusted kernels in a child process. Before it reads the kernel, it gives up the ability to open files,
//! start programs and communicate; its time, memory and output are limited.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `mod` | what does the parent do: which process, how much time, how much output? |
//! | `child` | what does the child do, and in which order? |
//! | `assembler` | the same for ptxas, which is a separate program |
//! | `lockdown` | what can the process still do? |
//! | `compiler_log` | which of the compiler's messages are about the kernel? |
pub(crate) mod assembler;
pub(crate) mod child;
mod compiler_log;
#[cfg_attr(
    not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )),
    path = "lockdown_elsewhere.rs"
)]
mod lockdown;

use std::env;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use harness::{Compile, Error};
use serde::{Deserialize, Serialize};
use wait_timeout::ChildExt;

/// What to do if the lock is not available.
const REMEDY: &str = "use Linux 5.13 or later on x86-64 or arm64 with landlock enabled (`lsm=landlock,…` at boot); a \
    container or virtual machine with such a Linux works, too, and so does the dev container of an exported course. \
    `grade --trusted` compiles without the sandbox, if you trust these kernels";

/// The size limit of a kernel's source.
const MOST_SOURCE: usize = 1 << 20;

/// The size limit of the compiler's output; the emulator rejects more PTX than this anyway.
const MOST_ANSWER: u64 = 16 << 20;

/// The only environment variables that are passed on: they locate the libraries.
const VARIABLES: [&str; 5] = [
    "GEMM_NVRTC",
    "VIRTUAL_ENV",
    "CUDA_HOME",
    "CUDA_PATH",
    "LD_LIBRARY_PATH",
];

/// Limits of a compilation.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// CPU seconds; the wall-clock limit is twice as many plus two.
    pub seconds: u32,
    /// MiB of memory.
    pub mebibytes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            seconds: 10,
            mebibytes: 2048,
        }
    }
}

/// A compiler in a sandbox.
pub struct Sandboxed {
    /// With these arguments it calls [`child::serve`] with these limits.
    program: PathBuf,
    arguments: Vec<String>,
    limits: Limits,
    version: (u32, u32),
}

#[derive(Serialize, Deserialize)]
struct Request {
    source: String,
    name: String,
    options: Vec<String>,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    /// Nothing was compiled: the lock or the compiler is missing.
    Cannot(String),
    /// Compiled under the lock.
    Compiled { version: (u32, u32), ptx: String },
    /// Assembled under the lock of [`assembler`].
    Assembled(String),
    /// Rejected under the lock; the errors in the kernel.
    Refused(String),
}

impl Sandboxed {
    /// Starts this program with these arguments for each kernel; it must respect these limits. Compiles a trivial
    /// kernel first, so that a missing sandbox or compiler is reported here.
    ///
    /// # Errors
    /// [`Error::Locked`], which says what to do.
    pub(crate) fn new(
        program: &Path,
        arguments: Vec<String>,
        limits: Limits,
    ) -> Result<Self, Error> {
        let mut sandboxed = Self {
            program: program.to_owned(),
            arguments,
            limits,
            version: (0, 0),
        };
        let request = Request {
            source: child::TRUSTED.into(),
            name: child::TRUSTED_NAME.into(),
            options: Vec::new(),
        };
        match sandboxed.ask(&request, None)? {
            Answer::Compiled { version, .. } => {
                sandboxed.version = version;
                Ok(sandboxed)
            }
            Answer::Assembled(_) => Err(cannot("it assembled what was to be compiled".into())),
            Answer::Cannot(why) => Err(cannot(why)),
            Answer::Refused(log) => Err(cannot(format!(
                "a line that compiles elsewhere does not:\n{log}"
            ))),
        }
    }

    /// Sends a request; with a folder to write to, it is one to assemble.
    fn ask(&self, request: &Request, scratch: Option<&Path>) -> Result<Answer, Error> {
        let variables = VARIABLES.map(|name| Some((name, env::var_os(name)?)));
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .args(scratch.map(|_| "--assemble"))
            .env_clear()
            .envs(variables.into_iter().flatten())
            .envs(scratch.map(|scratch| ("TMPDIR", scratch)))
            .envs(scratch.and_then(|_| Some(("PATH", env::var_os("PATH")?))))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let request = serde_json::to_vec(request).map_err(|error| cannot(error.to_string()))?;
        let longest = Duration::from_secs(u64::from(self.limits.seconds) * 2 + 2);
        let (status, answer) = run(command, request, longest)
            .map_err(|error| cannot(format!("{}: {error}", self.program.display())))?;
        match status {
            None => Err(refused(self.too_slow())),
            Some(_) if answer.len() as u64 > MOST_ANSWER => Err(refused(format!(
                "compilation was stopped: its output is longer than {} MiB; {ENDLESS}",
                MOST_ANSWER >> 20
            ))),
            Some(status) if status.success() => serde_json::from_slice(&answer)
                .map_err(|_| cannot(format!("{} is not the ladder", self.program.display()))),
            Some(status) => Err(self.stopped(status)),
        }
    }

    /// The message for a student whose compilation did not finish.
    fn stopped(&self, status: ExitStatus) -> Error {
        match signal(status) {
            Some(24) => refused(self.too_slow()),
            // SIGKILL: a second after SIGXCPU, or from a system that is short of memory.
            Some(9) => refused(format!(
                "compilation was stopped: it took more than {} s, or more memory than the system had left; {ENDLESS}",
                self.limits.seconds
            )),
            Some(number) => refused(format!(
                "compilation was stopped: the compiler ran out of its stack or of its {} MiB of memory (signal {number}); {ENDLESS}",
                self.limits.mebibytes
            )),
            // The command itself failed: it does not understand the request, so it is another version.
            None => cannot(format!(
                "{} ended with {status}; build it again",
                self.program.display()
            )),
        }
    }

    fn too_slow(&self) -> String {
        format!(
            "compilation was stopped after {} s; {ENDLESS}",
            self.limits.seconds
        )
    }
}

const ENDLESS: &str = "is there a template, macro, constexpr loop or #include without end?";

impl Compile for Sandboxed {
    fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<String, Error> {
        let bytes = source.len();
        if bytes > MOST_SOURCE {
            let log = format!("it has {bytes} bytes, but only {MOST_SOURCE} are allowed");
            return Err(named(name, log));
        }
        let request = Request {
            source: source.into(),
            name: name.into(),
            options: options.into(),
        };
        match self.ask(&request, None) {
            Ok(Answer::Assembled(_)) => Err(cannot("it assembled what was to be compiled".into())),
            Ok(Answer::Compiled { ptx, .. }) => Ok(ptx),
            Ok(Answer::Refused(log)) | Err(Error::Compile { log, .. }) => Err(named(name, log)),
            Ok(Answer::Cannot(why)) => Err(cannot(why)),
            Err(error) => Err(error),
        }
    }

    fn assemble(&self, ptx: &str, kernel: &str, arch: &str) -> Result<String, Error> {
        let scratch = tempfile::tempdir().map_err(|error| cannot(error.to_string()))?;
        let request = Request {
            source: ptx.into(),
            name: kernel.into(),
            options: vec![arch.into()],
        };
        let no = |log| Err(Error::NotPredicted(kernel.into(), log));
        match self.ask(&request, Some(scratch.path())) {
            Ok(Answer::Assembled(text)) => Ok(text),
            Ok(Answer::Refused(log)) | Err(Error::Compile { log, .. }) => no(log),
            Ok(Answer::Compiled { .. }) => {
                Err(cannot("it compiled what was to be assembled".into()))
            }
            Ok(Answer::Cannot(why)) => Err(cannot(why)),
            Err(error) => Err(error),
        }
    }

    fn version(&self) -> (u32, u32) {
        self.version
    }
}

/// An error of the kernel.
fn refused(log: String) -> Error {
    named("", log)
}

fn named(name: &str, log: String) -> Error {
    Error::Compile {
        file: name.into(),
        log,
    }
}

/// An error of the machine.
fn cannot(why: String) -> Error {
    Error::Locked(format!("untrusted kernels cannot be compiled here: {why}"))
}

/// Runs a process until it ends or the time is over; either way, it no longer exists afterwards. Returns its exit
/// status, `None` if it had to be killed, and its output: at most one byte more than [`MOST_ANSWER`].
fn run(
    mut command: Command,
    request: Vec<u8>,
    longest: Duration,
) -> std::io::Result<(Option<ExitStatus>, Vec<u8>)> {
    let mut child = command.spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    // A child that does not read breaks the pipe; its exit status explains why.
    let writer = thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&request)));
    // Output beyond `MOST_ANSWER` is cut off: the pipe is closed then.
    let reader = thread::spawn(move || {
        let mut answer = Vec::new();
        let read = stdout.map(|stdout| stdout.take(MOST_ANSWER + 1).read_to_end(&mut answer));
        read.transpose().map(|_| answer)
    });
    let status = child.wait_timeout(longest);
    if !matches!(status, Ok(Some(_))) {
        child.kill()?;
        child.wait()?;
    }
    // The child's ends of the pipes are closed, so both threads finish.
    let answer = reader.join();
    let _ = writer.join();
    Ok((status?, answer.unwrap_or_else(|_| Ok(Vec::new()))?))
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(all(test, unix))]
mod tests;
