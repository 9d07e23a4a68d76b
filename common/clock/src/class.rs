//! What a machine instruction asks of its SM.
use crate::card::Card;
use crate::machine_code::MachineInstruction;

/// The pipes that issue slots feed. All but [`Pipe::None`] belong to a sub-partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pipe {
    /// Needs an issue slot and nothing else.
    None,
    /// Half of the lanes of f32 arithmetic: ncu's `fmalite`. An instruction that is given to it goes to whichever half is free.
    Fma,
    /// The other half, which also multiplies integers and computes in f16: ncu's `fmaheavy`.
    FmaHeavy,
    /// Integer arithmetic, logic, comparison.
    Alu,
    /// f64.
    Double,
    /// What is the same for a whole warp.
    Uniform,
    /// The multifunction unit and conversions.
    Special,
    /// `mma.sync` and `wgmma`.
    Tensor,
    /// The queue to shared memory, the L1 and what else all sub-partitions share.
    Memory,
}

/// The number of pipes.
pub const PIPES: usize = 9;

/// What an instruction does to other warps, to memory, or to what its warp waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Does {
    /// Computes; the stall count orders what depends on it.
    Computes,
    /// Computes, and releases a scoreboard when it is done.
    Scoreboard,
    /// Reads or writes shared memory.
    Shared,
    /// Loads from global memory.
    GlobalLoad,
    /// Stores to global memory.
    GlobalStore,
    /// `atom` and `red` in global memory.
    Atomic,
    /// `cp.async`.
    AsyncCopy,
    /// `cp.async.commit_group`.
    CommitCopies,
    /// Waits until at most so many groups are pending: of `cp.async`, or of bulk copies.
    WaitGroups(u32),
    /// `bar.sync` and `bar.arrive`.
    Barrier {
        /// Whether it waits.
        waits: bool,
    },
    /// An operation on an mbarrier that does not wait.
    Mbarrier,
    /// `mbarrier.try_wait`.
    MbarrierWait,
    /// A copy by TMA or of a run of bytes.
    BulkCopy,
    /// `cp.async.bulk.commit_group`.
    CommitBulk,
    /// `wgmma.mma_async`; whether it ends a group.
    Wgmma(bool),
    /// Waits until at most so many groups of `wgmma` are pending.
    WaitWgmma(u32),
    /// `barrier.cluster.arrive`.
    ClusterArrive,
    /// `barrier.cluster.wait`.
    ClusterWait,
    /// `membar` and fences: the warp's next instruction waits for so many clocks.
    Fence(f64),
    /// The same, and it waits for the bulk copies that are in flight to the SM.
    FenceOfCopies(f64),
    /// A branch.
    Branch,
}

/// How an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Where it goes.
    pub pipe: Pipe,
    /// Clocks until the pipe takes the next one.
    pub interval: f64,
    /// Clocks to the result, where a scoreboard waits for it.
    pub latency: f64,
    /// The rest.
    pub does: Does,
}

/// The numbers in a shape such as `64x256x16` or `16816`.
fn flop(opcode: &str) -> f64 {
    let shape = opcode.split('.').nth(1).unwrap_or_default();
    let numbers: Vec<f64> = shape.split('x').filter_map(|n| n.parse().ok()).collect();
    match (numbers.as_slice(), shape) {
        ([m, n, k], _) => 2.0 * m * n * k,
        (_, "16816") => 2.0 * 16.0 * 8.0 * 16.0,
        (_, "1688") => 2.0 * 16.0 * 8.0 * 8.0,
        (_, "16832") => 2.0 * 16.0 * 8.0 * 32.0,
        (_, "16864") => 2.0 * 16.0 * 8.0 * 64.0,
        (_, "1684") => 2.0 * 16.0 * 8.0 * 4.0,
        (_, "884") => 2.0 * 8.0 * 8.0 * 4.0,
        _ => 2.0 * 16.0 * 8.0 * 16.0,
    }
}

/// The last number among the operands: `SB0,0x1`.
fn last_number(operands: &str) -> u32 {
    let last = operands.rsplit(',').next().unwrap_or_default().trim();
    match last.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).unwrap_or(0),
        None => last.parse().unwrap_or(0),
    }
}

