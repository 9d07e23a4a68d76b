//! The object that `--json` prints.
use emulator::{Card, Instruction};
use serde::Serialize;

use crate::bound::Bound;
use crate::lines::{by_line, sum};
use crate::provenance::Provenance;
use crate::run::Outcome;
use crate::{KernelFile, Result, Rung, Source, Verification, Wrong, accesses, bench, waits};

/// One run.
#[derive(Serialize)]
struct Report<'a> {
    rung: &'a str,
    device: String,
    /// The GPU that the emulator stood for; none on a GPU.
    emulates: Option<Emulates>,
    arch: &'a str,
    /// The part of C that a block computes at a time.
    tile: String,
    kernels: Vec<Choice<'a>>,
    size: String,
    seed: u64,
    time: Option<&'a bench::Time>,
    provenance: &'a Provenance,
    verify: Verify,
    counters: Option<Counters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Option<&'a Bound>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<Vec<waits::Row>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accesses: Option<Vec<accesses::Row>>,
    c_sha256: &'a str,
    runs: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Vec<String>>,
}

/// Whose results these are.
#[derive(Serialize)]
struct Emulates {
    card: &'static str,
    /// How it is known what its tensor cores compute.
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

/// A kernel of the rung: what `--arch` and `--tile` choose from.
#[derive(Serialize)]
struct Choice<'a> {
    arch: &'a str,
    tile: Option<String>,
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
struct Verify {
    ok: bool,
    checked: u64,
    max_error: f64,
    bound: f64,
    first_wrong: Vec<WrongElement>,
}

#[derive(Serialize)]
struct WrongElement {
    row: u32,
    col: u32,
    got: f64,
    want: f64,
    bound: f64,
}

/// The launch, added up, and each line that touches memory.
#[derive(Serialize)]
struct Counters {
    shared_wavefronts: u64,
    shared_wavefronts_ideal: u64,
    bank_conflicts: u64,
    global_sectors: u64,
    global_requests: u64,
    lines: Vec<Line>,
}

/// A line that touches memory.
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

/// One run as JSON; with what was found wrong, if that was asked for.
pub fn text(outcome: &Outcome, findings: Option<Vec<String>>) -> Result<String> {
    Ok(pretty(&report(outcome, findings)?))
}

/// Runs of one rung at several sizes as JSON.
pub fn bench(outcomes: &[Outcome]) -> Result<String> {
    let sizes = outcomes
        .iter()
        .map(|outcome| report(outcome, None))
        .collect::<Result<Vec<_>>>()?;
    let Some(first) = outcomes.first() else {
        return Ok("{}\n".into());
    };
    Ok(pretty(&Bench {
        rung: first.rung.name,
        device: first.device.flag(),
        arch: &first.kernel.source.arch,
        seed: first.arguments.seed,
        sizes,
    }))
}

fn report<'a>(outcome: &'a Outcome, findings: Option<Vec<String>>) -> Result<Report<'a>> {
    Ok(Report {
        rung: outcome.rung.name,
        device: outcome.device.flag(),
        emulates: outcome.device.emulated().map(Emulates::from),
        arch: &outcome.kernel.source.arch,
        tile: format!(
            "{}x{}",
            outcome.kernel.launch.tile.bm, outcome.kernel.launch.tile.bn
        ),
        kernels: choices(outcome.rung),
        size: outcome.size.to_string(),
        seed: outcome.arguments.seed,
        time: outcome.time.as_ref(),
        provenance: &outcome.provenance,
        verify: verify(&outcome.verification),
        counters: outcome
            .emulated
            .as_ref()
            .filter(|run| !run.counters.is_empty()) // none after a fatal finding
            .map(|run| counters(outcome, &run.counters))
            .transpose()?,
        bound: outcome.bound.as_ref().map(|bound| bound.as_ref().ok()),
        waits: waits(outcome)?,
        accesses: accesses(outcome)?,
        c_sha256: &outcome.c_sha256,
        runs: outcome.arguments.runs,
        findings,
    })
}

/// What `profile` shows, and only `profile` asks for a bound.
fn waits(outcome: &Outcome) -> Result<Option<Vec<waits::Row>>> {
    let (Some(run), Some(_)) = (&outcome.emulated, &outcome.bound) else {
        return Ok(None);
    };
    let instructions = outcome.kernel.program()?.instructions();
    Ok(Some(waits::rows(
        &outcome.kernel.source,
        instructions,
        &run.waits,
    )))
}

fn accesses(outcome: &Outcome) -> Result<Option<Vec<accesses::Row>>> {
    let (Some(run), true) = (&outcome.emulated, outcome.arguments.accesses) else {
        return Ok(None);
    };
    let instructions = outcome.kernel.program()?.instructions();
    Ok(Some(accesses::rows(outcome.kernel, instructions, run)))
}

fn choices(rung: &Rung) -> Vec<Choice<'static>> {
    let several = |file| rung.configurations(file).count() > 1;
    let choice = |kernel: &KernelFile<'static>| Choice {
        arch: kernel.arch,
        tile: several(kernel.file).then(|| kernel.tile()),
    };
    rung.kernels.iter().map(choice).collect()
}

/// A value as an indented object.
pub fn pretty(value: &impl Serialize) -> String {
    // Serialising plain structs cannot fail: no map with keys other than strings.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn verify(found: &Verification) -> Verify {
    let wrong = |w: &Wrong| WrongElement {
        row: w.row,
        col: w.col,
        got: w.got,
        want: w.want,
        bound: w.bound,
    };
    Verify {
        ok: found.ok(),
        checked: found.checked,
        max_error: found.max_error,
        bound: found.bound,
        first_wrong: found.first_wrong.iter().map(wrong).collect(),
    }
}

fn counters(outcome: &Outcome, counters: &[emulator::Counters]) -> Result<Counters> {
    let all = sum(counters);
    let instructions = outcome.kernel.program()?.instructions();
    Ok(Counters {
        shared_wavefronts: all.shared.wavefronts,
        shared_wavefronts_ideal: all.shared.ideal,
        bank_conflicts: all.shared.conflicts,
        global_sectors: all.global_sectors,
        global_requests: all.global_requests,
        lines: lines(&outcome.kernel.source, instructions, counters),
    })
}

/// Each line that touches memory, with its counters.
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
