//! Counters of one PTX instruction, summed over all warps.
use crate::SharedAccess;
use crate::banks::LANES;

/// Counters of one PTX instruction over a whole launch, with Nsight Compute's definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Warp-level executions (`inst_executed`).
    pub executions: u64,
    /// Thread-level executions: active lanes, summed (`thread_inst_executed`).
    pub threads: u64,
    /// Bytes that the active lanes requested.
    pub bytes: u64,
    /// Shared memory: wavefronts, ideal wavefronts, bank conflicts.
    pub shared: Wavefronts,
    /// Global memory: requests, one for each warp-level execution.
    pub global_requests: u64,
    /// Global memory: 32-byte sectors touched.
    pub global_sectors: u64,
    /// Global memory: the fewest sectors that could hold the requested bytes.
    pub global_sectors_ideal: u64,
    /// `mbarrier.try_wait`: warp instructions that the cluster executed while a warp waited here. It depends on
    /// the emulator's order of warps, not on a GPU's; use it to compare waits with each other.
    pub waited: u64,
}

/// Waits of warps at one instruction for one mbarrier, or for their own `cp.async`s, summed over all blocks.
///
/// A step is a warp instruction that any warp of the cluster executed. Asynchronous copies complete as late as
/// the program allows, so the length of a wait does not depend on when they were issued. `ahead` says how early
/// they were issued, and so how much work there was to hide their latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// Index in [`Function::instructions`](crate::Function::instructions).
    pub instruction: usize,
    /// Shared address in the block; `None` at `cp.async.wait_group` and `cp.async.wait_all`.
    pub mbarrier: Option<u32>,
    /// Waits that ended: one for each warp, or for each part of a diverged warp. Lanes that wait at several
    /// mbarriers at once count as one wait, at the first mbarrier whose phase completed.
    pub times: u64,
    /// Waits that found the phase incomplete. This does not count waits for `cp.async`: the emulator completes it when
    /// its wait begins.
    pub waited: u64,
    /// Steps from the first test of the phase to the end of the wait, summed; the longest is in `longest`.
    pub steps: u64,
    /// See `steps`.
    pub longest: u64,
    /// Waits for a phase in which copies completed.
    pub copied: u64,
    /// For these, steps from the issue of the last such copy to the first test of the phase, summed; 0 where it was
    /// issued later.
    pub ahead: u64,
    /// Bytes copied by the `cp.async`s that completed here; 0 at an mbarrier, where one warp may wait for copies that
    /// another has issued.
    pub bytes: u64,
    /// For each of these bytes, the `mma.sync`s that the warp itself executed since the copy was issued, summed: how
    /// much work of its own hides the latency, independent of the order of the warps and of their other instructions.
    pub products: u64,
}

impl std::ops::AddAssign for Wait {
    fn add_assign(&mut self, other: Self) {
        self.times += other.times;
        self.waited += other.waited;
        self.steps += other.steps;
        self.longest = self.longest.max(other.longest);
        self.copied += other.copied;
        self.ahead += other.ahead;
        self.bytes += other.bytes;
        self.products += other.products;
    }
}

/// A pattern of addresses that a warp accessed, relative to its start: it costs the same anywhere in memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessPattern {
    /// Index in [`Function::instructions`](crate::Function::instructions).
    pub instruction: usize,
    /// How shared memory was accessed; `None` for global memory.
    pub shared: Option<SharedAccess>,
    /// Bytes of each lane.
    pub bytes: u32,
    /// Where each lane's bytes start, relative to a multiple of 128; `None` for an inactive lane. In a matrix access,
    /// only the lanes that name a row have one.
    pub offsets: [Option<u64>; LANES],
}

/// How shared memory served one or more warp-level accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wavefronts {
    /// Passes through the data pipe.
    pub wavefronts: u64,
    /// Passes without bank conflicts: the number of groups with an active lane.
    pub ideal: u64,
    /// `wavefronts - ideal`, as the hardware's bank-conflict counter reports it.
    pub conflicts: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.executions += other.executions;
        self.threads += other.threads;
        self.bytes += other.bytes;
        self.shared += other.shared;
        self.global_requests += other.global_requests;
        self.global_sectors += other.global_sectors;
        self.global_sectors_ideal += other.global_sectors_ideal;
        self.waited += other.waited;
    }
}

impl std::ops::AddAssign for Wavefronts {
    fn add_assign(&mut self, other: Self) {
        self.wavefronts += other.wavefronts;
        self.ideal += other.ideal;
        self.conflicts += other.conflicts;
    }
}