impl Class {
    /// Of a machine instruction on this card.
    pub fn of(one: &MachineInstruction, card: &Card) -> Self {
        let (interval, latency) = (&card.interval, &card.latency);
        let opcode = one.opcode.as_str();
        let root = opcode.split('.').next().unwrap_or_default();
        let new = |pipe, interval, latency, does| Self {
            pipe,
            interval,
            latency,
            does,
        };
        let plain = |pipe, interval| new(pipe, interval, 6.0, Does::Computes);
        let memory = |does| new(Pipe::Memory, 1.0, latency.shared, does);
        match root {
            "FFMA" | "FADD" | "FMUL" | "FFMA32I" => plain(Pipe::Fma, 2.0 * interval.fma),
            "HFMA2" | "HADD2" | "HMUL2" | "HMNMX2" | "HSETP2" => {
                plain(Pipe::FmaHeavy, interval.half)
            }
            "IMAD" if opcode.contains(".WIDE") => plain(Pipe::FmaHeavy, interval.imad_wide),
            "IMAD" | "IDP" | "IDP4A" => plain(Pipe::FmaHeavy, interval.imad),
            "DFMA" | "DADD" | "DMUL" | "DSETP" => {
                new(Pipe::Double, interval.double, 16.0, Does::Scoreboard)
            }
            "MUFU" => new(
                Pipe::Special,
                interval.special,
                latency.special,
                Does::Scoreboard,
            ),
            "F2I" | "I2F" | "F2F" | "FRND" | "POPC" | "FLO" | "BREV" => new(
                Pipe::Special,
                interval.convert,
                latency.special,
                Does::Scoreboard,
            ),
            "LDC" | "ULDC" | "S2R" | "S2UR" | "R2UR" | "CS2UR" => {
                new(Pipe::None, 1.0, latency.constant, Does::Scoreboard)
            }
            "HMMA" | "IMMA" | "DMMA" => {
                // Products of 8 bits take half the time of those of f16 (H100 whitepaper).
                let rate = if root == "IMMA" { 2.0 } else { 1.0 } * interval.mma_flop;
                new(
                    Pipe::Tensor,
                    flop(opcode) / rate,
                    latency.mma,
                    Does::Scoreboard,
                )
            }
            "HGMMA" | "IGMMA" | "QGMMA" | "BGMMA" => {
                // A warp has 16 of the 64 rows.
                let rate = if root == "HGMMA" { 1.0 } else { 2.0 } * interval.wgmma_flop;
                let ends = one.operands.contains("gsb0");
                new(
                    Pipe::Tensor,
                    flop(opcode) / 4.0 / rate,
                    0.0,
                    Does::Wgmma(ends),
                )
            }
            "WARPGROUP" if opcode.contains("DEPBAR") => new(
                Pipe::None,
                1.0,
                0.0,
                Does::WaitWgmma(last_number(&one.operands)),
            ),
            "LDS" | "LDSM" | "STS" | "STSM" => memory(Does::Shared),
            "ATOMS" => memory(Does::Shared),
            "SHFL" | "MOVM" | "REDUX" => new(
                Pipe::Memory,
                interval.shuffle,
                latency.shared,
                Does::Scoreboard,
            ),
            "LDG" | "LD" | "LDL" => memory(Does::GlobalLoad),
            "STG" | "ST" | "STL" => memory(Does::GlobalStore),
            "ATOM" | "ATOMG" | "RED" | "REDG" => memory(Does::Atomic),
            "LDGSTS" => memory(Does::AsyncCopy),
            "LDGDEPBAR" => new(Pipe::None, 1.0, 0.0, Does::CommitCopies),
            "DEPBAR" => new(
                Pipe::None,
                1.0,
                0.0,
                Does::WaitGroups(last_number(&one.operands)),
            ),
            "BAR" => {
                let waits = !opcode.contains(".ARV");
                new(Pipe::None, 1.0, 0.0, Does::Barrier { waits })
            }
            "SYNCS" if opcode.contains("TRYWAIT") || opcode.contains("PHASECHK") => {
                memory(Does::MbarrierWait)
            }
            "SYNCS" | "ARRIVES" => memory(Does::Mbarrier),
            "UTMALDG" | "UTMASTG" | "UTMAREDG" | "UBLKCP" | "UBLKRED" => memory(Does::BulkCopy),
            "UTMACMDFLUSH" => new(Pipe::None, 1.0, 0.0, Does::CommitBulk),
            "UCGABAR_ARV" => new(Pipe::None, 1.0, 0.0, Does::ClusterArrive),
            "UCGABAR_WAIT" => new(Pipe::None, 1.0, 0.0, Does::ClusterWait),
            "MEMBAR" if opcode.contains("CTA") => {
                new(Pipe::None, 1.0, 0.0, Does::Fence(latency.membar_cta))
            }
            "MEMBAR" => new(
                Pipe::None,
                1.0,
                0.0,
                Does::FenceOfCopies(latency.membar_gpu),
            ),
            "FENCE" => new(Pipe::None, 1.0, 0.0, Does::Fence(latency.proxy_fence)),
            "BRA" | "JMP" | "BRX" | "CALL" | "RET" => new(Pipe::None, 1.0, 0.0, Does::Branch),
            "NOP" | "BSSY" | "BSYNC" | "EXIT" | "WARPSYNC" | "WARPGROUP" | "ELECT" | "VOTE"
            | "VOTEU" | "ERRBAR" | "CCTL" | "UTMACCTL" | "UTMAPF" | "ACQBULK" | "PREEXIT"
            | "USETMAXREG" | "YIELD" | "NANOSLEEP" | "BMOV" => plain(Pipe::None, 1.0),
            _ if root.starts_with('U') => plain(Pipe::Uniform, interval.uniform),
            _ => plain(Pipe::Alu, interval.alu),
        }
    }
}
