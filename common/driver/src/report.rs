//! What is printed for each launch: the same as `cargo ladder emulate` prints.
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use emulator::{Context, Function, LaunchConfig, LaunchReport, Options, Printed};
use harness::metrics::{self, Metric};
use harness::table::plural;
use harness::{AnyLaunch, Arg, Device, Origin, Remark, Source, lines};
use serde_json::json;

use crate::error::{Fault, INVALID_VALUE};
use crate::launch::Launch;
use crate::state::State;

/// What is reported of each launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Faults only.
    Plain,
    /// Counters for each line.
    Profile,
    /// Races and other mistakes.
    Sanitize,
    /// The predicted time.
    Time,
}

/// The format of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    /// One JSON object per line.
    Json,
    /// One line per launch, with Nsight Compute's metric names.
    Csv,
}

/// What is reported, in which format, and where to.
pub struct Reports {
    mode: Mode,
    format: Format,
    out: Option<File>,
    /// Number of launches so far.
    launches: u64,
}

/// The environment variables that set them.
const MODE: &str = "GEMM_EMULATE";
const FORMAT: &str = "GEMM_EMULATE_FORMAT";
const OUT: &str = "GEMM_EMULATE_OUT";

/// The largest source file that is read.
const LONGEST_SOURCE: u64 = 1 << 20;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Parses a variable; the first choice is the default.
fn choice<T: Copy>(name: &str, all: &[(&str, T)]) -> Result<T, Fault> {
    let value = variable(name);
    let found = all.iter().find(|(word, _)| *word == value);
    found.map(|&(_, meaning)| meaning).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|(word, _)| *word).collect();
        let words = words.iter().filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(ToString::to_string).collect();
        Fault::of(
            INVALID_VALUE,
            format!("{name}={value}: expected one of {}", words.join(", ")),
        )
    })
}

impl Reports {
    /// Reads the settings from the environment.
    pub fn of_environment() -> Result<Self, Fault> {
        let modes = [
            ("", Mode::Plain),
            ("profile", Mode::Profile),
            ("sanitize", Mode::Sanitize),
            ("time", Mode::Time),
        ];
        let formats = [
            ("", Format::Text),
            ("text", Format::Text),
            ("json", Format::Json),
            ("csv", Format::Csv),
        ];
        let (mode, format) = (choice(MODE, &modes)?, choice(FORMAT, &formats)?);
        if format == Format::Csv && mode != Mode::Profile {
            let why = format!("{FORMAT}=csv has counters: set {MODE}=profile");
            return Err(Fault::of(INVALID_VALUE, why));
        }
        let out = match PathBuf::from(variable(OUT)) {
            none if none.as_os_str().is_empty() => None,
            path => Some(File::create(&path).map_err(|error| {
                Fault::of(INVALID_VALUE, format!("{OUT}={}: {error}", path.display()))
            })?),
        };
        Ok(Self {
            mode,
            format,
            out,
            launches: 0,
        })
    }

    /// The emulator options for launches.
    pub fn options(&self) -> Options {
        Options {
            sanitize: self.mode == Mode::Sanitize,
            ..Options::default()
        }
    }

    /// Writes to the file, or to standard error, with colors only if that is a terminal.
    fn write(&mut self, text: &str) {
        let plain = || anstream::adapter::strip_str(text).to_string();
        // A report that cannot be written is dropped; the program goes on.
        let _ = match &mut self.out {
            Some(file) => file.write_all(plain().as_bytes()),
            None => harness::terminal::stderr().write_all(text.as_bytes()),
        };
    }
}

/// Prints the output of `printf`.
pub fn printed(all: &[Printed]) {
    let mut out = std::io::stdout().lock();
    for one in all {
        // A client without standard output loses its output.
        let _ = out.write_all(one.text.as_bytes());
    }
    let _ = out.flush();
}

