//! An mbarrier by itself, with no kernel around it: to be looked at, operation by operation.
use super::{MAX_COUNT, Mbarrier};

/// An mbarrier as the emulator's kernels have it.
///
/// ```
/// let mut barrier = emulator::MbarrierModel::new(1).expect("one arrival a phase");
/// barrier.expect(1024).expect("bytes that it can count");
/// barrier.arrive(1).expect("the arrival that is pending");
/// assert!(!barrier.is_complete(0), "the bytes are still to come");
/// barrier.complete(1024).expect("bytes that it can count");
/// assert!(barrier.is_complete(0));
/// ```
pub struct MbarrierModel(Mbarrier);

impl MbarrierModel {
    /// `mbarrier.init`: arrivals that each phase takes.
    ///
    /// # Errors
    /// If an mbarrier cannot count so many.
    pub fn new(count: u32) -> Result<Self, String> {
        match count {
            1..=MAX_COUNT => Ok(Self(Mbarrier::new(count, 0))),
            _ => Err(format!(
                "a count of {count}; it lies between 1 and {MAX_COUNT}"
            )),
        }
    }

    /// `mbarrier.arrive`. Whether that completes the phase.
    ///
    /// # Errors
    /// If fewer arrivals are pending.
    pub fn arrive(&mut self, count: u32) -> Result<bool, String> {
        self.0.arrive(count, false, false)?;
        Ok(self.0.turn())
    }

    /// `mbarrier.expect_tx`: bytes that the phase waits for, too.
    ///
    /// # Errors
    /// If they are more than it can count.
    pub fn expect(&mut self, bytes: u32) -> Result<bool, String> {
        self.0.transact(bytes.into())?;
        Ok(self.0.turn())
    }

    /// Bytes that a copy has brought. Whether that completes the phase.
    ///
    /// # Errors
    /// If they are more than it can count.
    pub fn complete(&mut self, bytes: u32) -> Result<bool, String> {
        self.0.transact(-i64::from(bytes))?;
        Ok(self.0.turn())
    }

    /// `mbarrier.test_wait.parity`: whether the phase of this parity is complete, which is so if the current one has the other.
    pub fn is_complete(&self, parity: u32) -> bool {
        self.0.phase % 2 != u64::from(parity % 2)
    }

    /// The phase, from 0.
    pub fn phase(&self) -> u64 {
        self.0.phase
    }

    /// Arrivals that are pending, and how many each phase takes.
    pub fn arrivals(&self) -> (u32, u32) {
        (self.0.pending, self.0.expected)
    }

    /// Bytes that are still to come; fewer than 0 if more have come than were announced.
    pub fn bytes(&self) -> i64 {
        self.0.bytes
    }

    /// What it waits for, in words.
    pub fn wanting(&self) -> String {
        self.0.wanting()
    }

    /// All arrivals are there, but other bytes than were announced: if nothing more comes, a wait never ends.
    pub fn is_stuck(&self) -> bool {
        self.0.is_stuck()
    }
}
