//! What the sanitizer found, and what to do about it.
use emulator::{
    AccessKind, Conflict, Finding, FindingKind, InstructionKind, Location, Synchronization,
};
use harness::{Launched, lines};

use super::advice::{IN_A_RING, KindOf, OVERWRITES, TOO_EARLY, advice};
use super::judge::Judged;
use super::launches::{LaunchResults, OnStaleC};
use super::plan::PlannedLaunch;
use super::rubric::What;
use super::{Complaint, barriers, element, groups, mbarriers, merged_loads, overrun, quote};

/// The most findings shown per launch.
const SHOWN: usize = 3;

/// The points, all or nothing, and complaints about one launch: the first with a finding other than uninitialized bytes, a public
/// one if possible.
pub fn judge<'a>(all: &LaunchResults<'a>) -> Judged<'a> {
    let mut judged = Judged::new();
    let launches = all.done.iter();
    let found = launches.filter(|(_, one)| !one.run.findings.is_empty());
    // A missing wait shows as uninitialized bytes if there is one step along K, and as a race, which says more, if there are several.
    let found = found.min_by_key(|(launch, one)| {
        let findings = one.run.findings.iter();
        (launch.closed, findings.map(order).min() == Some(LAST))
    });
    let state = state(all);
    let Some((launch, one)) = found else {
        judged.credit = if state.is_some() { 0.0 } else { 1.0 };
        judged.why.push(match state {
            Some(_) => "nothing found, but the kernel cannot be launched again: see below".into(),
            None => "nothing found".into(),
        });
        if let Some((launch, what, hint)) = state {
            left(all, &mut judged, launch, &what, hint);
        }
        return judged;
    };
    judged.credit = 0.0;
    judged.why.push("something found: see below".into());
    if launch.closed {
        judged.closed(all, launch, "the sanitizer finds something");
        return judged;
    }
    let mut findings: Vec<&Finding> = one.run.findings.iter().collect();
    findings.sort_by_key(|finding| order(finding));
    // A read that is too early finds nothing, and the race with the write that comes too late says why.
    let is_early = |finding: &&Finding| matches!(finding.kind, FindingKind::Uninitialized(_));
    let has_early = findings.iter().any(is_early);
    let too_early = |finding: &Finding| match &finding.kind {
        FindingKind::Race(conflict) => has_early && reads_first(conflict),
        _ => false,
    };
    let trial = all.trial(launch);
    let kind_of = |location: &Location| {
        let instruction = trial.instructions().get(location.instruction);
        instruction.map(|instruction| &instruction.kind)
    };
    // There are no counters of a launch that a fault has ended, so what it has not executed is unknown.
    let has_ended = findings.iter().any(|finding| finding.is_fatal());
    // Where stages are the lesson, or the kernel has some.
    let has_ring = all
        .rubric
        .measure
        .iter()
        .any(|one| one.what == What::CopiesAhead)
        || groups::stay_in_flight(trial.instructions());
    let complaint = |finding: &Finding| {
        let mut what = format!("{}: {finding}", all.label(launch));
        what += &in_the_kernel(all, launch, one, finding);
        // A copy lands when its thread waits for it. If C is right, the bytes that were read are those that the copy overwrites.
        let overwrites = is_unfinished(finding, &kind_of)
            && one.verification.ok()
            && matches!(&finding.kind, FindingKind::Race(conflict)
                if [conflict.access, conflict.other_access].contains(&AccessKind::Read));
        if !has_ended && !overwrites && is_unfinished(finding, &kind_of) {
            let groups = groups::of(trial.instructions(), one);
            what += &groups.map_or(String::new(), |groups| format!("\n  {groups}"));
        }
        if !has_ended
            && is_unfinished_bulk(finding, &kind_of)
            && let Some(why) = groups::of_bulk(trial.instructions(), &one.run.counters)
        {
            what += &format!("\n  {why}");
        }
        let about_barriers = match &finding.kind {
            FindingKind::Race(_) => {
                let some = (!has_ended).then(|| barriers::of_some_warps(trial, one));
                some.flatten().or_else(|| mbarriers::relaxed(trial))
            }
            FindingKind::Deadlock { waiting } => mbarriers::missing_arrivals(trial, waiting),
            _ => None,
        };
        what += &about_barriers.map_or(String::new(), |why| format!("\n  {why}"));
        let (mistake, hint) = match () {
            () if too_early(finding) => TOO_EARLY,
            () if overwrites => OVERWRITES,
            () => advice(finding, &kind_of),
        };
        let ring = match mistake {
            "cp-async-wait" if has_ring => IN_A_RING,
            _ => "",
        };
        Complaint {
            line: line_of(all, launch, &finding.location),
            ..Complaint::new(what, &format!("{ring}{hint}"), mistake)
        }
    };
    let shown = findings.iter().copied().take(SHOWN);
    let mut shown: Vec<_> = shown.map(complaint).collect();
    // A barrier or a wait that no thread came to in any launch may be why.
    let is_executed = |note: &Finding| {
        let with_tile = all
            .done
            .iter()
            .filter(|(other, _)| other.tile == launch.tile);
        let mut counters =
            with_tile.map(|(_, one)| one.run.counters.get(note.location.instruction));
        counters.any(|counters| counters.is_some_and(|counters| counters.executions > 0))
    };
    let notes = one.run.remarks.iter().filter(|note| {
        use Synchronization::{Barrier, Fence, Wait};
        let FindingKind::NeverExecuted { what, .. } = note.kind else {
            return false;
        };
        matches!(what, Barrier | Wait | Fence) && !is_executed(note)
    });
    if let Some(note) = notes.into_iter().next() {
        // Where it would order the accesses of a race, it is the cause.
        let is_cause = findings
            .iter()
            .any(|finding| would_order(note, finding, has_early));
        let at = if is_cause { 0 } else { shown.len() };
        shown.insert(at, complaint(note));
    }
    judged.complaints = shown;
    judged
}

