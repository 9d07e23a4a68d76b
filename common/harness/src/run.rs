//! One problem of one size: launched, verified, and on a GPU timed.
use std::mem::discriminant;
use std::rc::Rc;

use emulator::{Card, Finding, LaunchReport, Limits, Options};
use half::f16;

use crate::bench::{self, Effort, Time};
use crate::bound::{self, Bound};
use crate::device::LaunchConfig;
use crate::host::Finished;
use crate::predict::Prediction;
use crate::provenance::{OnGpu, Provenance};
use crate::{
    Error, Host, Kernel, KernelChoice, Result, Rung, Settings, Size, Source, Target, Verification,
    choose, other_sizes, verify,
};

/// The result of a run.
pub struct Outcome<'a> {
    /// The rung.
    pub rung: &'a Rung,
    /// The settings.
    pub settings: &'a Settings,
    /// The device.
    pub target: &'a Target,
    /// The kernel's source.
    pub kernel: Rc<Kernel>,
    /// Its launch.
    pub config: LaunchConfig,
    /// The problem.
    pub size: Size,
    /// The problem, rounded up to whole tiles.
    pub padded: Size,
    /// Whether C is right.
    pub verification: Verification,
    /// The SHA-256 of C, in 64 hexadecimal digits.
    pub c_sha256: String,
    /// The values that the kernel logged, if it logs clocks.
    pub clocks: Option<Vec<u64>>,
    /// What the emulator counted.
    pub emulated: Option<LaunchReport>,
    /// The timing, on a GPU.
    pub time: Option<Time>,
    /// For a plain run, the predicted time, or why there is none.
    pub predicted: Option<std::result::Result<Prediction, String>>,
    /// What limits the kernel on a full card, if requested, or why there is no bound.
    pub bound: Option<Result<Bound>>,
    /// The provenance of the numbers.
    pub provenance: Provenance,
}

/// Checks that a repeated launch produced the bits of the first.
fn same_bits(repeat: u32, first: &[f16], again: &[f16]) -> Result<()> {
    let differs = |(a, b): &(&f16, &f16)| a.to_bits() != b.to_bits();
    match first.iter().zip(again).filter(differs).count() {
        0 => Ok(()),
        elements => Err(Error::Unsteady {
            run: repeat + 1,
            elements,
        }),
    }
}

/// Runs the rung's kernel, compiled to `source`, on the emulator: as often as the settings require, each time under another
/// schedule.
///
/// # Errors
/// If it cannot be launched; if the kernel has a fault, unless the settings request a report; if repetitions differ.
pub fn on_emulator<'a>(
    rung: &'a Rung,
    settings: &'a Settings,
    target: &'a Target,
    source: Source,
) -> Result<Outcome<'a>> {
    let mut host = Host::new(rung, settings, target, Some(source))?;
    let schedule = settings.emulator.schedule;
    let first = host.run_as(schedule)?;
    let mut report = first.report.clone().unwrap_or_default();
    for repeat in 1..settings.runs {
        let again = host.run_as(schedule.wrapping_add(repeat.into()))?;
        let known = |finding: &Finding| {
            report.findings.iter().any(|one| {
                discriminant(&one.kind) == discriminant(&finding.kind)
                    && one.location.instruction == finding.location.instruction
            })
        };
        let found = again.report.unwrap_or_default().findings.into_iter();
        let new: Vec<_> = found.filter(|finding| !known(finding)).collect();
        report.findings.extend(new);
        if report.findings.is_empty() {
            same_bits(repeat, &first.c, &again.c)?;
        }
    }
    if !settings.emulator.sanitize && !report.findings.is_empty() {
        let findings = report.findings.iter().map(ToString::to_string);
        return Err(Error::Fault(findings.collect()));
    }
    let mut outcome = outcome(rung, settings, target, &first);
    if settings.emulator.sanitize && report.findings.is_empty() {
        let spec = first.kernel.spec;
        other_sizes::propose(rung, settings, target, &mut host, &mut report, &spec);
    }
    outcome.emulated = Some(report);
    Ok(outcome)
}

