//! What the sanitizer found, and what to do about it.
use emulator::{AccessKind, Conflict, Finding, FindingKind, Space, Synchronization};

use harness::lines;

use super::judge::{Judged, LaunchResults};
use super::{Complaint, NO_MISTAKE};

/// Findings of a launch that are shown.
const SHOWN: usize = 3;

/// What is left of the points: all or nothing; and a complaint for each finding that is shown, of the first launch that has
/// any.
pub fn judge<'a>(all: &LaunchResults<'a>) -> Judged<'a> {
    let mut judged = Judged::new();
    let mut launches = all.done.iter();
    let found = launches.find(|(_, one)| !one.run.findings.is_empty());
    let Some((launch, one)) = found else {
        judged.why.push("nothing found".into());
        return judged;
    };
    judged.credit = 0.0;
    judged.why.push("something found: see below".into());
    if launch.closed {
        judged.closed(all, launch, "the sanitizer finds something");
        return judged;
    }
    // What ended the launch comes first: the rest may follow from it.
    let (ending, others): (Vec<_>, Vec<_>) =
        one.run.findings.iter().partition(|one| one.is_fatal());
    let complaint = |finding: &Finding| {
        let what = format!("{}: {finding}", all.label(launch));
        let (mistake, hint) = advice(&finding.kind);
        let at = finding.location.instruction;
        let trial = all.trial(launch);
        let instruction = trial.instructions().get(at);
        Complaint {
            line: instruction.and_then(|of| lines::line_of(trial.source(), of)),
            ..Complaint::new(what, hint, mistake)
        }
    };
    let mut shown: Vec<_> = ending
        .into_iter()
        .chain(others)
        .take(SHOWN)
        .map(complaint)
        .collect();
    // A barrier or a wait that nobody came to may be why.
    let notes = one.run.remarks.iter().filter(|note| {
        use Synchronization::{Barrier, Fence, Wait};
        let FindingKind::NeverExecuted { what, .. } = note.kind else {
            return false;
        };
        matches!(what, Barrier | Wait | Fence)
    });
    shown.extend(notes.take(1).map(complaint));
    judged.complaints = shown;
    judged
}

/// An anchor of the book's page of mistakes.
pub fn mistake(finding: &Finding) -> &'static str {
    advice(&finding.kind).0
}

/// The mistake, and a hint.
fn advice(kind: &FindingKind) -> (&'static str, &'static str) {
    match kind {
        FindingKind::OutOfBounds { .. } => (
            "out-of-bounds",
            "how far does this index get, and how many bytes are there?",
        ),
        FindingKind::Misaligned(_) => (
            "misaligned",
            "of what is this address a multiple, and what would it have to be one of?",
        ),
        FindingKind::Uninitialised(_) => (
            "uninitialised",
            "what was to write these bytes: is it missing, too late, or does one of the two compute another address?",
        ),
        FindingKind::UndefinedRegister { .. } => (
            "uninitialised-variable",
            "which variable is read here before it has got a value?",
        ),
        FindingKind::Deadlock { .. } => (
            "deadlock",
            "what would end this wait, and can any thread still do that?",
        ),
        FindingKind::MissingProxyFence(_) => (
            "proxy-fence",
            "which fence shows to the async proxy what threads have stored, and does every thread that stored execute it?",
        ),
        FindingKind::UnorderedWgmma(why) if why.starts_with("wgmma.fence") => (
            "wgmma-fence",
            "what comes between the last access to these registers and the wgmma?",
        ),
        FindingKind::UnorderedWgmma(_) => (
            "wgmma-wait",
            "when may the registers of a wgmma be read: what has to be waited for first?",
        ),
        FindingKind::SwizzleMismatch(_) => (
            "swizzle-on-one-side",
            "what does the tensor map say of this operand, and what its descriptor?",
        ),
        FindingKind::InvalidWgmma(_) => (
            "wrong-descriptor",
            "what does each field of this descriptor say, in bytes?",
        ),
        FindingKind::DivergentBarrier { .. } | FindingKind::InvalidBarrier(_) => (
            "divergent-barrier",
            "which threads come to this barrier, and which of them never do?",
        ),
        FindingKind::Race(conflict) => race(conflict),
        FindingKind::UnfinishedCopy(_) => (
            "bulk-wait",
            "what waits for this copy before the block exits?",
        ),
        FindingKind::Assertion { .. } | FindingKind::Trap => (
            "assertion",
            "what does this line of yours say must hold here?",
        ),
        FindingKind::UnheededWait { .. } => (
            "try-wait-once",
            "what does the thread do if the wait comes back with false?",
        ),
        FindingKind::BeforePreviousGrid(_) => (
            "early-access",
            "what may the launch before still be doing when this is executed?",
        ),
        FindingKind::StateLeft { .. } => (
            "state-left",
            "what does a second launch find in these variables, and what the first?",
        ),
        // A note, which costs nothing.
        FindingKind::NeverExecuted { .. } => (
            "never-executed",
            "which threads should come here, and which condition keeps all of them away?",
        ),
        FindingKind::TransactionCount(_) => (
            "byte-count",
            "how many bytes does each copy of this phase bring, and how many were announced?",
        ),
        FindingKind::MbarrierTouched(_) | FindingKind::InvalidMbarrier(_) => (
            "mbarrier-misuse",
            "how many arrivals does a phase of this mbarrier take, and what else touches its 8 bytes?",
        ),
        FindingKind::InvalidBulkCopy(_) => (
            "invalid-bulk-copy",
            "which rule of TMA does the message name, and what do the box and the address say of it?",
        ),
        FindingKind::ExitedBlock(_) | FindingKind::InvalidCluster(_) => (
            "exited-block",
            "what holds a block of the cluster back from its exit while others still use its shared memory?",
        ),
        FindingKind::InvalidCall(_) | FindingKind::InvalidRegisters(_) => (
            NO_MISTAKE,
            "the message names the limit: what asks for more?",
        ),
    }
}

/// Which order is missing: what these two accesses are, and which of them came first.
fn race(conflict: &Conflict) -> (&'static str, &'static str) {
    use AccessKind::{AsyncRead, AsyncWrite, Read, Write};
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
            "two threads write the same bytes: does the formula for the address give two elements one place?",
        ),
        // Engines read asynchronously: TMA brings what `wgmma` takes.
        (AsyncWrite, AsyncRead) | (AsyncRead, AsyncWrite) => (
            "bulk-wait",
            "what is waited for before this is read, and what holds the next copy back until it has been read?",
        ),
        // Copies land late here, so that which of the two came first says nothing.
        (AsyncWrite, Read) | (Read, AsyncWrite) => (
            "cp-async-wait",
            "which wait and which barrier come between the copy and the read; and between the read and the next copy to this place?",
        ),
        (Read | AsyncRead, Write) => (
            "race-before-the-copy",
            "these bytes are overwritten while they may still be read: what holds the next copy back until all have read?",
        ),
        _ => (
            "race-after-the-copy",
            "what orders the write before this access, for every thread that reads?",
        ),
    }
}
