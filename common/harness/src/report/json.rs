//! The object that `--json` prints.
use emulator::{Card, Instruction};
use serde::Serialize;

use crate::bound::Bound;
use crate::lines::{by_line, sum};
use crate::provenance::Provenance;
use crate::report::schema;
use crate::run::Outcome;
use crate::sanitize::{self, Remark};
use crate::{KernelFile, Rung, Size, Source, Verification, Wrong, accesses, bench, report, waits};

/// One run.
#[derive(Serialize)]
struct Report<'a> {
    rung: &'a str,
    device: String,
    /// The emulated GPU; null on a GPU.
    emulates: Option<Emulates>,
    arch: &'a str,
    /// The tile of C that a block computes at a time.
    tile: String,
    kernels: Vec<Choice<'a>>,
    size: String,
    seed: u64,
    time: Option<&'a bench::Time>,
    provenance: &'a Provenance,
    verify: Verify<'a>,
    counters: Option<Counters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Option<&'a Bound>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<Vec<waits::LineWaits>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accesses: Option<Vec<accesses::InstructionAccesses>>,
    c_sha256: &'a str,
    runs: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Vec<String>>,
    /// Warnings and notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<Remark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_log: Option<&'a [u64]>,
    /// The output of the kernel's printf.
    #[serde(skip_serializing_if = "String::is_empty")]
    printed: String,
}

/// The emulated card.
#[derive(Serialize)]
struct Emulates {
    card: &'static str,
    /// The evidence for its tensor cores' arithmetic.
    tensor_cores: &'static str,
}

impl From<Card> for Emulates {
    fn from(card: Card) -> Self {
        Self {
            card: card.name(),
            tensor_cores: card.evidence(),
        }
    }
}

/// A kernel of the rung, as `--arch` and `--tile` name it.
#[derive(Serialize)]
struct Choice<'a> {
    arch: &'a str,
    tile: Option<String>,
}

/// The tile that a rung takes at each size.
#[derive(Serialize)]
struct Tiles<'a> {
    rung: &'a str,
    arch: &'a str,
    multiprocessors: u32,
    choices: Vec<SizedChoice>,
}

#[derive(Serialize)]
struct SizedChoice {
    size: String,
    tile: String,
}

/// One `bench`: several sizes.
#[derive(Serialize)]
struct Bench<'a> {
    rung: &'a str,
    device: String,
    arch: &'a str,
    seed: u64,
    sizes: Vec<Report<'a>>,
}

#[derive(Serialize)]
struct Verify<'a> {
    ok: bool,
    checked: u64,
    max_error: f64,
    bound: f64,
    first_wrong: &'a [Wrong],
}

/// The launch's totals, and each line that accesses memory.
#[derive(Serialize)]
struct Counters {
    shared_wavefronts: u64,
    shared_wavefronts_ideal: u64,
    bank_conflicts: u64,
    global_sectors: u64,
    global_requests: u64,
    lines: Vec<Line>,
}

/// A line that accesses memory.
#[derive(Serialize)]
pub struct Line {
    line: u32,
    executions: u64,
    shared_wavefronts: u64,
    shared_wavefronts_ideal: u64,
    bank_conflicts: u64,
    global_sectors: u64,
    global_sectors_ideal: u64,
    global_requests: u64,
}

/// One run as JSON; with the findings, if they were requested.
pub fn text(outcome: &Outcome, findings: Option<Vec<String>>) -> String {
    schema::RUN.pretty(&report(outcome, findings))
}

/// Runs of one rung at several sizes as JSON.
pub fn bench(outcomes: &[Outcome]) -> String {
    let Some(first) = outcomes.first() else {
        return "{}\n".into();
    };
    let sizes = outcomes.iter().map(|outcome| report(outcome, None));
    schema::BENCH.pretty(&Bench {
        rung: first.rung.name,
        device: first.target.name(),
        arch: &first.kernel.source.arch,
        seed: first.settings.seed,
        sizes: sizes.collect(),
    })
}

