//! What to read and what to ask about a finding of the sanitizer.
use emulator::{
    AccessKind, Conflict, Finding, FindingKind, InstructionKind, Location, MbarrierMisuse, Space,
    WaitingThreads, WaitsAt, WgmmaOrder,
};

use super::NO_MISTAKE;

/// What is said of a read that finds nothing since it does not wait for the write.
pub const TOO_EARLY: (&str, &str) = (
    "race-after-the-copy",
    "the read comes before the write here: which barrier makes every reader wait until all threads have written?",
);

/// What is said of a copy into bytes that others still read.
pub const OVERWRITES: (&str, &str) = (
    "race-before-the-copy",
    "C is right here, so no wait for this copy is missing: it overwrites what an earlier step has brought to the same place. Which barrier makes \
     the threads that start it wait until all others have read that?",
);

/// What is asked first where copies of several steps are in flight.
pub const IN_A_RING: &str =
    "in a ring of stages: which stage does each of these lines access? Then: ";

/// What an instruction is, by a location of it.
pub type KindOf<'a> = dyn Fn(&Location) -> Option<&'a InstructionKind> + 'a;

/// An anchor of the book's page of mistakes, and a hint.
pub fn advice(finding: &Finding, kind_of: &KindOf) -> (&'static str, &'static str) {
    match &finding.kind {
        FindingKind::OutOfBounds {
            other_window: true, ..
        } => (
            "out-of-bounds",
            "which address does this instruction take: one in shared memory, as `__cvta_generic_to_shared` gives, or a generic one, as a \
             pointer is? `.shared` in its name decides",
        ),
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
            "how large does this index get, and how many bytes are there? A column beyond the end of a row is an element of the next row: which tile \
             does this block compute, and how far does each loop go?",
        ),
        FindingKind::Misaligned(_) => (
            "misaligned",
            "which power of two is this address a multiple of, and which one does the access need?",
        ),
        FindingKind::Uninitialized(_) => (
            "uninitialized",
            "which code should write these bytes: is it missing, too late, do writer and reader compute different addresses, or does it store two \
             elements in one place and none here? Or is this padding after the end of a row, which nobody writes and nobody should read?",
        ),
        FindingKind::UndefinedRegister { .. } => (
            "uninitialized-variable",
            "which variable is read here before it is set? An array without `__shared__` belongs to one thread, which has to write all \
             that it reads",
        ),
        FindingKind::Deadlock { waiting } => ("deadlock", deadlock(waiting)),
        FindingKind::MissingProxyFence(conflict) if conflict.of_init => (
            "mbarrier-misuse",
            "TMA uses this mbarrier: which fence makes its initialization by a thread visible to TMA, before the barrier of the block?",
        ),
        FindingKind::MissingProxyFence(_) => (
            "proxy-fence",
            "which fence makes the threads' stores visible to the async proxy, and does every thread that stored execute it?",
        ),
        FindingKind::UnorderedWgmma(WgmmaOrder::Fence, _) => (
            "wgmma-fence",
            "what orders the last access to these registers before the wgmma?",
        ),
        FindingKind::UnorderedWgmma(WgmmaOrder::Wait, _) => (
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
        FindingKind::InvalidMask(_) => (
            "divergent-barrier",
            "the mask has a bit for each lane that executes this, for a whole warp ~0u: which lanes do, and which does it name?",
        ),
        FindingKind::DivergentBarrier { .. } | FindingKind::InvalidBarrier(_) => (
            "divergent-barrier",
            "which threads reach this barrier, and which of them never do?",
        ),
        FindingKind::Race(conflict) => race(conflict, &finding.location, kind_of),
        FindingKind::UnfinishedCopy(Space::Shared, _) => (
            "bulk-wait",
            "which thread waits for the phase in which these bytes land? A wait for a phase that is complete already waits for nothing: \
             count the phases of this mbarrier, and which parity each of them has",
        ),
        FindingKind::UnfinishedCopy(..) => (
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
        FindingKind::InvalidMbarrier(of, _) => ("mbarrier-misuse", mbarrier(*of)),
        FindingKind::InvalidBulkCopy(_) => (
            "invalid-bulk-copy",
            "which rule of TMA does the message name, and do the box and the address follow it?",
        ),
        FindingKind::ExitedBlock(_) | FindingKind::InvalidCluster(_) => (
            "exited-block",
            "what keeps a block of the cluster from exiting while others still use its shared memory?",
        ),
        FindingKind::TooFewRegisters(_) => (
            NO_MISTAKE,
            "which warps multiply, how many registers does each of their threads need, and how many does setmaxnreg give them?",
        ),
        FindingKind::InvalidCall(_) | FindingKind::InvalidRegisters(_) => {
            (NO_MISTAKE, "the message names the limit: what exceeds it?")
        }
    }
}

/// What to ask of a deadlock, by what the warps wait at.
fn deadlock(waiting: &[WaitingThreads]) -> &'static str {
    let at = |what: WaitsAt| waiting.iter().any(|one| one.at == what);
    if at(WaitsAt::Mbarrier) {
        "which phase does each of these waits mean, which threads arrive in it, and are they as many as mbarrier.init counts?"
    } else if at(WaitsAt::Loop) {
        "what ends this loop? If a counter does: does it reach the bound, and is its type wide enough? If a value in memory does: which thread \
         writes it, and can that thread still do so?"
    } else if at(WaitsAt::Barrier) {
        "which warps come to this barrier, how often, and are they as many threads as it counts? A warp that should not come here \
         counts, too"
    } else {
        "what would end this wait, and can any thread still do that? What all warps of a warpgroup have to execute (wgmma, setmaxnreg), no \
         condition may keep from some of them; registers come from warps that have given theirs back"
    }
}

