//! Complaints about the lines that cost more than necessary.
use std::collections::BTreeMap;

use emulator::{AccessPattern, Counters};
use harness::{Launched, lines, thousands};

use super::stores_globally;
use crate::grade::conflict::{self, Conflict};
use crate::grade::gap::{self, Gap};
use crate::grade::judge::Judged;
use crate::grade::launches::LaunchResults;
use crate::grade::plan::PlannedLaunch;
use crate::grade::rubric::{Measure, What};
use crate::grade::{Complaint, quote};

/// The most lines in a complaint; further lines usually have the same mistake.
const SHOWN: usize = 4;

/// Complains about the lines that cost more than necessary, or about the launch if there are none.
pub fn by_measure<'a>(
    measure: &Measure,
    all: &LaunchResults<'a>,
    launch: &'a PlannedLaunch,
    (number, words): (f64, String),
    judged: &mut Judged<'a>,
) {
    let credit = measure.credit(number);
    if credit < 1.0 && !launch.closed && !judged.has_complained() {
        let mistake = match measure.what {
            What::SharedWavefronts
            | What::SharedTraffic
            | What::OperandTraffic
            | What::OperandTrafficByHand => "shared-traffic",
            _ => "uncoalesced",
        };
        let one = all.done.iter().find(|(other, _)| *other == launch);
        let lines = one.map(|(_, one)| by_line(measure, all, launch, one));
        let lines = lines.unwrap_or_default();
        if measure.what != What::SharedWavefronts || lines.is_empty() {
            judged.complain(all, launch, &words, &measure.hint, mistake);
        }
        // Which launch it was matters where it is not the one that a profile shows.
        let label = (launch.tile > 0).then(|| all.label(launch));
        let lines = lines.into_iter().map(|line| match &label {
            Some(label) => Complaint {
                what: format!("{label}, {}", line.what),
                ..line
            },
            None => line,
        });
        judged.complaints.extend(lines);
    } else if credit < 1.0 && launch.closed {
        return judged.measured(measure, all, launch, (number, words), "uncoalesced");
    }
    judged.note(credit, number, words, launch);
}

/// The cost of a line, and its worst access.
#[derive(Default)]
struct LineCost<'a> {
    done: u64,
    ideal: u64,
    opcode: &'a str,
    /// How many instructions the line has.
    instructions: u64,
    /// The line's text.
    quoted: Option<String>,
    conflict: Option<Conflict>,
    gap: Option<Gap>,
}

fn by_line(
    measure: &Measure,
    all: &LaunchResults,
    launch: &PlannedLaunch,
    one: &Launched,
) -> Vec<Complaint> {
    let is_global = matches!(measure.what, What::GlobalLoads | What::GlobalStores);
    let trial = all.trial(launch);
    // By line, and by the line of the function that it calls.
    let mut found = BTreeMap::<(u32, Option<u32>), LineCost>::new();
    let counted = trial.instructions().iter().zip(&one.run.counters);
    for (index, (instruction, counters)) in counted.enumerate() {
        let stored = measure.what == What::GlobalStores;
        if is_global && stored != stores_globally(instruction) {
            continue;
        }
        let (done, ideal) = done_and_ideal(is_global, counters);
        if done <= ideal {
            continue;
        }
        let is_it = |asked: &&AccessPattern| asked.instruction == index;
        let patterns = || one.run.patterns.iter().filter(is_it);
        let line = lines::line_of(trial.source(), instruction).unwrap_or_default();
        let inner = quote::innermost(trial.source(), instruction);
        let cost = found.entry((line, inner)).or_insert_with(|| LineCost {
            opcode: &instruction.opcode,
            quoted: quote::line(trial.source(), instruction),
            ..LineCost::default()
        });
        cost.done += done;
        cost.ideal += ideal;
        cost.instructions += 1;
        let conflict = || conflict::worst(patterns(), &instruction.opcode);
        cost.conflict = cost.conflict.take().or_else(conflict);
        cost.gap = cost.gap.take().or_else(|| gap::worst(patterns()));
    }
    let shown = found.into_iter().take(SHOWN);
    let complaints = shown.map(|((line, _), cost)| at_line(measure, is_global, line, cost));
    complaints.collect()
}

/// The cost of an instruction, and its minimum.
fn done_and_ideal(is_global: bool, counters: &Counters) -> (u64, u64) {
    match is_global {
        true => (counters.global_sectors, counters.global_sectors_ideal),
        false => (counters.shared.wavefronts, counters.shared.ideal),
    }
}

/// Vector types of CUDA C++ that a store may have.
const VECTORS: [&str; 9] = [
    "char4",
    "short2",
    "short4",
    "int2",
    "int4",
    "float2",
    "float4",
    "longlong2",
    "double2",
];

fn at_line(measure: &Measure, is_global: bool, line: u32, cost: LineCost) -> Complaint {
    let opcode = cost.opcode;
    let of_vector = |text: &String| VECTORS.iter().any(|vector| text.contains(vector));
    let is_split = cost.instructions > 1
        && opcode.starts_with("st.")
        && !opcode.contains(".v")
        && cost.quoted.as_ref().is_some_and(of_vector);
    let what = if is_global { "sectors" } else { "wavefronts" };
    let mut words = format!(
        "{}\n  {opcode}: {} {what}, {} would suffice",
        cost.quoted.unwrap_or_else(|| match line {
            0 => "in code that is not the kernel's".into(),
            line => format!("line {line}"),
        }),
        thousands(cost.done),
        thousands(cost.ideal)
    );
    if let Some((one, other, bank)) = cost.conflict.as_ref().and_then(|found| found.lanes) {
        words += &format!(
            "\n  lanes {one} and {other} are served together and access different words of bank {bank}"
        );
    }
    if let (true, Some(gap)) = (is_global, &cost.gap) {
        words += &format!("\n  {gap}");
    }
    if is_global && is_split {
        words += &format!(
            "\n  the compiler makes {} stores of this line: `__stcs`, or `st.global.v4` in inline PTX, keeps a vector whole",
            cost.instructions
        );
    }
    let mistake = match opcode.split('.').next() {
        _ if is_global => "uncoalesced",
        Some("ldmatrix") => "conflicts-on-ldmatrix",
        Some("ld") => "conflicts-on-loads",
        _ => "conflicts-on-stores",
    };
    Complaint {
        player: cost.conflict.map(|found| found.player),
        line: Some(line),
        ..Complaint::new(words, &measure.hint, mistake)
    }
}