/// The tile that a rung's kernel takes at each size.
pub fn tiles(rung: &Rung, sms: u32, choices: &[(Size, &KernelFile)]) -> String {
    let choice = |(size, kernel): &(Size, &KernelFile)| SizedChoice {
        size: size.to_string(),
        tile: kernel.tile(),
    };
    schema::TILES.pretty(&Tiles {
        rung: rung.name,
        arch: choices.first().map_or("", |(_, kernel)| kernel.arch),
        multiprocessors: sms,
        choices: choices.iter().map(choice).collect(),
    })
}

fn report<'a>(outcome: &'a Outcome, findings: Option<Vec<String>>) -> Report<'a> {
    Report {
        rung: outcome.rung.name,
        device: outcome.target.name(),
        emulates: outcome.target.emulated().map(Emulates::from),
        arch: &outcome.kernel.source.arch,
        tile: format!(
            "{}x{}",
            outcome.kernel.spec.tile.bm, outcome.kernel.spec.tile.bn
        ),
        kernels: choices(outcome.rung),
        size: outcome.size.to_string(),
        seed: outcome.settings.seed,
        time: outcome.time.as_ref(),
        provenance: &outcome.provenance,
        verify: verify(&outcome.verification),
        counters: outcome
            .emulated
            .as_ref()
            .filter(|run| !run.counters.is_empty()) // empty after a fatal finding
            .map(|run| counters(outcome, &run.counters)),
        bound: outcome.bound.as_ref().map(|bound| bound.as_ref().ok()),
        waits: waits(outcome),
        accesses: accesses(outcome),
        c_sha256: &outcome.c_sha256,
        runs: outcome.settings.runs,
        findings,
        remarks: sanitize::remarks(outcome)
            .iter()
            .map(Remark::from)
            .collect(),
        clock_log: outcome.clocks.as_deref(),
        printed: report::printed(outcome),
    }
}

/// `profile` shows the waits, and only `profile` computes a bound.
fn waits(outcome: &Outcome) -> Option<Vec<waits::LineWaits>> {
    let (Some(run), Some(_)) = (&outcome.emulated, &outcome.bound) else {
        return None;
    };
    let instructions = outcome.kernel.function.instructions();
    Some(waits::rows(
        &outcome.kernel.source,
        instructions,
        &run.waits,
    ))
}

fn accesses(outcome: &Outcome) -> Option<Vec<accesses::InstructionAccesses>> {
    let (Some(run), true) = (&outcome.emulated, outcome.settings.emulator.patterns) else {
        return None;
    };
    let instructions = outcome.kernel.function.instructions();
    Some(accesses::rows(&outcome.kernel, instructions, run))
}

fn choices(rung: &Rung) -> Vec<Choice<'static>> {
    let several = |file| rung.tiles_of(file).count() > 1;
    let choice = |kernel: &KernelFile<'static>| Choice {
        arch: kernel.arch,
        tile: several(kernel.file).then(|| kernel.tile()),
    };
    rung.kernels.iter().map(choice).collect()
}

fn verify(found: &Verification) -> Verify<'_> {
    Verify {
        ok: found.ok(),
        checked: found.checked,
        max_error: found.max_error,
        bound: found.bound,
        first_wrong: &found.first_wrong,
    }
}

fn counters(outcome: &Outcome, counters: &[emulator::Counters]) -> Counters {
    let all = sum(counters);
    let instructions = outcome.kernel.function.instructions();
    Counters {
        shared_wavefronts: all.shared.wavefronts,
        shared_wavefronts_ideal: all.shared.ideal,
        bank_conflicts: all.shared.conflicts,
        global_sectors: all.global_sectors,
        global_requests: all.global_requests,
        lines: lines(&outcome.kernel.source, instructions, counters),
    }
}

/// Each line that accesses memory, with its counters.
pub fn lines(
    source: &Source,
    instructions: &[Instruction],
    counters: &[emulator::Counters],
) -> Vec<Line> {
    let lines = by_line(source, instructions, counters);
    let line = |(number, line): (&u32, &crate::lines::Line)| Line {
        line: *number,
        executions: line.counters.executions,
        shared_wavefronts: line.counters.shared.wavefronts,
        shared_wavefronts_ideal: line.counters.shared.ideal,
        bank_conflicts: line.counters.shared.conflicts,
        global_sectors: line.counters.global_sectors,
        global_sectors_ideal: line.counters.global_sectors_ideal,
        global_requests: line.counters.global_requests,
    };
    lines.iter().map(line).collect()
}
