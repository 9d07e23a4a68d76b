//! Whether C is right for the right reason: what the memory did, instructions, bytes of shared memory.
use std::collections::BTreeMap;

use anyhow::Result;
use emulator::{Asked, Counters, Instruction};
use harness::{Launched, lines, operation, thousands};

use super::Complaint;
use super::conflict::{Conflict, worst};
use super::gap::{self, Gap};
use super::hidden::Launch;
use super::instruction;
use super::judge::Launches;
use super::pipeline;
use super::rubric::{Measure, Part, Rubric, Task, What};

/// Lines that are complained about; the rest are mostly the same mistake again.
const SHOWN: usize = 4;

/// Bytes of an element, of a sector, and of all banks, which a wavefront reaches once.
const ELEMENT: u64 = 2;
const SECTOR: u64 = 32;
const WAVEFRONT: u64 = 128;

/// The part of the points that it has, why, and what is wrong.
///
/// Where C is wrong the kernel may have ended early, so nobody counts its instructions.
pub fn judge(
    rubric: &Rubric,
    part: &Part,
    all: &Launches,
    sound: bool,
) -> Result<(f64, Vec<String>, Vec<Complaint>)> {
    let mut credit: f64 = 1.0;
    let (mut why, mut complaints) = (Vec::new(), Vec::new());
    for measure in &rubric.measure {
        let (number, words, mut found) = match measure.what {
            What::SharedWavefronts | What::GlobalSectors => by_instruction(measure, all)?,
            What::GlobalTraffic | What::SharedTraffic => traffic(rubric, measure, all),
            What::CopiesAhead => pipeline::copies_ahead(rubric, measure, all)?,
            What::BoxBytes => pipeline::box_bytes(measure, all),
        };
        credit = credit.min(measure.credit(number));
        why.push(words);
        complaints.append(&mut found);
    }
    if let Some((what, hint, mistake)) = shared_bytes(rubric, all, &mut why)? {
        credit = 0.0;
        complaints.push(complaint(what, hint, mistake));
    }
    let found = match sound {
        true => instruction::judge(rubric, part, all)?,
        false => Vec::new(),
    };
    for (what, hint) in found {
        credit = 0.0;
        why.push(what.clone());
        complaints.push(complaint(what, &hint, "none-of-these"));
    }
    Ok((credit, why, complaints))
}

fn complaint(what: String, hint: &str, mistake: &str) -> Complaint {
    Complaint {
        what,
        hint: hint.into(),
        mistake: mistake.into(),
        player: None,
    }
}

/// Whether each tile's block keeps within its bytes.
fn shared_bytes(
    rubric: &Rubric,
    all: &Launches,
    why: &mut Vec<String>,
) -> Result<Option<(String, &'static str, &'static str)>> {
    for (launch, _) in &all.done {
        let (bytes, allowed) = (
            all.trial(launch).shared_bytes()?,
            rubric.tile[launch.tile].shared_bytes,
        );
        if why.iter().all(|line| !line.contains("of shared memory")) {
            why.push(format!(
                "{} bytes of shared memory, {} are allowed",
                thousands(bytes),
                thousands(allowed)
            ));
        }
        if bytes > allowed {
            let place = match launch.tile {
                0 => "a block",
                _ => "with another tile, a block",
            };
            let what = format!(
                "{place} has {} bytes of shared memory, {} more than allowed",
                thousands(bytes),
                thousands(bytes - allowed)
            );
            return Ok(Some((
                what,
                "what do the bytes beyond that hold, and does it take them?",
                "over-padding",
            )));
        }
    }
    Ok(None)
}

/// What an instruction was asked for and did: (done, ideal).
fn done_and_ideal(what: What, counters: &Counters) -> (u64, u64) {
    match what {
        What::GlobalSectors => (counters.global_sectors, counters.global_sectors_ideal),
        _ => (counters.shared.wavefronts, counters.shared.ideal),
    }
}

/// The worst quotient of any instruction at any size, and its lines at the first size that shows it.
fn by_instruction(measure: &Measure, all: &Launches) -> Result<(f64, String, Vec<Complaint>)> {
    let mut degree: f64 = 1.0;
    let mut complaints = Vec::new();
    for (launch, one) in &all.done {
        let instructions = all.trial(launch).instructions()?;
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
            true => vec![complaint(
                "the mechanism fails at a hidden size, and at none of the public ones".into(),
                "what lies elsewhere there than at any public size?",
                "wrong-for-other-sizes",
            )],
            false => at_lines(measure, all, launch, one, instructions),
        };
    }
    let (what, ideal) = match measure.what {
        What::GlobalSectors => ("sectors", "that could hold its bytes"),
        _ => ("wavefronts", "that are ideal"),
    };
    let words = format!("the worst access takes {degree:.2} times the {what} {ideal}");
    Ok((degree, words, complaints))
}