/// Whether a barrier, a wait or a fence is between the two accesses of a race: in execution order, or in program order if bytes were read too
/// early. If the second access comes earlier in the text, control has gone around a loop, so everything after the first or before the second
/// is between them.
fn would_order(note: &Finding, finding: &Finding, has_early: bool) -> bool {
    let (FindingKind::Race(conflict) | FindingKind::MissingProxyFence(conflict)) = &finding.kind
    else {
        return false;
    };
    let [mut first, mut second] = [&conflict.other, &finding.location].map(|at| at.instruction);
    if !conflict.is_later {
        std::mem::swap(&mut first, &mut second);
    }
    if has_early && first > second {
        std::mem::swap(&mut first, &mut second);
    }
    let at = note.location.instruction;
    match first < second {
        true => (first..second).contains(&at),
        false => at >= first || at <= second,
    }
}

/// A launch that would be wrong if it were repeated, although its variables are as before: what happens, and a hint.
fn state<'a>(all: &LaunchResults<'a>) -> Option<(&'a PlannedLaunch, String, &'static str)> {
    let changed = all.done.iter().find_map(|(launch, one)| {
        let what = format!("the kernel changes `{}`, which is an input", one.changed?);
        Some((*launch, what, "which line writes to an input?"))
    });
    let output = all.rubric.task.output();
    changed.or_else(|| {
        let (launch, does) = all.reads_c?;
        let what = match does {
            OnStaleC::Wrong => format!(
                "{output} is wrong if it holds a mixture of NaN, 0 and 1 before the launch, and right if all of it is NaN"
            ),
            OnStaleC::Fails => format!("the kernel fails if {output} holds a mixture of NaN, 0 and 1 before the launch"),
            OnStaleC::WrongOnResult => {
                format!("{output} is wrong if it holds the result before the launch")
            }
            OnStaleC::FailsOnResult => {
                format!("the kernel fails if {output} holds the result before the launch")
            }
            OnStaleC::StoresLess => format!(
                "the kernel stores less if {output} holds the result before the launch: each launch has to store all of it"
            ),
        };
        let hint = "which line reads the result before this launch has written it?";
        Some((launch, what, hint))
    })
}

/// Complains about it.
fn left<'a>(
    all: &LaunchResults<'a>,
    judged: &mut Judged<'a>,
    launch: &'a PlannedLaunch,
    what: &str,
    hint: &str,
) {
    if launch.closed {
        return judged.closed(all, launch, "the kernel cannot be launched again");
    }
    let what = format!("{}: {what}", all.label(launch));
    judged
        .complaints
        .push(Complaint::new(what, hint, "state-left"));
}

/// The place of reads of uninitialized bytes in [`order`].
const LAST: u32 = 4;