/// Demangled, as in the source.
fn shown(name: &str) -> String {
    let symbol = cpp_demangle::Symbol::new(name).ok();
    let demangled = symbol.and_then(|symbol| symbol.demangle().ok());
    demangled.map_or_else(|| name.to_owned(), |name| without_abi_tags(&name))
}

/// Without the `[abi:…]` tags by which Numba tells versions of a kernel apart.
fn without_abi_tags(name: &str) -> String {
    let mut pieces = name.split("[abi:");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| {
        let rest = piece.split_once(']').map_or("", |(_, rest)| rest);
        all + rest
    })
}

/// The PTX, with its CUDA source if that file exists on this machine.
fn source(ptx: &str, function: &Function) -> Source {
    let mut lines = function.instructions().iter();
    let name = lines.find_map(|one| one.source.as_ref().map(|line| line.file.to_string()));
    let name = name.unwrap_or_default();
    let short = std::fs::metadata(&name).is_ok_and(|file| file.len() <= LONGEST_SOURCE);
    let text = short.then(|| std::fs::read_to_string(&name).ok()).flatten();
    let target = ptx.split(".target").nth(1).unwrap_or_default();
    let target = target.split([',', '\n', ' ']).find(|word| !word.is_empty());
    Source {
        file: name.clone(),
        name,
        text,
        arch: target.unwrap_or("sm_90").trim().to_owned(),
        origin: Origin::File,
        ptx: ptx.to_owned(),
        sass: String::new(),
    }
}

/// The predicted time of a launch as text, if reports include it; memory is left unchanged.
pub fn predicted(
    state: &mut State,
    ptx: &str,
    function: &Function,
    launch: &Launch,
) -> Option<String> {
    if state.reports.mode != Mode::Time {
        return None;
    }
    let before = state.gpu.save_memory();
    let memory = state
        .allocations
        .values()
        .map(|one| one.bytes() as u64)
        .sum();
    let stand_in = Context::new(Options::default());
    let mut device = Device::Emulator(Box::new(std::mem::replace(&mut state.gpu, stand_in)));
    let args = launch.arguments.iter();
    let args: Vec<Arg> = args.map(|bytes| Arg::Bytes(bytes.clone().into())).collect();
    let traced = AnyLaunch {
        kernel: &shown(function.name()),
        source: &source(ptx, function),
        entry: function.name(),
        function: &harness::Function::Emulator(function.clone()),
        config: &launch.config,
        args: &args,
        memory,
        constants: &[],
        options: harness::PredictOptions::default(),
    };
    let as_json = state.reports.format == Format::Json;
    // A panic in the clock must not cost the client its context, which is borrowed here.
    let text = catch_unwind(AssertUnwindSafe(|| {
        let prediction = traced.predict(&mut device)?;
        let text = harness::predicted(&prediction, as_json, None)?;
        Ok(if as_json { on_one_line(text) } else { text })
    }));
    let text = text.unwrap_or_else(|_| {
        let why = "the prediction panicked: this is a bug in the emulator, please report it";
        Err(harness::Error::NotPredicted(
            shown(function.name()),
            why.into(),
        ))
    });
    if let Device::Emulator(context) = device {
        state.gpu = *context;
    }
    state.gpu.options_mut().trace = None;
    // The snapshot is this context's own, so this cannot fail.
    let _ = state.gpu.restore_memory(before);
    Some(text.unwrap_or_else(|error| format!("{}: {error}\n", shown(function.name()))))
}

/// Puts a JSON document on one line.
fn on_one_line(document: String) -> String {
    match serde_json::from_str::<serde_json::Value>(&document) {
        Ok(document) => format!("{document}\n"),
        Err(_) => document,
    }
}