/// What limits the kernel at the size that a GPU runs by default, and the measurement of the GPU `beside`.
///
/// The outer error is the GPU's. A kernel without a bound still has its counters.
///
/// # Errors
/// If the kernel fails on the GPU.
pub fn bound(
    rung: &Rung,
    settings: &Settings,
    target: &Target,
    beside: Option<&Target>,
) -> Result<Result<Bound>> {
    // The user's limits apply to the run that the user sees, and at this size another of the kernel's tiles may be
    // the best.
    let settings = Settings {
        size: Target::FULL,
        runs: 1,
        instructions: None,
        emulator: Options {
            limits: Limits::default(),
            sanitize: false,
            patterns: false,
            ..settings.emulator.clone()
        },
        ..settings.clone()
    };
    if target.emulated() == Some(Card::A100) {
        let why = "no ceilings of an A100 are recorded; `cargo ladder ceilings` records a GPU's";
        return Ok(Err(Error::NoBound(Target::FULL, why.into())));
    }
    let mut bound = Bound::new(rung, &settings, target);
    if let (Some(gpu), Ok(bound)) = (beside, &mut bound) {
        let outcome = on_gpu(rung, &settings, gpu, Some(Effort::Run))?;
        if !outcome.verification.ok() {
            let wrong = outcome.verification.wrong;
            let why = format!("{}: {wrong} wrong elements of C on the GPU", Target::FULL);
            return Err(Error::Fault(vec![why]));
        }
        bound.measured = outcome.time.map(|time| bound::Measured {
            gpu: outcome
                .provenance
                .gpu
                .map_or_else(String::new, |gpu| gpu.name),
            tflops: time.tflops,
            of_cublas: time.of_cublas,
            resources: time.resources,
        });
    }
    Ok(bound)
}

/// The architecture of the kernel that `settings` choose on this device.
///
/// # Errors
/// If there is no such kernel.
pub fn arch(rung: &Rung, choice: &KernelChoice, target: &Target) -> Result<String> {
    Ok(choose::source(rung, target, choice, Target::FULL)?.arch)
}

/// Launches on a GPU, verifies, and times only a kernel with a correct C. Without `effort` no other kernel is
/// launched, not even cuBLAS's.
///
/// # Errors
/// If it cannot be launched, or repetitions differ.
pub fn on_gpu<'a>(
    rung: &'a Rung,
    settings: &'a Settings,
    target: &'a Target,
    effort: Option<Effort>,
) -> Result<Outcome<'a>> {
    let mut host = Host::new(rung, settings, target, None)?;
    let first = host.run()?;
    for repeat in 1..settings.runs {
        same_bits(repeat, &first.c, &host.run()?.c)?;
    }
    let mut outcome = outcome(rung, settings, target, &first);
    let info = host.gpu()?.info().clone();
    let Some(effort) = effort else {
        outcome.provenance.gpu = Some(OnGpu::new(&info, None));
        return Ok(outcome);
    };
    let cublas = match (gpu::Cublas::new(host.gpu()?), effort) {
        (Ok(cublas), _) => Some(cublas),
        // With an effort, a missing cuBLAS is an error.
        (Err(error), Effort::Bench | Effort::Alone) => return Err(error.into()),
        (Err(_), Effort::Run) => None,
    };
    if let Some(cublas) = &cublas {
        outcome.verification = bench::verify(host.gpu()?, cublas, outcome.verification, &first)?;
    }
    let mut on_gpu = OnGpu::new(&info, cublas.as_ref().map(gpu::Cublas::version));
    if outcome.verification.ok() {
        let (time, sensors) = bench::time(&mut host, cublas.as_ref(), first, effort)?;
        on_gpu = on_gpu.with(sensors);
        outcome.time = Some(time);
    }
    outcome.provenance.gpu = Some(on_gpu);
    Ok(outcome)
}

/// Compares C with the reference; times nothing.
fn outcome<'a>(
    rung: &'a Rung,
    settings: &'a Settings,
    target: &'a Target,
    finished: &Finished,
) -> Outcome<'a> {
    let Finished {
        kernel,
        problem,
        launch,
        c,
        clocks,
        ..
    } = finished;
    Outcome {
        rung,
        settings,
        target,
        config: launch.config,
        size: problem.size,
        padded: problem.padded,
        verification: verify(problem, kernel.spec.tile, c),
        c_sha256: problem.c_sha256(c),
        clocks: clocks.clone(),
        emulated: None,
        time: None,
        predicted: None,
        bound: None,
        provenance: Provenance::new(kernel),
        kernel: Rc::clone(kernel),
    }
}
