//! Whether C is right for the right reason: what the memory did, instructions, bytes of shared memory.
use std::collections::BTreeMap;

use emulator::{AccessPattern, Counters};
use harness::{Launched, lines, thousands};

use super::conflict::{self, Conflict};
use super::gap::{self, Gap};
use super::judge::LaunchResults;
use super::plan::PlannedLaunch;
use super::rubric::{AssignmentKind, Measure, What};
use super::{Complaint, NO_MISTAKE, instruction, pipeline};

/// Lines that are complained about; the rest are mostly the same mistake again.
const SHOWN: usize = 4;

/// Bytes of an element, of a sector, and of all banks, which a wavefront reaches once.
const ELEMENT: u64 = 2;
const SECTOR: u64 = 32;
const WAVEFRONT: u64 = 128;

/// What a measure found: its number, the same in words, and what is wrong.
pub struct Measured {
    pub number: f64,
    pub words: String,
    pub complaints: Vec<Complaint>,
}

impl Measured {
    /// With one complaint where the number has not all the credit.
    pub fn new(measure: &Measure, number: f64, words: String, mistake: &str) -> Self {
        let complaint = Complaint::new(words.as_str(), &measure.hint, mistake);
        let complaints = (measure.credit(number) < 1.0).then_some(complaint);
        Self {
            number,
            words,
            complaints: complaints.into_iter().collect(),
        }
    }
}

/// The part of the points that it has, why, and what is wrong.
///
/// Where C is wrong the kernel may have ended early, so nobody counts its instructions.
pub fn judge(all: &LaunchResults, sound: bool) -> (f64, Vec<String>, Vec<Complaint>) {
    let mut credit: f64 = 1.0;
    let (mut why, mut complaints) = (Vec::new(), Vec::new());
    for measure in &all.rubric.measure {
        let mut measured = match measure.what {
            What::SharedWavefronts | What::GlobalSectors => by_instruction(measure, all),
            What::GlobalTraffic | What::SharedTraffic => traffic(measure, all),
            What::CopiesAhead => pipeline::copies_ahead(measure, all),
            What::BoxBytes => pipeline::box_bytes(measure, all),
        };
        credit = credit.min(measure.credit(measured.number));
        why.push(measured.words);
        complaints.append(&mut measured.complaints);
    }
    if let Some(complaint) = shared_bytes(all, &mut why) {
        credit = 0.0;
        complaints.push(complaint);
    }
    if sound {
        for (what, hint) in instruction::judge(all) {
            credit = 0.0;
            why.push(what.clone());
            complaints.push(Complaint::new(what, hint, NO_MISTAKE));
        }
    }
    (credit, why, complaints)
}

/// Whether each tile's block keeps within its bytes; says how many the first has.
fn shared_bytes(all: &LaunchResults, why: &mut Vec<String>) -> Option<Complaint> {
    for (index, (launch, _)) in all.done.iter().enumerate() {
        let bytes = all.trial(launch).shared_bytes();
        let allowed = all.rubric.tile[launch.tile].shared_bytes;
        if index == 0 {
            why.push(format!(
                "{} bytes of shared memory, {} are allowed",
                thousands(bytes),
                thousands(allowed)
            ));
        }
        if bytes > allowed {
            let block = match launch.tile {
                0 => "a block",
                _ => "with another tile, a block",
            };
            let what = format!(
                "{block} has {} bytes of shared memory, {} more than allowed",
                thousands(bytes),
                thousands(bytes - allowed)
            );
            let hint = "what do the bytes beyond that hold, and does it take them?";
            return Some(Complaint::new(what, hint, "over-padding"));
        }
    }
    None
}

/// What an instruction was asked for and did: (done, ideal).
fn done_and_ideal(what: What, counters: &Counters) -> (u64, u64) {
    match what {
        What::GlobalSectors => (counters.global_sectors, counters.global_sectors_ideal),
        _ => (counters.shared.wavefronts, counters.shared.ideal),
    }
}

/// The worst quotient of any instruction at any size, and its lines at the first size that shows it.
fn by_instruction(measure: &Measure, all: &LaunchResults) -> Measured {
    let mut degree: f64 = 1.0;
    let mut complaints = Vec::new();
    for (launch, one) in &all.done {
        for counters in &one.run.counters {
            let (done, ideal) = done_and_ideal(measure.what, counters);
            if ideal > 0 {
                degree = degree.max(done as f64 / ideal as f64);
            }
        }
        if measure.credit(degree) >= 1.0 || !complaints.is_empty() {
            continue;
        }
        complaints = match launch.hidden {
            true => vec![Complaint::new(
                "the mechanism fails at a hidden size, and at none of the public ones",
                "what lies elsewhere there than at any public size?",
                "wrong-for-other-sizes",
            )],
            false => by_line(measure, all, launch, one),
        };
    }
    let (what, ideal) = match measure.what {
        What::GlobalSectors => ("sectors", "that could hold its bytes"),
        _ => ("wavefronts", "that are ideal"),
    };
    Measured {
        number: degree,
        words: format!("the worst access takes {degree:.2} times the {what} {ideal}"),
        complaints,
    }
}

