//! What the sanitizer found, and what to do about it.
use emulator::{Access, Finding, Kind};

use super::Complaint;
use super::judge::{Launches, place};

/// Findings of a launch that are shown.
const SHOWN: usize = 3;

/// Why, and a complaint for each finding that is shown: those of the first launch that has any.
pub fn judge(all: &Launches) -> (Vec<String>, Vec<Complaint>) {
    let found = all
        .done
        .iter()
        .find(|(_, one)| !one.run.findings.is_empty());
    let Some((launch, one)) = found else {
        return (vec!["nothing found".into()], Vec::new());
    };
    // What ended the launch comes first: the rest may follow from it.
    let (ending, others): (Vec<_>, Vec<_>) =
        one.run.findings.iter().partition(|one| one.is_fatal());
    let complaint = |finding: &Finding| Complaint {
        what: format!("{}: {finding}", place(launch)),
        hint: hint(finding).into(),
        mistake: mistake(finding).into(),
        player: None,
    };
    let shown = ending.into_iter().chain(others).take(SHOWN);
    (
        vec!["something found: see below".into()],
        shown.map(complaint).collect(),
    )
}

/// An anchor of the book's page of mistakes.
pub fn mistake(finding: &Finding) -> &'static str {
    match &finding.kind {
        Kind::OutOfBounds { .. } => "out-of-bounds",
        Kind::Misaligned { .. } => "misaligned",
        Kind::Uninitialised { .. } => "uninitialised",
        Kind::Deadlock { .. } => "deadlock",
        Kind::MissingProxyFence { .. } => "proxy-fence",
        Kind::UnorderedWgmma { .. } => "wgmma-wait",
        Kind::SwizzleMismatch { .. } => "swizzle-on-one-side",
        Kind::DivergentBarrier { .. } => "divergent-barrier",
        // A copy that somebody reads while it is on its way.
        Kind::Race {
            access,
            other_access,
            ..
        } if [access, other_access].contains(&&Access::AsyncWrite)
            && [access, other_access].contains(&&Access::Read) =>
        {
            "cp-async-wait"
        }
        // Only engines read and write asynchronously: TMA brings what `wgmma` takes.
        Kind::UnfinishedCopy { .. } => "bulk-wait",
        Kind::Race {
            access,
            other_access,
            ..
        } if [access, other_access].contains(&&Access::AsyncWrite)
            && [access, other_access].contains(&&Access::AsyncRead) =>
        {
            "bulk-wait"
        }
        Kind::Race { .. } => "race-after-the-copy",
        _ => "none-of-these",
    }
}

fn hint(finding: &Finding) -> &'static str {
    match finding.kind {
        Kind::OutOfBounds { .. } => "how far does this index get, and how many bytes are there?",
        Kind::Misaligned { .. } => {
            "of what is this address a multiple, and what would it have to be one of?"
        }
        Kind::Deadlock { .. } => "who is to end this, and can it?",
        Kind::DivergentBarrier { .. } | Kind::InvalidBarrier { .. } => {
            "which threads come to this barrier, and which of them never do?"
        }
        Kind::SwizzleMismatch { .. } => {
            "what does the tensor map say of this operand, and what its descriptor?"
        }
        Kind::UnfinishedCopy { .. } => "who waits for this copy before the block exits?",
        _ => "who wrote these bytes last, and what orders that before this access?",
    }
}
