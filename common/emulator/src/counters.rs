//! What one PTX instruction did, summed over all warps.

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