/// What a line did, and its worst access.
#[derive(Default)]
struct LineCost<'a> {
    done: u64,
    ideal: u64,
    opcode: &'a str,
    conflict: Option<Conflict>,
    gap: Option<Gap>,
}

fn by_line(
    measure: &Measure,
    all: &LaunchResults,
    launch: &PlannedLaunch,
    one: &Launched,
) -> Vec<Complaint> {
    let trial = all.trial(launch);
    let mut found = BTreeMap::<u32, LineCost>::new();
    let counted = trial.instructions().iter().zip(&one.run.counters);
    for (index, (instruction, counters)) in counted.enumerate() {
        let (done, ideal) = done_and_ideal(measure.what, counters);
        let quotient = done as f64 / ideal.max(1) as f64;
        if done <= ideal || measure.credit(quotient) >= 1.0 {
            continue;
        }
        let is_it = |asked: &&AccessPattern| asked.instruction == index;
        let patterns = || one.run.patterns.iter().filter(is_it);
        let line = lines::line_of(trial.source(), instruction).unwrap_or_default();
        let cost = found.entry(line).or_insert_with(|| LineCost {
            opcode: &instruction.opcode,
            ..LineCost::default()
        });
        cost.done += done;
        cost.ideal += ideal;
        let conflict = || conflict::worst(patterns(), &instruction.opcode);
        cost.conflict = cost.conflict.take().or_else(conflict);
        cost.gap = cost.gap.take().or_else(|| gap::worst(patterns()));
    }
    let code = trial.source().text.as_deref().unwrap_or_default();
    let shown = found.into_iter().take(SHOWN);
    let complaints = shown.map(|(line, cost)| at_line(measure, code, line, cost));
    complaints.collect()
}

fn at_line(measure: &Measure, code: &str, line: u32, cost: LineCost) -> Complaint {
    let opcode = cost.opcode;
    let code = code.lines().nth((line as usize).saturating_sub(1));
    let is_global = measure.what == What::GlobalSectors;
    let what = if is_global { "sectors" } else { "wavefronts" };
    let mut words = format!(
        "line {line}: {}\n  {opcode}: {} {what}, {} would do",
        code.unwrap_or_default().trim(),
        thousands(cost.done),
        thousands(cost.ideal)
    );
    if let Some((one, other, bank)) = cost.conflict.as_ref().and_then(|found| found.lanes) {
        words += &format!(
            "\n  lanes {one} and {other} are served together and want different words of bank {bank}"
        );
    }
    if let (true, Some(gap)) = (is_global, &cost.gap) {
        words += &format!("\n  {gap}");
    }
    let mistake = match opcode.split('.').next() {
        _ if is_global => "uncoalesced",
        Some("ldmatrix") => "conflicts-on-ldmatrix",
        Some("ld") => "conflicts-on-loads",
        _ => "conflicts-on-stores",
    };
    Complaint {
        player: cost.conflict.map(|found| found.player),
        ..Complaint::new(words, &measure.hint, mistake)
    }
}

/// All sectors or wavefronts of a launch over those that its tiles fill.
fn traffic(measure: &Measure, all: &LaunchResults) -> Measured {
    let is_shared = measure.what == What::SharedTraffic;
    let of = |counters: &Counters| match is_shared {
        true => counters.shared.wavefronts * WAVEFRONT,
        false => counters.global_sectors * SECTOR,
    };
    let mut most: f64 = 0.0;
    for (launch, one) in &all.done {
        let bytes: u64 = one.run.counters.iter().map(of).sum();
        let tile = all.rubric.tile[launch.tile];
        let [m, n, k] = [tile.m, tile.n, tile.k].map(u64::from);
        let [rows, columns, steps] = launch.tiles(all.rubric);
        let elements = match all.rubric.task {
            AssignmentKind::Gemm => steps * (m * k + k * n) + m * n,
            AssignmentKind::Transpose | AssignmentKind::Predict => 2 * m * n,
        };
        let ideal = rows * columns * elements * ELEMENT;
        most = most.max(bytes as f64 / ideal.max(1) as f64);
    }
    let (words, mistake) = match is_shared {
        true => (
            format!("all accesses take {most:.2} times the wavefronts that hold the tiles once"),
            "conflicts-on-loads",
        ),
        false => (
            format!("{most:.2} times the sectors that the tiles hold come and go"),
            "uncoalesced",
        ),
    };
    Measured::new(measure, most, words, mistake)
}