/// What a line did, and its worst access.
struct Line<'a> {
    done: u64,
    ideal: u64,
    text: &'a str,
    conflict: Option<Conflict>,
    gap: Option<Gap>,
}

fn at_lines(
    measure: &Measure,
    all: &Launches,
    launch: &Launch,
    one: &Launched,
    instructions: &[Instruction],
) -> Vec<Complaint> {
    let source = all.trial(launch).source();
    let mut found = BTreeMap::<u32, Line>::new();
    for (index, (instruction, counters)) in instructions.iter().zip(&one.run.counters).enumerate() {
        let (done, ideal) = done_and_ideal(measure.what, counters);
        let quotient = done as f64 / ideal.max(1) as f64;
        if done <= ideal || measure.credit(quotient) >= 1.0 {
            continue;
        }
        let line = lines::line_of(source, instruction).unwrap_or_default();
        let is_it = |asked: &&Asked| asked.instruction == index;
        let conflict = worst(
            one.run.patterns.iter().filter(is_it),
            &operation(&instruction.text),
        );
        let entry = found.entry(line).or_insert(Line {
            done: 0,
            ideal: 0,
            text: &instruction.text,
            conflict: None,
            gap: None,
        });
        entry.done += done;
        entry.ideal += ideal;
        if entry.conflict.is_none() {
            entry.conflict = conflict;
        }
        if entry.gap.is_none() {
            entry.gap = gap::worst(one.run.patterns.iter().filter(is_it));
        }
    }
    let code = source.text.as_deref().unwrap_or_default();
    let shown = found.into_iter().take(SHOWN);
    shown
        .map(|(line, sum)| at_line(measure, code, line, sum))
        .collect()
}

fn at_line(measure: &Measure, code: &str, line: u32, found: Line) -> Complaint {
    let operation = operation(found.text);
    let code = code
        .lines()
        .nth((line as usize).saturating_sub(1))
        .unwrap_or_default();
    let what = match measure.what {
        What::GlobalSectors => "sectors",
        _ => "wavefronts",
    };
    let mut words = format!(
        "line {line}: {}\n  {operation}: {} {what}, {} would do",
        code.trim(),
        thousands(found.done),
        thousands(found.ideal)
    );
    if let Some(([one, other], bank)) = found.conflict.as_ref().and_then(|found| found.meeting) {
        words += &format!(
            "\n  lanes {one} and {other} are served together and want different words of bank {bank}"
        );
    }
    if let (What::GlobalSectors, Some(gap)) = (measure.what, &found.gap) {
        words += &format!("\n  {gap}");
    }
    let mistake = match (measure.what, operation.split('.').next()) {
        (What::GlobalSectors, _) => "uncoalesced",
        (_, Some("ldmatrix")) => "conflicts-on-ldmatrix",
        (_, Some("ld")) => "conflicts-on-loads",
        _ => "conflicts-on-stores",
    };
    Complaint {
        what: words,
        hint: measure.hint.clone(),
        mistake: mistake.into(),
        player: found.conflict.map(|found| found.player),
    }
}

/// All sectors or wavefronts of a launch over those that its tiles fill.
fn traffic(rubric: &Rubric, measure: &Measure, all: &Launches) -> (f64, String, Vec<Complaint>) {
    let of = |counters: &Counters| match measure.what {
        What::SharedTraffic => counters.shared.wavefronts * WAVEFRONT,
        _ => counters.global_sectors * SECTOR,
    };
    let mut most: f64 = 0.0;
    for (launch, one) in &all.done {
        let bytes: u64 = one.run.counters.iter().map(of).sum();
        let tile = rubric.tile[launch.tile];
        let [m, n, k] = [tile.m, tile.n, tile.k].map(u64::from);
        let tiles = u64::from(launch.size.m).div_ceil(m) * u64::from(launch.size.n).div_ceil(n);
        let elements = match rubric.task {
            Task::Gemm => {
                let steps = u64::from(launch.size.k).div_ceil(k);
                tiles * (steps * (m * k + k * n) + m * n)
            }
            _ => tiles * 2 * m * n,
        };
        most = most.max(bytes as f64 / (elements * ELEMENT).max(1) as f64);
    }
    let (words, mistake) = match measure.what {
        What::SharedTraffic => (
            format!("all accesses take {most:.2} times the wavefronts that hold the tiles once"),
            "conflicts-on-loads",
        ),
        _ => (
            format!("{most:.2} times the sectors that the tiles hold come and go"),
            "uncoalesced",
        ),
    };
    let complaints = match measure.credit(most) >= 1.0 {
        true => Vec::new(),
        false => vec![complaint(words.clone(), &measure.hint, mistake)],
    };
    (most, words, complaints)
}
