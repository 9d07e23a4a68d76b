//! What each machine instruction costs: its pipe, its latency, its effects.
use crate::card::Card;
use crate::machine_code::MachineInstruction;

/// The execution pipes. Each sub-partition has its own, [`Pipe::None`] apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pipe {
    /// Takes an issue slot and no pipe.
    None,
    /// One half of the f32 pipe: ncu's `fmalite`. An instruction of this class is sent to whichever half is free.
    Fma,
    /// The other half, which also executes integer multiplication and f16 arithmetic: ncu's `fmaheavy`.
    FmaHeavy,
    /// Integer arithmetic, logic, comparison.
    Alu,
    /// f64.
    Double,
    /// The uniform datapath: one result for the whole warp.
    Uniform,
    /// The multifunction unit (MUFU), and conversions.
    Special,
    /// `mma.sync` and `wgmma`.
    Tensor,
    /// The queue to shared memory, the L1 and everything else that the sub-partitions share.
    Memory,
}

/// The number of pipes.
pub const PIPES: usize = 9;

/// How an instruction affects other warps and memory, and what its warp waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Does {
    /// Computes; dependent instructions are ordered by the stall count.
    Computes,
    /// Computes, and releases a scoreboard when the result is ready.
    Scoreboard,
    /// Reads or writes shared memory.
    Shared,
    /// Exchanges registers among lanes, through shared memory's data pipe.
    Shuffle,
    /// Loads from global memory.
    GlobalLoad,
    /// Stores to global memory.
    GlobalStore {
        /// Bytes of a lane.
        bytes: u32,
    },
    /// `atom` and `red` in global memory.
    Atomic,
    /// `cp.async`.
    AsyncCopy {
        /// Bytes of a lane.
        bytes: u32,
    },
    /// `cp.async.commit_group`.
    CommitCopies,
    /// Waits until at most this many groups are pending, of `cp.async` or of bulk copies.
    WaitGroups(u32),
    /// `bar.sync` and `bar.arrive`.
    Barrier {
        /// Whether the warp waits.
        waits: bool,
    },
    /// An operation on an mbarrier after which the warp goes on.
    Mbarrier,
    /// `mbarrier.try_wait`.
    MbarrierWait,
    /// A bulk copy: a tensor box (TMA) or a contiguous range of bytes.
    BulkCopy,
    /// Prefetches a tensor map.
    PrefetchMap,
    /// `cp.async.bulk.commit_group`.
    CommitBulk,
    /// `wgmma.mma_async`; true if it is the last of its group.
    Wgmma(bool),
    /// Waits until at most this many `wgmma` groups are pending.
    WaitWgmma(u32),
    /// `barrier.cluster.arrive`.
    ClusterArrive,
    /// `barrier.cluster.wait`.
    ClusterWait,
    /// `membar` and fences: the warp's next instruction issues this many clocks later.
    Fence(f64),
    /// A fence that also waits for the bulk copies in flight to the SM.
    FenceOfCopies(f64),
    /// A branch.
    Branch,
}

/// How an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// The pipe that executes it.
    pub pipe: Pipe,
    /// Clocks until the pipe accepts its next instruction.
    pub interval: f64,
    /// Clocks until the result, for instructions whose result releases a scoreboard.
    pub latency: f64,
    /// What it does.
    pub does: Does,
}

/// FLOP of a shape such as `64x256x16` or `16816`: twice the product of its numbers.
fn flop(opcode: &str) -> f64 {
    let shape = opcode.split('.').nth(1).unwrap_or_default();
    let numbers = shape.split('x').filter_map(|n| n.parse::<u32>().ok());
    let numbers: Vec<f64> = numbers.map(f64::from).collect();
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

/// Bytes that a lane loads or stores: 16 with `STG.E.128`.
fn bytes_of_a_lane(opcode: &str) -> u32 {
    let width = |part: &str| match part {
        "U8" | "S8" => Some(1),
        "U16" | "S16" => Some(2),
        "64" => Some(8),
        "128" => Some(16),
        _ => None,
    };
    opcode.split('.').find_map(width).unwrap_or(4)
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
    /// Classifies a machine instruction on this card.
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
            "DFMA" | "DADD" | "DMUL" | "DSETP" => new(
                Pipe::Double,
                interval.double,
                latency.double,
                Does::Scoreboard,
            ),
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
                // 8-bit products take half the time of f16 products (H100 whitepaper).
                let rate = if root == "IMMA" { 2.0 } else { 1.0 } * interval.mma_flop;
                new(
                    Pipe::Tensor,
                    flop(opcode) / rate,
                    latency.mma,
                    Does::Scoreboard,
                )
            }
            "HGMMA" | "IGMMA" | "QGMMA" | "BGMMA" => {
                // Each warp computes 16 of the 64 rows.
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
            "SHFL" | "MOVM" | "REDUX" => new(Pipe::Memory, 1.0, latency.shuffle, Does::Shuffle),
            "LDG" | "LD" | "LDL" => memory(Does::GlobalLoad),
            "STG" | "ST" | "STL" => memory(Does::GlobalStore {
                bytes: bytes_of_a_lane(opcode),
            }),
            "ATOM" | "ATOMG" | "RED" | "REDG" => memory(Does::Atomic),
            "LDGSTS" => memory(Does::AsyncCopy {
                bytes: bytes_of_a_lane(opcode),
            }),
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
            "UTMACCTL" if opcode.contains("PF") => new(Pipe::None, 1.0, 0.0, Does::PrefetchMap),
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
