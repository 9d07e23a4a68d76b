//! One run, from the arguments to the exit code.
use std::io::Write;
use std::mem::discriminant;
use std::process::ExitCode;

use emulator::{Card, Finding};
use half::f16;
use owo_colors::OwoColorize;

use crate::arguments::{Arguments, Command};
use crate::bench::{self, Effort, Time};
use crate::bound::{self, Bound};
use crate::choice::Choices;
use crate::device::Device;
use crate::on_gpu::Session;
use crate::problem::pad;
use crate::provenance::{OnGpu, Provenance};
use crate::{
    Error, Kernel, Problem, Result, Rung, Size, Verification, json, on_emulator, profile, report,
    sanitize, verify,
};

/// What a run found.
pub struct Outcome<'a> {
    /// Which rung.
    pub rung: &'a Rung,
    /// What was asked for.
    pub arguments: &'a Arguments,
    /// Where it ran.
    pub device: &'a Device,
    /// What ran.
    pub kernel: &'a Kernel,
    /// The problem.
    pub size: Size,
    /// The problem, rounded up to whole tiles.
    pub padded: Size,
    /// Whether C is right.
    pub verification: Verification,
    /// C, in 64 digits.
    pub c_sha256: String,
    /// What the emulator saw.
    pub emulated: Option<emulator::Run>,
    /// How fast it was, on a GPU.
    pub time: Option<Time>,
    /// What limits the kernel on a full card, if that was asked for, or why that is not known.
    pub bound: Option<Result<Bound>>,
    /// What the numbers belong to.
    pub provenance: Provenance,
}

/// Everything that a rung's `main` does.
pub fn main(rung: &Rung) -> ExitCode {
    let arguments = Arguments::from_env(rung);
    match execute(rung, &arguments, &mut anstream::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            anstream::eprintln!("{} {error}", "error:".red().bold());
            ExitCode::from(error.exit_code())
        }
    }
}

/// What [`main`] does with these words, the first of which is the program's name: reports go to `out`, the message of
/// an error too. Returns the exit code. For tests: no words may make it panic, or run without end.
pub fn rehearse(rung: &Rung, words: &[&str], out: &mut dyn Write) -> u8 {
    let error = match Arguments::from_words(rung, words) {
        Err(error) => (error.exit_code() as u8, error.to_string()),
        Ok(arguments) => match execute(rung, &arguments, out) {
            Ok(right) => return (!right).into(),
            Err(error) => (error.exit_code(), error.to_string()),
        },
    };
    // A reader who has gone away needs no message.
    let _ = writeln!(out, "{}", error.1);
    error.0
}

/// Does what the arguments say and reports to `out`; whether all was well.
fn execute(rung: &Rung, arguments: &Arguments, out: &mut dyn Write) -> Result<bool> {
    let device = Device::choose(arguments)?;
    if let Some(Command::Tiles {
        sizes,
        multiprocessors,
    }) = &arguments.command
    {
        let sizes = sizes_of(arguments, sizes);
        let multiprocessors = multiprocessors.unwrap_or(device.multiprocessors());
        let choices = Choices::new(rung, arguments, &device, &sizes, multiprocessors)?;
        let text = if arguments.json {
            json::pretty(&choices)
        } else {
            choices.text()
        };
        report::print(out, &text)?;
        return Ok(true);
    }
    if let (Device::Gpu(info), Some(Command::Bench { sizes })) = (&device, &arguments.command) {
        return bench(rung, arguments, &device, info.ordinal, sizes, out);
    }
    let size = arguments.size.unwrap_or(device.default_size());
    let kernel = Kernel::new(rung, device.source(rung, arguments, size)?)?;
    let run = Run {
        rung,
        arguments,
        device: &device,
        kernel: &kernel,
    };
    match &device {
        Device::Emulator(_) => {
            let sanitizes = arguments.command == Some(Command::Sanitize);
            let mut outcome = run.on_emulator(size, sanitizes)?;
            if arguments.command == Some(Command::Profile) {
                // At that size another of the kernel's tiles may be the best.
                let source = device.source(rung, arguments, Device::FULL)?;
                let kernel = &Kernel::new(rung, source)?;
                outcome.bound = Some(Run { kernel, ..run }.bound()?);
            }
            let right = outcome.verification.ok();
            let findings = sanitizes.then(|| sanitize::findings(&outcome));
            let clean = findings.as_ref().is_none_or(Vec::is_empty);
            let text = match (&arguments.command, findings) {
                (_, findings) if arguments.json => json::text(&outcome, findings)?,
                (_, Some(findings)) => sanitize::text(&findings, right),
                (Some(Command::Profile), None) => profile::text(&outcome)?,
                (_, None) => report::text(&outcome),
            };
            report::print(out, &text)?;
            Ok(clean && right)
        }
        Device::Gpu(info) => {
            let session = Session::open(info.ordinal, &kernel, &arguments.switches)?;
            let only_launch = arguments.command == Some(Command::Launch);
            let effort = (!only_launch).then_some(Effort::Run);
            let outcome = run.on_gpu(&session, size, effort)?;
            report::print(
                out,
                &if arguments.json {
                    json::text(&outcome, None)?
                } else {
                    report::text(&outcome)
                },
            )?;
            Ok(outcome.verification.ok())
        }
    }
}

