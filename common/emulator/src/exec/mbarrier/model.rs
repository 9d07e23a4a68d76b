//! An mbarrier on its own, without a kernel, to be studied operation by operation.
use super::{MAX_COUNT, Mbarrier};

/// The mbarrier that the emulator executes kernels with.
///
/// ```
/// let mut barrier = emulator::MbarrierModel::new(1).expect("one arrival a phase");
/// barrier.expect(1024).expect("bytes that it can count");
/// barrier.arrive(1).expect("the arrival that is pending");
/// assert!(!barrier.is_complete(0), "the bytes are still pending");
/// barrier.complete(1024).expect("bytes that it can count");
/// assert!(barrier.is_complete(0));
/// ```
pub struct MbarrierModel(Mbarrier);

impl MbarrierModel {
    /// `mbarrier.init` with the arrivals that each phase expects.
    ///
    /// # Errors
    /// If `count` is outside the range of an mbarrier.
    pub fn new(count: u32) -> Result<Self, String> {
        match count {
            1..=MAX_COUNT => Ok(Self(Mbarrier::new(count, 0))),
            _ => Err(format!(
                "a count of {count}; it must be from 1 to {MAX_COUNT}"
            )),
        }
    }

    /// `mbarrier.arrive`. Returns whether that completes the phase.
    ///
    /// # Errors
    /// If fewer than `count` arrivals are pending.
    pub fn arrive(&mut self, count: u32) -> Result<bool, String> {
        self.0
            .arrive(count, false, false)
            .map_err(|misuse| misuse.1)?;
        Ok(self.0.turn())
    }

    /// `mbarrier.expect_tx`: the phase waits for these bytes too.
    ///
    /// # Errors
    /// If the tx-count would be out of range.
    pub fn expect(&mut self, bytes: u32) -> Result<bool, String> {
        self.0.transact(bytes.into()).map_err(|misuse| misuse.1)?;
        Ok(self.0.turn())
    }

    /// A copy completes these bytes. Returns whether that completes the phase.
    ///
    /// # Errors
    /// If the tx-count would be out of range.
    pub fn complete(&mut self, bytes: u32) -> Result<bool, String> {
        self.0
            .transact(-i64::from(bytes))
            .map_err(|misuse| misuse.1)?;
        Ok(self.0.turn())
    }

    /// `mbarrier.test_wait.parity`: whether the phase of this parity is complete, which is the case if the current
    /// phase has the other parity.
    pub fn is_complete(&self, parity: u32) -> bool {
        self.0.phase % 2 != u64::from(parity % 2)
    }

    /// The number of the current phase, from 0.
    pub fn phase(&self) -> u64 {
        self.0.phase
    }

    /// Pending arrivals, and expected arrivals of each phase.
    pub fn arrivals(&self) -> (u32, u32) {
        (self.0.pending, self.0.expected)
    }

    /// The tx-count: pending bytes; negative if more have been completed than expected.
    pub fn bytes(&self) -> i64 {
        self.0.bytes
    }

    /// Describes what it waits for.
    pub fn wanting(&self) -> String {
        self.0.wanting()
    }

    /// Whether no arrival is pending but the tx-count is not zero: without further copies, a wait never ends.
    pub fn is_stuck(&self) -> bool {
        self.0.is_stuck()
    }
}
