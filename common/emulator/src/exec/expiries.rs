//! When all threads that wait at mbarriers time out, and when that is hopeless: if no thread does more than to repeat
//! its wait.

/// How often all `try_wait`s of a cluster have timed out while memory did not change.
pub(super) struct Expiries {
    /// Number of changes of memory.
    activity: u64,
    count: u64,
    /// After so many, other clusters have a turn.
    allowed: u64,
    /// The digest of each warp at the last power of two.
    known: Vec<u64>,
    /// Whether the warps only repeat their waits, forever.
    repeats: bool,
}

/// How often they time out before other clusters have a turn.
const FIRST: u64 = 16;
/// How often the waits of a cluster's warps, all together, may fail in loops whose state never repeats.
const MOST: u64 = 1 << 22;
/// The longest cycle of states that is detected.
const CYCLE: u64 = 8;

impl Default for Expiries {
    fn default() -> Self {
        Self {
            activity: 0,
            count: 0,
            allowed: FIRST,
            known: Vec::new(),
            repeats: false,
        }
    }
}

impl Expiries {
    /// Whether the waits time out once more. `repeats`: whether a failed wait leads to nothing but the same wait.
    pub fn next(
        &mut self,
        activity: u64,
        digests: impl Fn() -> Vec<u64>,
        repeats: impl Fn() -> bool,
    ) -> bool {
        if self.activity != activity {
            *self = Self {
                activity,
                ..Self::default()
            };
        }
        if self.repeats || self.count >= self.allowed {
            return false;
        }
        self.count += 1;
        let since = self.count - (1 << self.count.ilog2());
        if since == 0 {
            self.known = digests();
        }
        self.repeats = match since {
            0 => self.count == FIRST && repeats(),
            1..=CYCLE => self.known == digests(),
            _ => false,
        };
        !self.repeats
    }

    /// No other cluster can run. Whether the waits may time out more often.
    pub fn extend(&mut self) -> bool {
        let most = MOST / self.known.len().max(1) as u64;
        let extends = !self.repeats && self.count == self.allowed && self.allowed < most;
        if extends {
            self.allowed *= 2;
        }
        extends
    }
}