/// The sizes that are asked for, or the usual.
fn sizes_of(arguments: &Arguments, sizes: &[Size]) -> Vec<Size> {
    match (arguments.size, sizes) {
        (Some(size), _) => vec![size],
        (None, []) => bench::SIZES.to_vec(),
        (None, sizes) => sizes.to_vec(),
    }
}

/// Times all sizes, each with the configuration of the kernel that fits it best.
fn bench(
    rung: &Rung,
    arguments: &Arguments,
    device: &Device,
    ordinal: usize,
    sizes: &[Size],
    out: &mut dyn Write,
) -> Result<bool> {
    let sizes = sizes_of(arguments, sizes);
    let kernels: Vec<Kernel> = sizes
        .iter()
        .map(|&size| Kernel::new(rung, device.source(rung, arguments, size)?))
        .collect::<Result<_>>()?;
    let mut outcomes = Vec::new();
    for (size, kernel) in sizes.into_iter().zip(&kernels) {
        let session = Session::open(ordinal, kernel, &arguments.switches)?;
        if let Err(error) = session.cublas() {
            return Err(error.clone().into());
        }
        let run = Run {
            rung,
            arguments,
            device,
            kernel,
        };
        let outcome = run.on_gpu(&session, size, Some(Effort::Bench))?;
        if !arguments.json {
            report::print(out, &report::text(&outcome))?;
        }
        outcomes.push(outcome);
    }
    let text = if arguments.json {
        json::bench(&outcomes)?
    } else {
        report::summary(&outcomes)
    };
    report::print(out, &text)?;
    Ok(outcomes.iter().all(|outcome| outcome.verification.ok()))
}

/// Whether a repeated launch left the bits of the first.
fn same_bits(repeat: u32, first: &[f16], again: &[f16]) -> Result<()> {
    let differs = |(a, b): (&f16, &f16)| a.to_bits() != b.to_bits();
    match first
        .iter()
        .zip(again)
        .filter(|&pair| differs(pair))
        .count()
    {
        0 => Ok(()),
        elements => Err(Error::Unsteady {
            run: repeat + 1,
            elements,
        }),
    }
}

/// What all sizes share.
#[derive(Clone, Copy)]
struct Run<'a> {
    rung: &'a Rung,
    arguments: &'a Arguments,
    device: &'a Device,
    kernel: &'a Kernel,
}