/// Reports the findings, counters or prediction of a launch.
pub fn launched(
    state: &mut State,
    ptx: &str,
    function: &Function,
    config: &LaunchConfig,
    report: &LaunchReport,
    predicted: Option<String>,
) {
    let (mode, format) = (state.reports.mode, state.reports.format);
    let id = state.reports.launches;
    state.reports.launches += 1;
    if let Some(text) = &predicted {
        state.reports.write(text);
    }
    let wrong = !report.findings.is_empty();
    if !wrong && matches!(mode, Mode::Plain | Mode::Time) {
        return;
    }
    let counted = mode == Mode::Profile && !report.counters.is_empty();
    let metrics = counted.then(|| {
        let shared = function.static_shared();
        metrics::of(function.instructions(), &report.counters, config, shared)
    });
    let text = match (format, metrics) {
        (Format::Json, metrics) => as_json(function, config, report, metrics),
        (Format::Csv, Some(metrics)) => {
            let card = state.gpu.card();
            let table = metrics::csv(&metrics, &shown(function.name()), config, card, id);
            match table {
                // The header of names and units precedes the first launch only.
                Ok(table) if id > 0 => table
                    .lines()
                    .skip(2)
                    .map(|line| format!("{line}\n"))
                    .collect(),
                Ok(table) => table,
                Err(error) => format!("{error}\n"),
            }
        }
        (Format::Text | Format::Csv, _) => {
            let mut text = head(function, config);
            if counted {
                let source = source(ptx, function);
                let instructions = function.instructions();
                let by_line = lines::by_line(&source, instructions, &report.counters);
                text += "\n";
                text += &harness::source_lines(&source, &by_line);
                text += &harness::memory(instructions, &report.counters);
            }
            if mode == Mode::Sanitize || wrong {
                let findings = report.findings.iter().map(ToString::to_string);
                let findings: Vec<String> = findings.collect();
                text += &harness::findings(&findings, &report.remarks, true);
            }
            text
        }
    };
    state.reports.write(&text);
}

/// The launch: kernel, grid, block, cluster.
fn head(function: &Function, config: &LaunchConfig) -> String {
    let counted = |[x, y, z]: [u32; 3], noun| match (y, z) {
        (1, 1) => plural(x.into(), noun),
        (_, 1) => format!("{x} x {y} {noun}s"),
        _ => format!("{x} x {y} x {z} {noun}s"),
    };
    let mut text = format!(
        "{}: {} of {}",
        shown(function.name()),
        counted(config.grid, "block"),
        counted(config.block, "thread")
    );
    if config.cluster != [1; 3] {
        let _ = write!(
            text,
            ", in clusters of {}",
            counted(config.cluster, "block")
        );
    }
    // A warning for one such instruction is enough, however many a kernel has.
    if let [first, rest @ ..] = function.warnings() {
        let _ = write!(text, "\n  warning: {first}");
        if !rest.is_empty() {
            let _ = write!(text, "; {} more", plural(rest.len() as u64, "such warning"));
        }
    }
    text + "\n"
}

fn as_json(
    function: &Function,
    config: &LaunchConfig,
    report: &LaunchReport,
    metrics: Option<Vec<Metric>>,
) -> String {
    let findings = report.findings.iter().map(|finding| {
        let source = finding.location.source.as_ref();
        json!({
            "text": finding.to_string(),
            "file": source.map(|source| source.file.to_string()),
            "line": source.map(|source| source.line),
            "ptx_line": finding.location.ptx_line,
            "count": finding.count,
        })
    });
    let metrics = metrics.map(|all| {
        let named = all
            .into_iter()
            .map(|(name, _, value)| (name.to_owned(), json!(value)));
        serde_json::Value::Object(named.collect())
    });
    let object = json!({
        "schema": harness::schema::DRIVER.number,
        "kernel": shown(function.name()),
        "entry": function.name(),
        "grid": config.grid,
        "block": config.block,
        "cluster": config.cluster,
        "dynamic_shared": config.dynamic_shared,
        "metrics": metrics,
        "findings": findings.collect::<Vec<_>>(),
        "remarks": report.remarks.iter().map(Remark::from).collect::<Vec<_>>(),
    });
    format!("{object}\n")
}