/// The order in which findings are shown: what ended the launch comes first, since the rest may follow from it; but the wrong
/// counts that explain a deadlock come before it. Then races; then copies without a wait; last, reads of uninitialized bytes.
fn order(finding: &Finding) -> u32 {
    match &finding.kind {
        FindingKind::TransactionCount(_) | FindingKind::InvalidMbarrier(..) => 0,
        _ if finding.is_fatal() => 1,
        FindingKind::UnfinishedCopy(..) => 3,
        FindingKind::Uninitialized(_) => LAST,
        _ => 2,
    }
}

/// Whether a `cp.async` may be incomplete when its bytes are accessed.
fn is_unfinished(finding: &Finding, kind_of: &KindOf) -> bool {
    writes_late(finding, kind_of, |kind| {
        matches!(kind, InstructionKind::AsyncCopy { .. })
    })
}

/// The same for a bulk copy.
fn is_unfinished_bulk(finding: &Finding, kind_of: &KindOf) -> bool {
    writes_late(finding, kind_of, |kind| {
        matches!(kind, InstructionKind::BulkCopy { .. })
    })
}

/// Whether an asynchronous write by such an instruction races with another access.
fn writes_late(
    finding: &Finding,
    kind_of: &KindOf,
    is_it: impl Fn(&InstructionKind) -> bool,
) -> bool {
    let FindingKind::Race(conflict) = &finding.kind else {
        return false;
    };
    let both = [
        (conflict.access, &finding.location),
        (conflict.other_access, &conflict.other),
    ];
    both.into_iter().any(|(access, location)| {
        access == AccessKind::AsyncWrite && kind_of(location).is_some_and(&is_it)
    })
}

/// Whether the bytes were read before they were written.
fn reads_first(conflict: &Conflict) -> bool {
    use AccessKind::{Read, Write};
    let (first, second) = match conflict.is_later {
        true => (conflict.other_access, conflict.access),
        false => (conflict.access, conflict.other_access),
    };
    (first, second) == (Read, Write)
}

fn line_of(all: &LaunchResults, launch: &PlannedLaunch, location: &Location) -> Option<u32> {
    let trial = all.trial(launch);
    let instruction = trial.instructions().get(location.instruction)?;
    lines::line_of(trial.source(), instruction)
}

/// The element that a finding is about, and the text of its source lines.
fn in_the_kernel(
    all: &LaunchResults,
    launch: &PlannedLaunch,
    one: &Launched,
    finding: &Finding,
) -> String {
    let known = finding.symbol.as_ref();
    let after = match &finding.kind {
        FindingKind::OutOfBounds { after, .. } => after.as_ref(),
        _ => None,
    };
    let element = known
        .or(after)
        .and_then(|(name, offset)| element::of(&one.problem, all.rubric.task, name, *offset));
    let mut words = element.map_or(String::new(), |element| format!("\n    {element}"));
    let trial = all.trial(launch);
    let mut locations = vec![&finding.location];
    if let FindingKind::Race(conflict)
    | FindingKind::MissingProxyFence(conflict)
    | FindingKind::MbarrierTouched(conflict) = &finding.kind
    {
        locations.insert(0, &conflict.other);
    }
    let touched: Vec<_> = (locations.iter())
        .filter_map(|location| {
            let line = line_of(all, launch, location)?;
            Some((line, quote::text(trial.source(), line)?))
        })
        .collect();
    let at = locations.into_iter().filter_map(|location| {
        let instruction = trial.instructions().get(location.instruction)?;
        quote::line(trial.source(), instruction)
    });
    let mut quoted: Vec<String> = at.collect();
    if let FindingKind::Deadlock { waiting } = &finding.kind {
        let lines = waiting.iter().filter_map(|one| {
            let at = one.source.as_ref()?;
            let text = quote::text(trial.source(), at.line);
            let text = text.filter(|_| *at.file == *trial.source().name)?;
            Some(format!("line {}: {text}", at.line))
        });
        quoted.extend(lines);
    }
    quoted.dedup();
    words += &merged_loads::used(all, launch, &finding.location).unwrap_or_default();
    for line in quoted {
        words += &format!("\n  {line}");
    }
    let code = trial.source().text.as_deref().unwrap_or_default();
    if let Some(over) = known.and_then(|(owner, _)| overrun::of(&touched, owner, code)) {
        words += &format!("\n  {over}");
    }
    words
}
