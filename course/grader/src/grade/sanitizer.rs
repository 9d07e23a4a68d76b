//! What the sanitizer found, and what to do about it.
use emulator::{AccessKind, Finding, FindingKind};

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
        Complaint::new(what, hint, mistake)
    };
    let mut shown: Vec<_> = ending
        .into_iter()
        .chain(others)
        .take(SHOWN)
        .map(complaint)
        .collect();
    // A barrier or a wait that nobody came to may be why.
    let notes = one
        .run
        .remarks
        .iter()
        .filter(|note| matches!(note.kind, FindingKind::NeverExecuted { .. }));
    shown.extend(notes.take(1).map(complaint));
    judged.complaints = shown;
    judged
}

/// An anchor of the book's page of mistakes.
pub fn mistake(finding: &Finding) -> &'static str {
    advice(&finding.kind).0
}

/// What orders the accesses to these bytes.
const ORDER: &str = "who wrote these bytes last, and what orders that before this access?";

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
        FindingKind::Uninitialised(_) => ("uninitialised", ORDER),
        FindingKind::UndefinedRegister { .. } => (
            "uninitialised-variable",
            "which variable is read here before it has got a value?",
        ),
        FindingKind::Deadlock { .. } => ("deadlock", "who is to end this, and can it?"),
        FindingKind::MissingProxyFence(_) => ("proxy-fence", ORDER),
        FindingKind::UnorderedWgmma(_) => ("wgmma-wait", ORDER),
        FindingKind::SwizzleMismatch(_) => (
            "swizzle-on-one-side",
            "what does the tensor map say of this operand, and what its descriptor?",
        ),
        FindingKind::DivergentBarrier { .. } => ("divergent-barrier", BARRIER),
        FindingKind::InvalidBarrier(_) => (NO_MISTAKE, BARRIER),
        FindingKind::Race(conflict) => (race(conflict.access, conflict.other_access), ORDER),
        FindingKind::UnfinishedCopy(_) => (
            "bulk-wait",
            "who waits for this copy before the block exits?",
        ),
        FindingKind::Assertion { .. } => (
            NO_MISTAKE,
            "what does this assertion of yours say must hold here?",
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
        FindingKind::NeverExecuted { .. } => {
            (NO_MISTAKE, "which size would have a thread come here?")
        }
        FindingKind::MbarrierTouched(_)
        | FindingKind::InvalidMbarrier(_)
        | FindingKind::TransactionCount(_)
        | FindingKind::InvalidBulkCopy(_)
        | FindingKind::ExitedBlock(_)
        | FindingKind::InvalidCluster(_)
        | FindingKind::InvalidCall(_)
        | FindingKind::InvalidRegisters(_)
        | FindingKind::InvalidWgmma(_)
        | FindingKind::Trap => (NO_MISTAKE, ORDER),
    }
}

const BARRIER: &str = "which threads come to this barrier, and which of them never do?";

fn race(one: AccessKind, other: AccessKind) -> &'static str {
    match (one, other) {
        // A copy that is read while it is in flight.
        (AccessKind::AsyncWrite, AccessKind::Read) | (AccessKind::Read, AccessKind::AsyncWrite) => {
            "cp-async-wait"
        }
        // Only engines read and write asynchronously: TMA brings what `wgmma` takes.
        (AccessKind::AsyncWrite, AccessKind::AsyncRead)
        | (AccessKind::AsyncRead, AccessKind::AsyncWrite) => "bulk-wait",
        _ => "race-after-the-copy",
    }
}
