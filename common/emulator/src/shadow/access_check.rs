//! What may be wrong with an access.
use crate::happens_before::Actor;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AccessMode {
    Read,
    Write,
    Atomic,
    /// A load or a store that is volatile or has an order.
    StrongRead,
    /// A volatile load, which some write where a warp used to run in lockstep: see [`Shadow::access`](super::Shadow::access).
    VolatileRead,
    StrongWrite,
    /// A `cp.async` starts. It may land at any time from now on, though here it lands late.
    Launch,
    /// Its thread has waited for it.
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
    /// A reduction that lands later, of the async proxy or of the generic one. Reductions do not race with each other.
    AsyncReduce {
        generic: bool,
    },
}

impl AccessMode {
    /// Whether it does not race with others that are strong too.
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

/// The other side of a race.
pub(crate) struct Hazard {
    pub site: Site,
    pub how: AccessMode,
}

/// A lane of the cluster at an operation: whom an access belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Site {
    /// Warp of the cluster.
    pub warp: Actor,
    pub lane: usize,
    pub op: usize,
}

pub(crate) enum AccessCheck {
    Fine,
    Uninitialised,
    Race(Hazard),
    /// Ordered, but no proxy fence has shown the write to the async proxy.
    Unfenced(Hazard),
    /// The bytes belong to an mbarrier, initialised there.
    Mbarrier(Hazard),
}

impl AccessCheck {
    /// Keeps the graver of two.
    pub fn worse(&mut self, other: AccessCheck) {
        let weight = |check: &AccessCheck| match check {
            AccessCheck::Fine => 0,
            AccessCheck::Uninitialised => 1,
            AccessCheck::Unfenced(_) => 2,
            AccessCheck::Race(_) => 3,
            AccessCheck::Mbarrier(_) => 4,
        };
        if weight(&other) >= weight(self) {
            *self = other;
        }
    }
}
