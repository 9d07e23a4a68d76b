//! One problem of one size: launched, verified, and on a GPU timed.
use std::mem::discriminant;

use emulator::{Card, Finding};
use half::f16;

use crate::arguments::Arguments;
use crate::bench::{self, Effort, Time};
use crate::bound::{self, Bound};
use crate::device::Device;
use crate::on_gpu::Session;
use crate::problem::pad;
use crate::provenance::{OnGpu, Provenance};
use crate::{Error, Kernel, Problem, Result, Rung, Size, Verification, on_emulator, verify};

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
pub struct Run<'a> {
    pub rung: &'a Rung,
    pub arguments: &'a Arguments,
    pub device: &'a Device,
    pub kernel: &'a Kernel,
}

impl<'a> Run<'a> {
    pub fn on_emulator(&self, size: Size, sanitize: bool) -> Result<Outcome<'a>> {
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
    pub fn bound(&self) -> Result<Result<Bound>> {
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
    pub fn on_gpu(
        &self,
        session: &Session,
        size: Size,
        effort: Option<Effort>,
    ) -> Result<Outcome<'a>> {
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
