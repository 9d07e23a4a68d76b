//! The kinds of accesses, and what may be wrong with one.
use crate::happens_before::Actor;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessMode {
    Read,
    Write,
    Atomic,
    /// A load that is volatile or has a memory order.
    StrongRead,
    /// A volatile load, as in code that relies on warps running in lockstep: see
    /// [`Shadow::access`](super::Shadow::access).
    VolatileRead,
    StrongWrite,
    /// A `cp.async` is issued. On a GPU it may write at any time from now on; in the emulator it lands late.
    Launch,
    /// A `cp.async` lands, because its thread has waited for it.
    Land,
    /// `mbarrier.init`: from now on only mbarrier instructions may touch these bytes.
    Init,
    /// `mbarrier.inval`: ordinary memory again.
    Invalidate,
    /// By the async proxy.
    AsyncRead,
    AsyncWrite,
    /// `st.async`: asynchronous, in the generic proxy.
    AsyncStore,
    /// An asynchronous reduction, in the async or the generic proxy. Reductions do not race with each other.
    AsyncReduce {
        generic: bool,
    },
}

impl AccessMode {
    /// Whether it is strong: strong accesses do not race with each other.
    pub fn is_strong(self) -> bool {
        matches!(
            self,
            Self::Atomic | Self::StrongRead | Self::VolatileRead | Self::StrongWrite
        )
    }
    pub fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::StrongRead | Self::VolatileRead)
    }
}

/// The other access of a race.
pub(crate) struct Hazard {
    pub site: Site,
    pub how: AccessMode,
}

/// A lane of the cluster at an operation: the origin of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Site {
    /// Warp of the cluster.
    pub warp: Actor,
    pub lane: usize,
    pub op: usize,
}

pub(crate) enum AccessCheck {
    Fine,
    Uninitialized,
    Race(Hazard),
    /// Ordered, but no proxy fence has made the write visible to the async proxy.
    Unfenced(Hazard),
    /// The bytes belong to an mbarrier, initialized there.
    Mbarrier(Hazard),
}

impl AccessCheck {
    /// Keeps the more severe of two results.
    pub fn worse(&mut self, other: AccessCheck) {
        let weight = |check: &AccessCheck| match check {
            AccessCheck::Fine => 0,
            AccessCheck::Uninitialized => 1,
            AccessCheck::Unfenced(_) => 2,
            AccessCheck::Race(_) => 3,
            AccessCheck::Mbarrier(_) => 4,
        };
        if weight(&other) >= weight(self) {
            *self = other;
        }
    }
}