impl<'a> Run<'a> {
    fn on_emulator(&self, size: Size, sanitize: bool) -> Result<Outcome<'a>> {
        on_emulator::fits(pad(size, self.kernel.launch.whole())?, self.arguments)?;
        let problem = Problem::new(size, self.kernel.launch.whole(), self.arguments.seed)?;
        let launch =
            |schedule| on_emulator::run(self.kernel, &problem, self.arguments, schedule, sanitize);
        let (c, mut run) = launch(self.arguments.schedule)?;
        for repeat in 1..self.arguments.runs {
            let schedule = self.arguments.schedule.wrapping_add(repeat.into());
            let (again, other) = launch(schedule)?;
            let known = |finding: &Finding| {
                let same = |one: &Finding| {
                    discriminant(&one.kind) == discriminant(&finding.kind)
                        && one.place.instruction == finding.place.instruction
                };
                run.findings.iter().any(same)
            };
            let new: Vec<_> = other.findings.into_iter().filter(|f| !known(f)).collect();
            run.findings.extend(new);
            if run.findings.is_empty() {
                same_bits(repeat, &c, &again)?;
            }
        }
        if !sanitize && !run.findings.is_empty() {
            return Err(Error::Fault(
                run.findings.iter().map(ToString::to_string).collect(),
            ));
        }
        let mut outcome = self.outcome(&problem, &c);
        outcome.emulated = Some(run);
        Ok(outcome)
    }

    /// What limits the kernel at the size that a GPU runs by default, and what this machine's GPU measures of
    /// it, if there is one that runs it.
    ///
    /// The outer error is the reader's or the GPU's; a kernel that has no bound still has its counters.
    fn bound(&self) -> Result<Result<Bound>> {
        let gpu = Device::beside_the_emulator(self.arguments, &self.kernel.source.arch)?;
        if self.device.emulated() == Some(Card::A100) {
            let why =
                "no ceilings of an A100 are recorded; `cargo ladder ceilings` records a GPU's";
            return Ok(Err(Error::NoBound(Device::FULL, why.into())));
        }
        let mut bound = Bound::new(self.kernel, self.arguments, Device::FULL);
        if let (Some(info), Ok(bound)) = (gpu, &mut bound) {
            let session = Session::open(info.ordinal, self.kernel, &self.arguments.switches)?;
            let outcome = self.on_gpu(&session, Device::FULL, Some(Effort::Run))?;
            if !outcome.verification.ok() {
                let wrong = outcome.verification.wrong;
                let why = format!(
                    "{}: {} has {wrong} wrong elements of C",
                    Device::FULL,
                    info.name
                );
                return Err(Error::Fault(vec![why]));
            }
            bound.measured = outcome.time.map(|time| bound::Measured {
                gpu: info.name,
                tflops: time.tflops,
                of_cublas: time.of_cublas,
                resources: time.resources,
            });
        }
        Ok(bound)
    }

    /// Launches, verifies, and times only what is right; without `effort` no other kernel is launched, not even
    /// cuBLAS's to compare with.
    fn on_gpu(&self, session: &Session, size: Size, effort: Option<Effort>) -> Result<Outcome<'a>> {
        let problem = Problem::new(size, self.kernel.launch.whole(), self.arguments.seed)?;
        let mut operands = session.upload(&problem)?;
        let c = session.run(&problem, &mut operands)?;
        for repeat in 1..self.arguments.runs {
            same_bits(repeat, &c, &session.run(&problem, &mut operands)?)?;
        }
        let mut outcome = self.outcome(&problem, &c);
        let Some(effort) = effort else {
            outcome.provenance.gpu = Some(OnGpu::new(session.gpu.info(), None));
            return Ok(outcome);
        };
        outcome.verification = session.verify(outcome.verification, &problem, &operands, &c)?;
        let cublas = session.cublas().as_ref().ok().map(gpu::Cublas::version);
        let mut on_gpu = OnGpu::new(session.gpu.info(), cublas);
        if outcome.verification.ok() {
            let (time, sensors) = bench::time(session, &problem, operands, effort)?;
            on_gpu = on_gpu.with(sensors);
            outcome.time = Some(time);
        }
        outcome.provenance.gpu = Some(on_gpu);
        Ok(outcome)
    }

    /// C compared with the reference, nothing timed.
    fn outcome(&self, problem: &Problem, c: &[f16]) -> Outcome<'a> {
        Outcome {
            rung: self.rung,
            arguments: self.arguments,
            device: self.device,
            kernel: self.kernel,
            size: problem.size,
            padded: problem.padded,
            verification: verify(problem, self.kernel.launch.tile, c),
            c_sha256: problem.c_sha256(c),
            emulated: None,
            time: None,
            bound: None,
            provenance: Provenance::new(self.kernel),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::Switch;

    const TINY: &str = include_str!("testdata/tiny.ptx");
    const SWITCH: Switch = Switch {
        flag: "half-only",
        help: "Leave the second half of K away",
    };
    const RUNG: Rung = Rung {
        name: "00_tiny",
        kernels: &[],
        switches: &[SWITCH],
    };

    /// Runs the tiny kernel, changed by `change`, on the emulator.
    fn run(name: &str, change: impl Fn(String) -> String, words: &[&str]) -> Result<bool> {
        run_into(name, change, words, &mut Vec::new())
    }

    /// As [`run`], and keeps the report.
    fn run_into(
        name: &str,
        change: impl Fn(String) -> String,
        words: &[&str],
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let path: PathBuf =
            std::env::temp_dir().join(format!("harness-{}-{name}.ptx", std::process::id()));
        std::fs::write(&path, change(TINY.into())).expect("a writable folder for temporary files");
        let kernel = path.display().to_string();
        let all = [
            &["rung00_tiny", "--device", "emulator", "--kernel", &kernel],
            words,
        ]
        .concat();
        let result = execute(
            &RUNG,
            &Arguments::from_words(&RUNG, &all).expect("good usage"),
            out,
        );
        std::fs::remove_file(path).expect("it was written above");
        result
    }

    /// The message of an error, which exits with `code`.
    fn message(result: Result<bool>, code: u8) -> String {
        let error = result.expect_err("an error");
        assert_eq!(error.exit_code(), code, "{error}");
        error.to_string()
    }

    fn same(text: String) -> String {
        text
    }

    #[test]
    fn a_kernel_runs_and_is_verified() {
        for size in ["1", "17x33x65", "8x16x4", "70x1x3"] {
            assert!(
                run(size, same, &["--size", size]).expect("it runs"),
                "{size}"
            );
        }
    }

    #[test]
    fn a_wrong_kernel_is_found_out() {
        assert!(!run("half", same, &["--size", "64", "--half-only"]).expect("it runs"));
        assert!(
            !run(
                "half-k",
                same,
                &["--size", "8x8x16384", "--half-only", "--json"]
            )
            .expect("it runs")
        );
    }

    #[test]
    fn every_command_runs() {
        for (command, expected) in [
            ("run", "all 256 elements"),
            ("profile", "executions"),
            ("profile", "limited by"),
            ("sanitize", "ERROR SUMMARY: 0 errors"),
        ] {
            let mut out = Vec::new();
            assert!(
                run_into(command, same, &[command, "--size", "16"], &mut out).expect("it runs")
            );
            let out = String::from_utf8(out).expect("text");
            assert!(out.contains(expected), "{out}");
        }
    }

    #[test]
    fn another_card_is_marked_in_every_output() {
        let mark = Card::A100.evidence();
        assert_eq!(mark, "from the literature, not calibrated here");
        let words = |card: &'static str| ["--size", "16", "--emulate", card];
        for (name, words) in [
            ("a-run", words("a100").to_vec()),
            ("a-json", [&words("a100")[..], &["--json"]].concat()),
            ("a-profile", [&["profile"][..], &words("a100")].concat()),
        ] {
            let mut out = Vec::new();
            assert!(run_into(name, same, &words, &mut out).expect("it runs"));
            let out = String::from_utf8(out).expect("text");
            assert!(out.contains(mark), "{out}");
            assert!(!out.contains("limited by"), "{out}");
        }
        let mut out = Vec::new();
        assert!(run_into("h-run", same, &words("h100"), &mut out).expect("it runs"));
        assert!(!String::from_utf8_lossy(&out).contains("literature"));
    }

    #[test]
    fn a_kernel_for_hopper_is_refused_by_a_card_before_it() {
        let hopper = |text: String| text.replace(".target sm_80", ".target sm_90a");
        let words = ["--size", "16", "--emulate", "a100"];
        let text = message(run("hopper", hopper, &words), 2);
        assert_eq!(
            text,
            "a100 has compute capability 8.0, and this kernel is for sm_90a; leave `--emulate a100` away, or take a \
             kernel for sm_80 (`--arch sm_80`)"
        );
        assert!(run("hopper-h100", hopper, &["--size", "16"]).expect("it runs"));
        let words = ["--size", "16", "--emulate", "a100", "--device", "gpu"];
        assert!(
            message(run("gpu", same, &words), 2).contains("`--emulate a100` is about the emulator")
        );
        let words = [
            "bench",
            "--size",
            "16",
            "--emulate",
            "a100",
            "--device",
            "auto",
        ];
        assert!(message(run("bench", same, &words), 2).contains("the emulator is none"));
    }

    #[test]
    fn matrices_that_do_not_fit_are_refused_before_there_are_any() {
        // 12 GB of them, which would take long even where there is room.
        let started = std::time::Instant::now();
        let words = ["--size", "45056", "--max-memory", "1G"];
        let error = message(run("large", same, &words), 2);
        assert!(
            error.contains("12180258816 bytes") && error.contains("--max-memory"),
            "{error}"
        );
        assert!(started.elapsed().as_secs() < 2, "they were made");
    }

    #[test]
    fn a_kernel_without_a_bound_still_has_its_counters() {
        // A tile of 4096 x 4096, most of which the kernel leaves alone.
        let change = |text: String| {
            text.replace(
                "gemm_launch[24] = {8, 0, 0, 0, 16, 0, 0, 0,",
                "gemm_launch[24] = {0, 16, 0, 0, 0, 16, 0, 0,",
            )
        };
        let mut out = Vec::new();
        let words = ["profile", "--size", "16"];
        assert!(!run_into("large", change, &words, &mut out).expect("it runs"));
        let out = String::from_utf8(out).expect("text");
        assert!(
            out.contains("executions") && out.contains("no bound for 4096x4096x4096: its tile"),
            "{out}"
        );
    }

    #[test]
    fn json_is_one_object_with_the_promised_fields() {
        for command in ["run", "profile", "sanitize"] {
            let mut out = Vec::new();
            assert!(
                run_into(
                    "json",
                    same,
                    &[command, "--size", "16x16x8", "--json"],
                    &mut out
                )
                .expect("it runs")
            );
            let json: serde_json::Value = serde_json::from_slice(&out).expect("one object");
            assert_eq!(
                (&json["rung"], &json["device"]),
                (&"00_tiny".into(), &"emulator".into())
            );
            assert_eq!(
                (&json["arch"], &json["size"]),
                (&"sm_80".into(), &"16x16x8".into())
            );
            assert_eq!(
                (&json["seed"], &json["time"]),
                (&0.into(), &serde_json::Value::Null)
            );
            assert_eq!(json["verify"]["ok"], true);
            assert_eq!(json["verify"]["checked"], 256);
            assert_eq!(json["verify"]["first_wrong"], serde_json::json!([]));
            assert!(json["verify"]["max_error"].as_f64() <= json["verify"]["bound"].as_f64());
            assert_eq!(json["c_sha256"].as_str().map(str::len), Some(64));
            assert!(json["counters"]["global_requests"].as_u64() > Some(0));
            let lines = json["counters"]["lines"].as_array().expect("a list");
            let counters = &json["counters"];
            for counter in [
                "shared_wavefronts",
                "shared_wavefronts_ideal",
                "bank_conflicts",
                "global_sectors",
                "global_requests",
            ] {
                let sum: u64 = lines.iter().filter_map(|line| line[counter].as_u64()).sum();
                assert_eq!(Some(sum), counters[counter].as_u64(), "{counter}");
            }
            assert_eq!(json.get("findings").is_some(), command == "sanitize");
            assert_eq!(json.get("bound").is_some(), command == "profile");
            assert_eq!(json.get("waits").is_some(), command == "profile");
            if command == "profile" {
                let bound = &json["bound"];
                assert_eq!(bound["size"], "4096x4096x4096");
                assert_eq!(bound["measured"], serde_json::Value::Null);
                let resources = bound["resources"].as_array().expect("a list");
                let slowest = resources
                    .iter()
                    .filter(|one| one["limits"] == true)
                    .max_by(|a, b| {
                        a["clocks"]
                            .as_f64()
                            .partial_cmp(&b["clocks"].as_f64())
                            .expect("numbers")
                    })
                    .expect("a resource");
                assert_eq!(bound["limited_by"], slowest["resource"]);
                assert_eq!(bound["tflops"], slowest["tflops"]);
            }
        }
    }

    #[test]
    fn what_is_no_ptx_is_refused() {
        for (name, text) in [
            ("empty", ""),
            ("prose", "This is not PTX.\n"),
            ("binary", "\u{0}\u{7f}ELF\u{1}"),
        ] {
            let message = message(run(name, |_| text.into(), &[]), 2);
            assert!(message.contains("PTX"), "{message}");
        }
    }

    #[test]
    fn an_unknown_instruction_is_refused_by_name() {
        let change = |text: String| text.replace("fma.rn.f32", "frobnicate.f32");
        let message = message(run("unknown", change, &[]), 2);
        assert!(message.contains("frobnicate"), "{message}");
    }

    #[test]
    fn a_kernel_of_another_name_is_refused() {
        let message = message(
            run(
                "name",
                |text| text.replace(".entry gemm(", ".entry gemv("),
                &[],
            ),
            2,
        );
        assert!(
            message.contains("gemm") && message.contains("gemv"),
            "{message}"
        );
    }

    #[test]
    fn other_parameters_are_refused() {
        let change =
            |text: String| text.replace(".param .u32 gemm_param_6", ".param .u64 gemm_param_6");
        let message = message(run("parameters", change, &[]), 2);
        assert!(
            message.contains("8, 8, 8, 4, 4, 4, 8") && message.contains("int half_only"),
            "{message}"
        );
    }

    #[test]
    fn a_kernel_that_does_not_state_its_launch_is_refused() {
        let renamed = message(
            run(
                "launch",
                |text| text.replace("gemm_launch", "gemm_lunch"),
                &[],
            ),
            2,
        );
        assert!(renamed.contains("gemm_launch[] ="), "{renamed}");
        let zero = |text: String| text.replace("gemm_launch[24] = {8,", "gemm_launch[24] = {0,");
        let zero = message(run("zero", zero, &[]), 2);
        assert!(zero.contains("BM = 0"), "{zero}");
    }

    #[test]
    fn too_much_is_refused() {
        for (words, expected) in [
            (["--size", "2147483647"], "too large"),
            (["--size", "1x1x2147483647"], "too large"),
            (["--max-memory", "1K"], "--max-memory"),
            (["--max-blocks", "1"], "--max-blocks"),
        ] {
            let message = message(run("much", same, &words), 2);
            assert!(message.contains(expected), "{words:?}: {message}");
        }
        let stopped = message(run("stopped", same, &["--max-instructions", "10"]), 1);
        assert!(stopped.contains("--max-instructions"), "{stopped}");
    }

    #[test]
    fn another_arch_than_the_files_is_refused() {
        let message = message(run("arch", same, &["--arch", "sm_90a"]), 2);
        assert!(
            message.contains("sm_80") && message.contains("sm_90a"),
            "{message}"
        );
    }

    #[test]
    fn without_a_gpu_what_needs_one_is_refused_with_the_remedy() {
        let bench = message(run("bench", same, &["bench"]), 2);
        assert!(bench.contains("profile"), "{bench}");
        if gpu::devices().is_err() {
            for command in ["run", "profile"] {
                let gpu = message(run("gpu", same, &[command, "--device", "gpu"]), 2);
                assert!(gpu.contains("--device emulator"), "{gpu}");
            }
        }
        let sanitize = message(
            run("sanitize-gpu", same, &["sanitize", "--device", "gpu"]),
            2,
        );
        assert!(sanitize.contains("emulator"), "{sanitize}");
    }
}
