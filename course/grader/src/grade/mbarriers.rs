//! What a complaint adds about mbarriers: which arrivals are missing, and which operations order nothing.
use emulator::{Instruction, InstructionKind, WaitingThreads};
use harness::Trial;

use super::quote;

/// The most lines that are quoted.
const SHOWN: usize = 3;

/// Of the mbarriers at which all threads wait forever: how many arrivals one of them counts, how many have come, and which lines
/// arrive.
pub fn missing_arrivals(trial: &Trial, waiting: &[WaitingThreads]) -> Option<String> {
    let all: Vec<Arrivals> = waiting
        .iter()
        .filter_map(|one| Arrivals::of(&one.text))
        .filter(|one| one.pending > 0)
        .collect();
    // One at which only some have arrived is more likely to be the cause than one at which those threads would arrive later.
    let some = all.iter().find(|one| one.pending < one.expected);
    let Arrivals {
        pending,
        expected,
        from,
    } = some.or(all.first())?;
    let came = expected.saturating_sub(*pending);
    let last = trial.threads().saturating_sub(1) / 32;
    let came = match came {
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
        of_mbarrier && of.opcode.split('.').any(|word| word == "relaxed")
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

/// What is said of an mbarrier's phase: `31 of 32 arrivals pending; arrived: warp 4`.
#[derive(Debug, PartialEq, Eq)]
struct Arrivals<'a> {
    pending: u32,
    expected: u32,
    from: &'a str,
}

impl<'a> Arrivals<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (before, after) = text.split_once(" arrivals pending")?;
        let (before, expected) = before.rsplit_once(" of ")?;
        let pending = before.rsplit(' ').next()?;
        let from = after.split_once("arrived: ").map_or("", |(_, from)| from);
        Some(Self {
            pending: pending.parse().ok()?,
            expected: expected.parse().ok()?,
            from,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Arrivals;

    #[test]
    fn what_is_said_of_a_phase() {
        let text = "warps 0 to 3 wait at a.cu:2 for phase 0 (parity 0) of mbarrier s + 0x9000 (index 0 of the 3 initialized at \
                    a.cu:1): 31 of 32 arrivals pending; arrived: warp 4";
        let found = Arrivals {
            pending: 31,
            expected: 32,
            from: "warp 4",
        };
        assert_eq!(Arrivals::of(text), Some(found));
        assert_eq!(Arrivals::of("warp 0 waits at a barrier"), None);
    }
}
