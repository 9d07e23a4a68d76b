//! Compiles strangers' kernels: in a process of its own that, by the time it reads the kernel, can open no file, start
//! nothing and talk to nobody, with bounded time, memory and output.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `mod` | what happens outside: who is started, how long may it take, what may it answer? |
//! | `child` | what happens inside, and in which order? |
//! | `assembler` | the same for ptxas, which is a program of its own |
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

/// What to do where there is no lock.
const REMEDY: &str = "take Linux 5.13 or later on x86-64 or arm64 with landlock enabled (`lsm=landlock,…` at boot); a \
    container or virtual machine of such a Linux will do, and so does the dev container of an exported course";

/// What a kernel's text may have.
const MOST_SOURCE: usize = 1 << 20;

/// What the compiler may answer: more PTX than this the emulator refuses anyway.
const MOST_ANSWER: u64 = 16 << 20;

/// By these the libraries are found, and by nothing else of the environment.
const VARIABLES: [&str; 5] = [
    "GEMM_NVRTC",
    "VIRTUAL_ENV",
    "CUDA_HOME",
    "CUDA_PATH",
    "LD_LIBRARY_PATH",
];

/// What a compilation may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Seconds of computing; twice as many pass at most, and two more.
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
    /// With these arguments it calls [`child::serve`], with these limits.
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
    /// Nothing was compiled: there is no lock, or no compiler.
    Cannot(String),
    /// Under the lock.
    Compiled { version: (u32, u32), ptx: String },
    /// Under the lock of [`assembler`].
    Assembled(String),
    /// Under the lock; what the kernel does wrong.
    Refused(String),
}

impl Sandboxed {
    /// Starts this program, with these arguments, for each kernel; it is to compile within these limits. It compiles a
    /// line once, so that a sandbox or a compiler that is missing shows here.
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

    /// With a folder that may be written to, the request is one to assemble.
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
                .map_err(|_| cannot(format!("{} is no ladder", self.program.display()))),
            Some(status) => Err(self.stopped(status)),
        }
    }

    /// What a compilation that did not come to its end tells the student.
    fn stopped(&self, status: ExitStatus) -> Error {
        match signal(status) {
            Some(24) => refused(self.too_slow()),
            // SIGKILL: a second after SIGXCPU, or by a system that is short of memory.
            Some(9) => refused(format!(
                "compilation was stopped: it took more than {} s, or more memory than the system had left; {ENDLESS}",
                self.limits.seconds
            )),
            Some(number) => refused(format!(
                "compilation was stopped: the compiler ran out of its stack or of its {} MiB of memory (signal {number}); {ENDLESS}",
                self.limits.mebibytes
            )),
            // The command itself failed: it does not know what it was asked, so it is another ladder.
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

const ENDLESS: &str =
    "does a template, a macro, a constexpr loop or an #include go on without end?";

impl Compile for Sandboxed {
    fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<String, Error> {
        let bytes = source.len();
        if bytes > MOST_SOURCE {
            let log = format!("it has {bytes} bytes, and {MOST_SOURCE} are allowed");
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

/// The kernel is at fault.
fn refused(log: String) -> Error {
    named("", log)
}

fn named(name: &str, log: String) -> Error {
    Error::Compile {
        file: name.into(),
        log,
    }
}

/// The machine is at fault.
fn cannot(why: String) -> Error {
    Error::Locked(format!("kernels of others cannot be compiled here: {why}"))
}

/// Runs it to its end or for so long. It is gone afterwards in any case. Returns how it ended, `None` if it had to be
/// killed, and what it had written by then: at most a byte more than [`MOST_ANSWER`].
fn run(
    mut command: Command,
    request: Vec<u8>,
    longest: Duration,
) -> std::io::Result<(Option<ExitStatus>, Vec<u8>)> {
    let mut child = command.spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    // A child that does not read leaves a broken pipe, and its exit says why.
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
    // Its ends of the pipes are closed, so both threads come to theirs.
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
