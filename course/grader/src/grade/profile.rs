//! Memory traffic of the lines around a mistake, at the first public size that shows it.
use emulator::Counters;
use harness::{Launched, lines, source_lines, thousands};

use super::launches::LaunchResults;
use super::plan::PlannedLaunch;

/// Source lines shown before and after the one with the mistake.
const AROUND: u32 = 3;

/// PTX instructions shown for that line: an unrolled loop has many.
const INSTRUCTIONS: usize = 8;

/// The lines with their counters, then the instructions of the line with the mistake; none if nothing was launched.
pub fn around(all: &LaunchResults, line: u32) -> Option<String> {
    let open = || {
        let open = all.done.iter();
        open.filter(|(launch, one)| !launch.closed && !one.run.counters.is_empty())
    };
    // A conflict may be in the launches with another tile only.
    let costs_more = |launch: &PlannedLaunch, one: &Launched| {
        let counted = all.trial(launch).instructions().iter();
        let source = all.trial(launch).source();
        counted.zip(&one.run.counters).any(|(of, counters)| {
            lines::line_of(source, of) == Some(line)
                && (counters.shared.wavefronts > counters.shared.ideal
                    || counters.global_sectors > counters.global_sectors_ideal)
        })
    };
    let shows = open().find(|(launch, one)| costs_more(launch, one));
    let (launch, one) = shows.or_else(|| open().find(|(launch, _)| launch.is_public()))?;
    let (source, instructions) = (all.trial(launch).source(), all.trial(launch).instructions());
    let counted = lines::by_line(source, instructions, &one.run.counters);
    let listing = source_lines(source, &counted);
    let listing = anstream::adapter::strip_str(&listing).to_string();
    // The table's header, then a row for each source line.
    let first = line.saturating_sub(AROUND).max(1);
    let shown = listing.lines().skip(first as usize);
    let shown = shown.take((line + AROUND + 1 - first) as usize);
    let mut text = format!("line {line}, {}\n", all.label(launch));
    for row in listing.lines().take(1).chain(shown) {
        text += &format!("{row}\n");
    }
    let mut at_fault: Vec<_> = instructions.iter().zip(&one.run.counters).collect();
    let is_executed = |counters: &Counters| counters.executions > 0;
    at_fault
        .retain(|(of, counters)| lines::line_of(source, of) == Some(line) && is_executed(counters));
    for (instruction, counters) in at_fault.iter().take(INSTRUCTIONS) {
        let executions = thousands(counters.executions);
        text += &format!("{executions:>10}  {}\n", instruction.text.trim());
    }
    if let Some(more @ 1..) = at_fault.len().checked_sub(INSTRUCTIONS) {
        text += &format!("{:>10}  and {more} more instructions\n", "");
    }
    Some(text)
}
