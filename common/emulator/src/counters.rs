//! What one PTX instruction did, summed over all warps.
use crate::SharedAccess;
use crate::banks::LANES;

/// Counters of one PTX instruction over a whole launch, in the sense of Nsight Compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Warp-level executions (`inst_executed`).
    pub executions: u64,
    /// Thread-level executions: active lanes, summed (`thread_inst_executed`).
    pub threads: u64,
    /// Bytes that the active lanes asked for.
    pub bytes: u64,
    /// Shared memory: wavefronts, ideal wavefronts, bank conflicts.
    pub shared: Wavefronts,
    /// Global memory: requests, one for each warp-level execution.
    pub global_requests: u64,
    /// Global memory: 32-byte sectors touched.
    pub global_sectors: u64,
    /// Global memory: the fewest sectors that could hold the bytes asked for.
    pub global_sectors_ideal: u64,
    /// `mbarrier.try_wait`: warp instructions that the cluster executed while a warp waited here. Like the order
    /// of the warps, it is the emulator's and no GPU's: it tells which wait is the long one.
    pub waited: u64,
}

/// Waits of warps at one instruction for one mbarrier, or for their `cp.async`s, summed over all blocks.
///
/// A step is a warp instruction that any warp of the cluster executed. As asynchronous copies land as late as the
/// program allows, a wait for them lasts however early they were issued: `ahead` says how early that was, and so
/// how much work there was to hide their latency behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// Index in [`Function::instructions`](crate::Function::instructions).
    pub instruction: usize,
    /// Shared address in the block; none at `cp.async.wait_group` and `cp.async.wait_all`.
    pub mbarrier: Option<u32>,
    /// Waits that ended: once for each warp, or part of one that goes alone. Lanes that wait at several mbarriers at
    /// once count as one wait, at the first that was complete.
    pub times: u64,
    /// Those that found the phase incomplete. A `cp.async` lands when its wait begins, so nobody waits for it here.
    pub waited: u64,
    /// Steps from the first look to the end: their sum here, the longest in `longest`.
    pub steps: u64,
    /// See `steps`.
    pub longest: u64,
    /// Waits for a phase in which copies landed.
    pub copied: u64,
    /// For these, steps from the issue of the last such copy to the first look, summed; 0 where it was issued later.
    pub ahead: u64,
    /// Bytes that `cp.async`s brought which landed here; 0 at an mbarrier, where one warp may wait for what another has
    /// issued.
    pub bytes: u64,
    /// For each of these bytes, the `mma.sync`s of the warp itself since its copy was issued, summed: how much of its
    /// work there is to hide the latency behind, whatever the order of the warps and whatever else they execute.
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

/// A pattern of addresses that some warp asked for, wherever in memory: it costs the same everywhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessPattern {
    /// Index in [`Function::instructions`](crate::Function::instructions).
    pub instruction: usize,
    /// How shared memory was accessed; none for global memory.
    pub shared: Option<SharedAccess>,
    /// Bytes of each lane.
    pub bytes: u32,
    /// Where each lane's bytes start, from a multiple of 128; none for a lane that took no part. Of a matrix access,
    /// only the lanes that name a row.
    pub offsets: [Option<u64>; LANES],
}

/// How shared memory served one or more warp-level accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wavefronts {
    /// Passes through the data pipe.
    pub wavefronts: u64,
    /// Passes with no two words of a group in one bank: the number of groups with an active lane.
    pub ideal: u64,
    /// `wavefronts - ideal`, as the hardware's bank-conflict counter has it.
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
