//! What a complaint adds about mbarriers: which arrivals are missing, and which operations order nothing.
use emulator::{Arrivals, Instruction, InstructionKind, WaitingThreads};
use harness::Trial;

use super::quote;

/// The most lines that are quoted.
const SHOWN: usize = 3;

/// Of the mbarriers at which all threads wait forever: how many arrivals one of them counts, how many have come, and which lines
/// arrive.
pub fn missing_arrivals(trial: &Trial, waiting: &[WaitingThreads]) -> Option<String> {
    let all = waiting.iter().filter_map(|one| one.arrivals.as_ref());
    let mut all = all.filter(|one| one.pending > 0).peekable();
    let first = all.peek().copied();
    // One at which only some have arrived is more likely to be the cause than one at which those threads would arrive later.
    let some = all.find(|one| one.pending < one.expected);
    let Arrivals {
        pending,
        expected,
        warps,
    } = some.or(first)?;
    let from = warps.join(", ");
    let came = expected.saturating_sub(*pending);
    let last = trial.threads().saturating_sub(1) / 32;
    let adds = |of: &Instruction| {
        of.opcode.starts_with("cp.async.mbarrier.arrive") && !of.opcode.contains(".noinc")
    };
    let came = match came {
        0 if !warps.is_empty() && trial.instructions().iter().any(adds) => format!(
            "as many are still missing, though {from} arrived: without `.noinc`, cp.async.mbarrier.arrive raises the count by the arrival that it makes"
        ),
        0 => "none of them has come".to_owned(),
        1 => format!("only 1 has come, from {from}"),
        _ => format!("only {came} have come, from {from}"),
    };
    let mut words = format!(
        "mbarrier.init counts {expected} arrival{} for this phase, and {came}; the block has warps 0 to {last}",
        if *expected == 1 { "" } else { "s" }
    );
    for line in lines(trial, |of| of.opcode.contains("mbarrier.arrive")) {
        words += &format!("\n  arrives: {line}");
    }
    Some(words)
}

/// Lines whose operations on mbarriers order no other accesses.
pub fn relaxed(trial: &Trial) -> Option<String> {
    let is_relaxed = |of: &Instruction| {
        let of_mbarrier = matches!(
            of.kind,
            InstructionKind::Mbarrier { .. } | InstructionKind::MbarrierWait { .. }
        );
        // What is expected, or has been copied, orders nothing anyway.
        let counts_bytes = ["mbarrier.expect_tx", "mbarrier.complete_tx"];
        let counts_bytes = counts_bytes.iter().any(|name| of.opcode.starts_with(name));
        of_mbarrier && !counts_bytes && of.opcode.split('.').any(|word| word == "relaxed")
    };
    let lines = lines(trial, is_relaxed).into_iter();
    let lines = lines.map(|line| format!("`.relaxed` orders no other access: {line}"));
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n  "))
}

/// The first lines of these instructions.
fn lines(trial: &Trial, is_it: impl Fn(&Instruction) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    for instruction in trial.instructions().iter().filter(|of| is_it(of)) {
        if let Some(line) = quote::line(trial.source(), instruction)
            && !lines.contains(&line)
            && lines.len() < SHOWN
        {
            lines.push(line);
        }
    }
    lines
}
