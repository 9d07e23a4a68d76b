//! What the sanitizer found, and what to do about it.
use emulator::{
    AccessKind, Conflict, Finding, FindingKind, Instruction, InstructionKind, Location, Space,
    Synchronization,
};
use harness::{Launched, lines};

use super::judge::Judged;
use super::launches::LaunchResults;
use super::plan::PlannedLaunch;
use super::{Complaint, NO_MISTAKE, element, groups, overrun};

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
    let complaint = |finding: &Finding| {
        let mut what = format!("{}: {finding}", all.label(launch));
        what += &in_the_kernel(all, launch, one, finding);
        if is_unfinished(finding, &kind_of) {
            let groups = groups::of(trial.instructions(), one);
            what += &groups.map_or(String::new(), |groups| format!("\n  {groups}"));
        }
        if is_unfinished_bulk(finding, &kind_of)
            && let Some(why) = groups::of_bulk(trial.instructions(), &one.run.counters)
        {
            what += &format!("\n  {why}");
        }
        let (mistake, hint) = match too_early(finding) {
            true => TOO_EARLY,
            false => advice(finding, &kind_of),
        };
        Complaint {
            line: line_of(all, launch, &finding.location),
            ..Complaint::new(what, hint, mistake)
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
    shown.extend(notes.take(1).map(complaint));
    judged.complaints = shown;
    judged
}

/// A launch that would be wrong if it were repeated, although its variables are as before: what happens, and a hint.
fn state<'a>(all: &LaunchResults<'a>) -> Option<(&'a PlannedLaunch, String, &'static str)> {
    let changed = all.done.iter().find_map(|(launch, one)| {
        let what = format!("the kernel changes `{}`, which is an input", one.changed?);
        Some((*launch, what, "which line writes to an input?"))
    });
    let output = all.rubric.task.output();
    changed.or_else(|| {
        let (launch, ends) = all.reads_c?;
        let what = match ends {
            true => format!(
                "{output} is wrong if it holds zeros before the launch, and right if it holds NaN"
            ),
            false => format!("the kernel fails if {output} holds zeros before the launch"),
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
        FindingKind::TransactionCount(_) | FindingKind::InvalidMbarrier(_) => 0,
        _ if finding.is_fatal() => 1,
        FindingKind::UnfinishedCopy(_) => 3,
        FindingKind::Uninitialized(_) => LAST,
        _ => 2,
    }
}

/// What is said of a read that finds nothing since it does not wait for the write.
const TOO_EARLY: (&str, &str) = (
    "race-after-the-copy",
    "the read comes before the write here: which barrier makes every reader wait until all threads have written?",
);

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

/// Whether both accesses are in the same line.
fn of_one_line(conflict: &Conflict, location: &Location) -> bool {
    let line = |of: &Location| of.source.as_ref().map(|source| source.line);
    line(&conflict.other).is_some() && line(&conflict.other) == line(location)
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

/// For an address outside all allocations: the nearest one that begins before it, and the distance from its beginning.
fn behind(finding: &Finding) -> Option<(&str, u64)> {
    let FindingKind::OutOfBounds { access, nearest } = &finding.kind else {
        return None;
    };
    let (_, words) = nearest.split_once(" the nearest allocation, ")?;
    let (name, place) = words.split_once(", at 0x")?;
    let base = u64::from_str_radix(place.split(' ').next()?, 16).ok()?;
    Some((name, access.address.checked_sub(base)?))
}

/// The element that a finding is about, and the text of its source lines.
fn in_the_kernel(
    all: &LaunchResults,
    launch: &PlannedLaunch,
    one: &Launched,
    finding: &Finding,
) -> String {
    let known = finding
        .symbol
        .as_ref()
        .map(|(name, offset)| (name.as_str(), *offset));
    let element = known
        .or_else(|| behind(finding))
        .and_then(|(name, offset)| element::of(&one.problem, all.rubric.task, name, offset));
    let mut words = element.map_or(String::new(), |element| format!("\n    {element}"));
    let mut all_lines = vec![line_of(all, launch, &finding.location)];
    if let FindingKind::Race(conflict)
    | FindingKind::MissingProxyFence(conflict)
    | FindingKind::MbarrierTouched(conflict) = &finding.kind
    {
        all_lines.insert(0, line_of(all, launch, &conflict.other));
    }
    if let FindingKind::Deadlock { waiting } = &finding.kind {
        all_lines.extend(waiting.iter().map(|waiter| waits_at(waiter)));
    }
    let mut all_lines: Vec<u32> = all_lines.into_iter().flatten().collect();
    all_lines.dedup();
    let code = all.trial(launch).source().text.as_deref();
    words += &moved(all, launch, &finding.location, code).unwrap_or_default();
    let text_of = |line: u32| code?.lines().nth((line as usize).checked_sub(1)?);
    let lines = all_lines.into_iter();
    let lines: Vec<_> = lines
        .filter_map(|line| Some((line, text_of(line)?.trim())))
        .collect();
    for (line, text) in &lines {
        words += &format!("\n  line {line}: {}", beginning(text));
    }
    if let Some((owner, _)) = known
        && let Some(over) = overrun::of(&lines, owner, code.unwrap_or_default())
    {
        words += &format!("\n  {over}");
    }
    words
}

/// For a load that the compiler has merged with others, so that it has no line (0), or moved to one that cannot have a load: where its
/// value is used.
fn moved(
    all: &LaunchResults,
    launch: &PlannedLaunch,
    location: &Location,
    code: Option<&str>,
) -> Option<String> {
    let trial = all.trial(launch);
    let instructions = trial.instructions();
    let load = instructions.get(location.instruction)?;
    let text_of = |line: u32| code?.lines().nth((line as usize).checked_sub(1)?);
    let at = lines::line_of(trial.source(), load)?;
    let is_load = matches!(load.kind, InstructionKind::Load(_));
    if !is_load || text_of(at).is_some_and(may_load) {
        return None;
    }
    let behind = instructions.get(location.instruction + 1..)?;
    let uses = |of: &&Instruction| loaded(&load.text).any(|register| reads(&of.text, register));
    let used = behind.iter().filter(uses);
    let mut used = used.filter_map(|of| lines::line_of(trial.source(), of));
    let line = used.find(|line| text_of(*line).is_some_and(may_load))?;
    let text = beginning(text_of(line)?.trim());
    Some(format!(
        "\n  the compiler has moved or merged this load: its value is used in line {line}: {text}"
    ))
}

/// Whether a line of CUDA can have a load: a subscript, a dereference, or a call of something that is not a barrier.
fn may_load(text: &str) -> bool {
    let code = text.split("//").next().unwrap_or_default().trim();
    if code.starts_with('#') {
        return false;
    }
    let before = |at: usize| code[..at].trim_end();
    let dereferences = |(at, _): (usize, &str)| {
        let next = code[at + 1..].chars().next();
        let is_operand = next.is_some_and(|c| c.is_alphabetic() || c == '_' || c == '(');
        let is_product = before(at).ends_with(|c: char| c.is_alphanumeric() || "_])".contains(c));
        is_operand && !is_product
    };
    let calls = |(at, _): (usize, &str)| {
        let name = before(at).rsplit(|c: char| !c.is_alphanumeric() && c != '_');
        let name = name.into_iter().next().unwrap_or_default();
        !["", "for", "while", "if", "switch"].contains(&name) && !name.starts_with("__sync")
    };
    code.contains('[')
        || code.match_indices('*').any(dereferences)
        || code.match_indices('(').any(calls)
}

/// The registers that a load of PTX defines: `ld.shared.v2.u32 {%r1, %r2}, [%r3];`.
fn loaded(text: &str) -> impl Iterator<Item = &str> {
    let before = text.split('[').next().unwrap_or_default();
    words(before).filter(|word| word.starts_with('%'))
}

/// Whether a PTX instruction names this register.
fn reads(text: &str, register: &str) -> bool {
    words(text).any(|word| word == register)
}

/// Opcodes, registers and numbers of a PTX instruction.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && !"%_$.".contains(c))
}

/// The line where a warp of a deadlock waits.
fn waits_at(waiter: &str) -> Option<u32> {
    // The line is in the part `at FILE:LINE`; a description may follow it.
    waiter.split(" at ").find_map(|part| {
        let (_, digits) = part.split_once(':')?;
        digits
            .split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    })
}

/// The beginning of a line of the submission, which may be megabytes long.
fn beginning(line: &str) -> String {
    const MOST: usize = 160;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line.to_owned(),
    }
}

/// What an instruction is, by a location of it.
type KindOf<'a> = dyn Fn(&Location) -> Option<&'a InstructionKind> + 'a;

/// An anchor of the book's page of mistakes, and a hint.
fn advice(finding: &Finding, kind_of: &KindOf) -> (&'static str, &'static str) {
    match &finding.kind {
        FindingKind::OutOfBounds { access, .. }
            if access.space == Space::Shared
                && matches!(
                    kind_of(&finding.location),
                    Some(InstructionKind::BulkCopy { .. })
                ) =>
        {
            (
                "out-of-bounds",
                "a copy has as many rows as `gemm_boxes` says, and each takes as many bytes of shared memory as its swizzle is wide, or, without \
             one, as the box: how many is that, and how many are left from this address on?",
            )
        }
        FindingKind::OutOfBounds { access, .. } if access.space == Space::Shared => (
            "out-of-bounds",
            "how large does this index get, and how many bytes are there? A formula that permutes elements has to keep each in its row; the \
             bytes of an `extern __shared__` array are those that the launch states",
        ),
        FindingKind::OutOfBounds { .. } => (
            "out-of-bounds",
            "how large does this index get, and how many bytes are there?",
        ),
        FindingKind::Misaligned(_) => (
            "misaligned",
            "which power of two is this address a multiple of, and which one does the access need?",
        ),
        FindingKind::Uninitialized(_) => (
            "uninitialized",
            "which code should write these bytes: is it missing, too late, do writer and reader compute different addresses, or does it store two \
             elements in one place and none here?",
        ),
        FindingKind::UndefinedRegister { .. } => (
            "uninitialized-variable",
            "which variable is read here before it is set? An array without `__shared__` belongs to one thread, which has to write all \
             that it reads",
        ),
        FindingKind::Deadlock { waiting } => ("deadlock", deadlock(waiting)),
        FindingKind::MissingProxyFence(_) => (
            "proxy-fence",
            "which fence makes the threads' stores visible to the async proxy, and does every thread that stored execute it?",
        ),
        FindingKind::UnorderedWgmma(why) if why.starts_with("wgmma.fence") => (
            "wgmma-fence",
            "what orders the last access to these registers before the wgmma?",
        ),
        FindingKind::UnorderedWgmma(_) => (
            "wgmma-wait",
            "when may the registers of a wgmma be read: what do you have to wait for first?",
        ),
        FindingKind::SwizzleMismatch(_) => (
            "swizzle-on-one-side",
            "which layout does the tensor map give this operand, and which one does its descriptor state?",
        ),
        FindingKind::InvalidWgmma(_) => (
            "wrong-descriptor",
            "what does each field of this descriptor mean, in bytes?",
        ),
        FindingKind::DivergentBarrier { .. }
            if !matches!(kind_of(&finding.location), Some(InstructionKind::Barrier)) =>
        {
            (
                "divergent-barrier",
                "all 32 lanes execute a warp-level instruction (`.aligned`, such as ldmatrix or mma) together: which condition separates them \
                 here?",
            )
        }
        FindingKind::InvalidBarrier(why) if why.contains("mask") => (
            "divergent-barrier",
            "the mask has a bit for each lane that executes this, for a whole warp ~0u: which lanes do, and which does it name?",
        ),
        FindingKind::DivergentBarrier { .. } | FindingKind::InvalidBarrier(_) => (
            "divergent-barrier",
            "which threads reach this barrier, and which of them never do?",
        ),
        FindingKind::Race(conflict) => race(conflict, &finding.location, kind_of),
        FindingKind::UnfinishedCopy(why) if why.contains("landed") => (
            "bulk-wait",
            "which thread waits for the phase in which these bytes land? A wait for a phase that is complete already waits for nothing: \
             count the phases of this mbarrier, and which parity each of them has",
        ),
        FindingKind::UnfinishedCopy(_) => (
            "bulk-wait",
            "what waits for this copy before the block exits?",
        ),
        FindingKind::Assertion { .. } | FindingKind::Trap => (
            "assertion",
            "which condition does this line assert, and why does it not hold? `this_grid().sync()` asserts a cooperative launch, which this is not",
        ),
        FindingKind::UnheededWait { .. } => (
            "try-wait-once",
            "what does the thread do if the wait returns false?",
        ),
        FindingKind::BeforePreviousGrid(_) => (
            "early-access",
            "what may the previous launch still be doing when this executes?",
        ),
        FindingKind::StateLeft { .. } => (
            "state-left",
            "which values does the first launch find in these variables, and which does the second?",
        ),
        // A remark without effect on points.
        FindingKind::NeverExecuted { .. } => (
            "never-executed",
            "which threads should execute this, and which condition prevents all of them?",
        ),
        FindingKind::TransactionCount(_) => (
            "byte-count",
            "how many bytes does each copy of this phase transfer, and how many were expected?",
        ),
        FindingKind::MbarrierTouched(_) => (
            "mbarrier-misuse",
            "what else touches the 8 bytes of this mbarrier?",
        ),
        FindingKind::InvalidMbarrier(why) => ("mbarrier-misuse", mbarrier(why)),
        FindingKind::InvalidBulkCopy(_) => (
            "invalid-bulk-copy",
            "which rule of TMA does the message name, and do the box and the address follow it?",
        ),
        FindingKind::ExitedBlock(_) | FindingKind::InvalidCluster(_) => (
            "exited-block",
            "what keeps a block of the cluster from exiting while others still use its shared memory?",
        ),
        FindingKind::InvalidCall(_) | FindingKind::InvalidRegisters(_) => {
            (NO_MISTAKE, "the message names the limit: what exceeds it?")
        }
    }
}

/// What to ask of a deadlock, by what the warps wait at.
fn deadlock(waiting: &[String]) -> &'static str {
    let at = |what: &str| waiting.iter().any(|one| one.contains(what));
    if at(" at mbarrier ") {
        "which phase does each of these waits mean, which threads arrive in it, and are they as many as mbarrier.init counts?"
    } else if at(" at barrier ") {
        "which warps come to this barrier, how often, and are they as many threads as it counts? A warp that should not come here \
         counts, too"
    } else {
        "what would end this wait, and can any thread still do that?"
    }
}

