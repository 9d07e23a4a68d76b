//! What is printed of a launch.
use std::io::Write as _;

use emulator::{Function, KernelArg, LaunchConfig, LaunchReport, Options, Printed};

use crate::error::{Fault, INVALID_VALUE};
use crate::state::State;
use crate::table::Handle;

/// What each launch is asked for beside its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Faults, and nothing else.
    Plain,
    /// The counters of each line.
    Profile,
    /// Races and other mistakes.
    Sanitize,
    /// How long it would take.
    Time,
}

impl Mode {
    /// What `GEMM_EMULATE` asks for.
    pub fn of_environment() -> Result<Self, Fault> {
        match std::env::var("GEMM_EMULATE").as_deref() {
            Err(_) | Ok("") => Ok(Self::Plain),
            Ok("profile") => Ok(Self::Profile),
            Ok("sanitize") => Ok(Self::Sanitize),
            Ok("time") => Ok(Self::Time),
            Ok(other) => Err(Fault::of(
                INVALID_VALUE,
                format!("GEMM_EMULATE={other}: expected profile, sanitize or time"),
            )),
        }
    }

    /// How launches are run.
    pub fn options(self) -> Options {
        Options {
            sanitize: self == Self::Sanitize,
            ..Options::default()
        }
    }
}

/// What threads printed.
pub fn printed(all: &[Printed]) {
    let mut out = std::io::stdout().lock();
    for one in all {
        // A client without standard output loses it.
        let _ = out.write_all(one.text.as_bytes());
    }
    let _ = out.flush();
}

/// What was found, counted or predicted.
pub fn launched(
    state: &mut State,
    _module: Handle,
    function: &Function,
    _config: &LaunchConfig,
    _args: &[KernelArg<'_>],
    report: &LaunchReport,
) {
    let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    if state.mode == Mode::Sanitize || !findings.is_empty() {
        eprintln!("========= {}", function.name());
        eprint!("{}", harness::findings(&findings, &report.remarks, true));
    }
}