/// What to ask of an mbarrier that is used wrongly.
fn mbarrier(of: MbarrierMisuse) -> &'static str {
    match of {
        MbarrierMisuse::Present => {
            "an mbarrier is initialized once, before its first use: how many threads execute this line, and how often?"
        }
        MbarrierMisuse::Absent => {
            "which line initializes this mbarrier, does it do so for every stage, and does every thread wait until that is done?"
        }
        MbarrierMisuse::EarlyArrival => {
            "this arrives again before the phase is complete: do several threads arrive, does one of them arrive twice, or does it not \
             wait until the stage is empty?"
        }
        MbarrierMisuse::Overrun => {
            "how many threads arrive in a phase, and how many does mbarrier.init count?"
        }
        MbarrierMisuse::Overwritten => "what else is stored in the 8 bytes of this mbarrier?",
        MbarrierMisuse::Other => {
            "how many arrivals does a phase of this mbarrier take, and in which phase is it?"
        }
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
    let all = |is_it: fn(&InstructionKind) -> bool| {
        let both = [location, &conflict.other];
        both.into_iter().all(|at| kind_of(at).is_some_and(is_it))
    };
    let copies = |kind: &InstructionKind| matches!(kind, InstructionKind::AsyncCopy { .. });
    let by_tma = either(|kind| matches!(kind, InstructionKind::BulkCopy { .. }));
    let by_copy = either(copies);
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
            "two threads write the same bytes: does the address formula map two elements to the same place, or beyond the end of the array?",
        ),
        (AsyncWrite, AsyncWrite) => (
            "two-in-one-place",
            "two copies write the same bytes: does the address formula map two chunks to the same place, or does a copy to a place begin \
             before the previous one is complete?",
        ),
        // A copy that has landed is a write.
        (AsyncWrite, Write) | (Write, AsyncWrite)
            if of_one_line(conflict, location) || all(copies) =>
        {
            (
                "two-in-one-place",
                "two copies write the same bytes: does the address formula map two chunks to the same place, does each stay in its row, and is the array \
             large enough for all rows?",
            )
        }
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
             lanes have read this place before it is filled again? A lane that arrives for its warp needs __syncwarp before that",
        ),
        // The emulator completes copies late, so the order of the two accesses says nothing.
        (AsyncWrite, Read) | (Read, AsyncWrite) => (
            "cp-async-wait",
            "which wait and which barrier are between the copy and the read, and which barrier is between the read and the next copy to the same \
             bytes?",
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
            "these bytes are overwritten while they may still be read: which barrier delays the line that writes them until all threads have read them?",
        ),
        _ => (
            "race-after-the-copy",
            "what orders the write before this access, for every thread that reads?",
        ),
    }
}

/// Whether both accesses are in the same line.
fn of_one_line(conflict: &Conflict, location: &Location) -> bool {
    let line = |of: &Location| of.source.as_ref().map(|source| source.line);
    line(&conflict.other).is_some() && line(&conflict.other) == line(location)
}