/// What to ask of an mbarrier that is used wrongly, by what the sanitizer says of it.
fn mbarrier(why: &str) -> &'static str {
    if why.contains("already") {
        "an mbarrier is initialized once, before its first use: how many threads execute this line, and how often?"
    } else if why.contains("there is no mbarrier") {
        "which line initializes this mbarrier, does it do so for every stage, and does every thread wait until that is done?"
    } else if why.contains("has not ended yet") {
        "this arrives again before the phase is complete: do several threads arrive, does one of them arrive twice, or does it not wait \
         until the stage is empty?"
    } else if why.contains("phase overrun") {
        "how many threads arrive in a phase, and how many does mbarrier.init count?"
    } else if why.contains("overwritten") {
        "what else is stored in the 8 bytes of this mbarrier?"
    } else {
        "how many arrivals does a phase of this mbarrier take, and in which phase is it?"
    }
}

/// Which order is missing: what these two accesses are, and which of them came first.
fn race(
    conflict: &Conflict,
    location: &Location,
    kind_of: &KindOf,
) -> (&'static str, &'static str) {
    use AccessKind::{AsyncRead, AsyncWrite, Read, Write};
    let either = |is_it: fn(&InstructionKind) -> bool| {
        let both = [location, &conflict.other];
        both.into_iter().filter_map(kind_of).any(is_it)
    };
    let initializes = |kind: &InstructionKind| matches!(kind, InstructionKind::Mbarrier { .. });
    let by_tma = either(|kind| matches!(kind, InstructionKind::BulkCopy { .. }));
    let by_copy = either(|kind| matches!(kind, InstructionKind::AsyncCopy { .. }));
    if either(initializes) {
        return (
            "mbarrier-misuse",
            "an mbarrier is initialized before any thread, and TMA, uses it: which barrier of the block comes in between?",
        );
    }
    if conflict.space == Space::Global && (conflict.access, conflict.other_access) == (Write, Write)
    {
        return (
            "race-in-global-memory",
            "two threads write this element: which tile does each block compute, which elements does each thread compute, and do any two get the same?",
        );
    }
    if conflict.space == Space::Global {
        return (
            "race-in-global-memory",
            "which threads or blocks touch these bytes, and what orders one before the other?",
        );
    }
    let (first, second) = match conflict.is_later {
        true => (conflict.other_access, conflict.access),
        false => (conflict.access, conflict.other_access),
    };
    match (first, second) {
        (Write, Write) => (
            "two-in-one-place",
            "two threads write the same bytes: does the address formula map two elements to the same place?",
        ),
        (AsyncWrite, AsyncWrite) => (
            "two-in-one-place",
            "two copies write the same bytes: does the address formula map two chunks to the same place, or does a copy to a place begin \
             before the previous one is complete?",
        ),
        (AsyncWrite, Write) | (Write, AsyncWrite) if of_one_line(conflict, location) => (
            "two-in-one-place",
            "two copies write the same bytes: does the address formula map two chunks to the same place, and does each stay in its row?",
        ),
        (AsyncWrite, Write) | (Write, AsyncWrite) => (
            "cp-async-wait",
            "a copy to these bytes may still be in flight while they are written: what waits for the copy, or do the two share a place by mistake?",
        ),
        // Both are asynchronous: TMA writes what `wgmma` reads.
        (AsyncWrite, AsyncRead) | (AsyncRead, AsyncWrite) => (
            "bulk-wait",
            "every warp of the warpgroup reads: which wait comes between the copy and the wgmma in each of them, and for which phase? And a \
             wgmma reads until wgmma.wait_group says that it is complete: does the next copy to these bytes wait for that?",
        ),
        (AsyncWrite, Read) | (Read, AsyncWrite) if by_tma => (
            "bulk-wait",
            "which wait comes between the copy and the read, and for which phase? And how does the thread that copies know that all \
             lanes have read this place before it is filled again?",
        ),
        // The emulator completes copies late, so the order of the two accesses says nothing.
        (AsyncWrite, Read) | (Read, AsyncWrite) => (
            "cp-async-wait",
            "which wait and which barrier are between the copy and the read, and which barrier is between the read and the next copy to \
             the same bytes? In a ring of stages: which stage does each line access?",
        ),
        (Write, Read) if by_copy => (
            "race-after-the-copy",
            "the thread that issued this copy has waited for it, and knows that it is complete: which barrier behind that wait tells the \
             other threads?",
        ),
        // TMA reads when it likes, so which of the two came first says nothing.
        (AsyncRead, Write) | (Write, AsyncRead) if by_tma => (
            "race-before-the-copy",
            "which barrier makes the thread that starts this copy wait until all threads have stored? And which wait for the copy \
             (cp.async.bulk.wait_group.read) comes before these bytes are written again?",
        ),
        (Read | AsyncRead, Write) => (
            "race-before-the-copy",
            "these bytes are overwritten while they may still be read: what delays the next copy until all threads have read them?",
        ),
        _ => (
            "race-after-the-copy",
            "what orders the write before this access, for every thread that reads?",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_can_have_a_load() {
        for text in [
            "x = As[row];",
            "x = *p;",
            "load(step);",
            "for (int i = 0; i < n[0]; ++i)",
            "for (int i = 0; i < *n; ++i)",
            "while (*flag == 0) {}",
            "while (atomicAdd(p, 0) == 0)",
        ] {
            assert!(may_load(text), "{text}");
        }
        for text in [
            "for (int i = 0; i < n; ++i) {",
            "for (int i = 0; i < a * b; ++i) {",
            "if (threadIdx.x == 0)",
            "#pragma unroll",
            "__syncthreads();",
            "}",
            "// As[row]",
        ] {
            assert!(!may_load(text), "{text}");
        }
    }

    #[test]
    fn registers_of_a_load_and_of_its_use() {
        let both: Vec<_> = loaded("ld.shared.v2.u32 {%r1, %r2}, [%r3+4];").collect();
        assert_eq!(both, ["%r1", "%r2"]);
        assert!(reads("add.s32 %r5, %r1, 4;", "%r1"));
        assert!(!reads("add.s32 %r5, %r10, 4;", "%r1"));
    }
}
