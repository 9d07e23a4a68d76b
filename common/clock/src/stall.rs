//! Why a warp does not issue, named as in Nsight Compute ("Warp Stall Reasons").

/// A stall reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "explained in Nsight Compute's documentation")]
pub enum Stall {
    Selected,
    NotSelected,
    Wait,
    ShortScoreboard,
    LongScoreboard,
    MathPipeThrottle,
    MioThrottle,
    LgThrottle,
    Barrier,
    Membar,
    Gmma,
    BranchResolving,
}

/// All stall reasons, in the order of the enum.
pub const STALLS: [Stall; 12] = [
    Stall::Selected,
    Stall::NotSelected,
    Stall::Wait,
    Stall::ShortScoreboard,
    Stall::LongScoreboard,
    Stall::MathPipeThrottle,
    Stall::MioThrottle,
    Stall::LgThrottle,
    Stall::Barrier,
    Stall::Membar,
    Stall::Gmma,
    Stall::BranchResolving,
];

impl Stall {
    /// The name in ncu's metrics: `smsp__average_warps_issue_stalled_<name>_per_issue_active`.
    ///
    /// ncu counts the wait for a `wgmma` group (`WARPGROUP.DEPBAR`) as `barrier`: rungs 11 to 13 have no barrier in
    /// their loops, and still four tenths of ncu's warp samples are `barrier` (`calibration/h200/stalls.csv`). Its
    /// reason `gmma` is smaller, and in `cargo ladder clocks` consumers wait that long for nothing else.
    pub fn ncu(self) -> &'static str {
        match self {
            Self::Gmma => "barrier",
            other => other.name(),
        }
    }

    /// The model's own name, which tells a wait for `wgmma` from a wait at a barrier.
    pub fn name(self) -> &'static str {
        match self {
            Self::Selected => "selected",
            Self::NotSelected => "not_selected",
            Self::Wait => "wait",
            Self::ShortScoreboard => "short_scoreboard",
            Self::LongScoreboard => "long_scoreboard",
            Self::MathPipeThrottle => "math_pipe_throttle",
            Self::MioThrottle => "mio_throttle",
            Self::LgThrottle => "lg_throttle",
            Self::Barrier => "barrier",
            Self::Membar => "membar",
            Self::Gmma => "gmma",
            Self::BranchResolving => "branch_resolving",
        }
    }
}
