//! Typed operations: what a kernel is lowered to.
use crate::lower::Scalar;
use crate::tensor::Factor;

/// The class of a register: 32 lanes of 32 bits, of 64 bits, or of one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    Word,
    Double,
    Predicate,
}

/// A register of any class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reg {
    pub class: Class,
    pub index: u32,
}

/// One operation; several may stand for one PTX instruction.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    /// Predicate register and whether it is negated.
    pub guard: Option<(u32, bool)>,
    pub code: Code,
    /// Index into [`Program::instructions`].
    pub instruction: u32,
    /// Whether this is the operation that counts as the instruction's execution.
    pub first: bool,
}

/// 32-bit operations with a vector path of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    ShrU,
    ShrS,
    AddF32,
    MulF32,
}

/// 64-bit operations with a vector path of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Double {
    Add,
    Sub,
    And,
    Or,
    Xor,
}

/// Comparisons with a vector path of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    LtS,
    LeS,
    GtS,
    GeS,
    LtU,
    LeU,
    GtU,
    GeU,
}

/// What an operation does. Register numbers are of the class that the comment names (w, d, p).
#[derive(Clone, Debug)]
pub(crate) enum Code {
    /// w = w op w
    Word {
        op: Word,
        d: u32,
        a: u32,
        b: u32,
    },
    /// w = w * w + w
    MadLo {
        d: u32,
        a: u32,
        b: u32,
        c: u32,
    },
    /// w = fma(w, w, w), f32, nearest even
    FmaF32 {
        d: u32,
        a: u32,
        b: u32,
        c: u32,
    },
    /// d = d op d
    Double {
        op: Double,
        d: u32,
        a: u32,
        b: u32,
    },
    /// d = w * w + d
    MadWide {
        signed: bool,
        d: u32,
        a: u32,
        b: u32,
        c: u32,
    },
    /// d = w
    Extend {
        signed: bool,
        d: u32,
        a: u32,
    },
    /// w = d
    Truncate {
        d: u32,
        a: u32,
    },
    MoveWord {
        d: u32,
        a: u32,
    },
    MoveDouble {
        d: u32,
        a: u32,
    },
    /// w = f32(w), w an f16
    HalfToFloat {
        d: u32,
        a: u32,
    },
    /// w = f16(w), w an f32, nearest even
    FloatToHalf {
        d: u32,
        a: u32,
    },
    /// p = w op w
    Compare {
        op: Compare,
        d: u32,
        a: u32,
        b: u32,
    },
    /// w = p ? w : w
    Select {
        d: u32,
        a: u32,
        b: u32,
        p: u32,
    },
    /// Any arithmetic, thread by thread.
    Scalar {
        f: Scalar,
        d: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    /// w = table of (w, w, w)
    Lop3 {
        d: u32,
        a: u32,
        b: u32,
        c: u32,
        table: u8,
    },
    /// p = p op p
    Logic {
        op: Logic,
        d: u32,
        a: u32,
        b: u32,
        negate_b: bool,
    },
    /// Many parts into one register, low part first.
    Pack {
        d: Reg,
        parts: Box<[Reg]>,
        bits: u32,
    },
    /// One register into its parts.
    Unpack {
        parts: Box<[Reg]>,
        a: Reg,
        bits: u32,
    },

    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<AtomicAccess>),

    Branch {
        target: u32,
        rejoin: u32,
    },
    Exit,
    Trap,
    /// Block-wide barrier.
    Barrier(Box<Barrier>),
    /// `bar.warp.sync`: the mask register (w).
    WarpSync {
        mask: u32,
    },
    /// `ldmatrix` and `stmatrix`
    Matrix(Box<MatrixAccess>),
    /// `mma.sync`
    Mma(Box<Mma>),
    /// `cp.async`
    AsyncCopy(Box<AsyncCopy>),
    /// `cp.async.commit_group`
    AsyncCommit,
    /// `cp.async.wait_group`: all but so many groups have landed; all copies for `wait_all`.
    AsyncWait {
        pending: Option<u32>,
    },
    /// `mbarrier` instructions that do not wait, and `cp.async.mbarrier.arrive`
    Mbarrier(Box<MbarrierAccess>),
    /// `mbarrier.test_wait` and `.try_wait`
    MbarrierWait(Box<MbarrierWait>),
    /// `barrier.cluster.arrive` and `.wait`
    ClusterBarrier(ClusterBarrier),
    /// `mapa`: the address of the same place in another block of the cluster.
    MapShared {
        d: Reg,
        a: Reg,
        /// The block's rank (w).
        rank: u32,
    },
    /// `getctarank`: w = the rank of the block that an address belongs to.
    RankOf {
        d: u32,
        a: Reg,
    },
    /// `cp.async.bulk` and `cp.async.bulk.tensor`
    BulkCopy(Box<BulkCopy>),
    /// `cp.async.bulk.commit_group`
    BulkCommit,
    /// `cp.async.bulk.wait_group`: all but so many groups are complete, or with `read` have read their source.
    BulkWait {
        pending: u32,
        read: bool,
    },
    /// `elect.sync`: w = the elected lane, p = whether it is this one.
    Elect {
        d: u32,
        p: u32,
        mask: u32,
    },
    /// `setmaxnreg`
    SetRegisters {
        count: u32,
        increase: bool,
    },
    /// `wgmma.mma_async`
    Wgmma(Box<Wgmma>),
    /// `wgmma.fence`
    WgmmaFence,
    /// `wgmma.commit_group`
    WgmmaCommit,
    /// `wgmma.wait_group`: all but so many groups have landed. Holds the registers of every `wgmma`.
    WgmmaWait {
        pending: u32,
        regs: Box<[u32]>,
    },
    /// `fence.proxy.async`
    FenceProxy,
    /// `fence.mbarrier_init.release.cluster`
    FenceInit,
    Shuffle(Box<Shuffle>),
    Vote(Box<Vote>),
    Match {
        all: bool,
        d: u32,
        p: u32,
        a: Reg,
        mask: u32,
    },
    Reduce {
        f: Scalar,
        d: u32,
        a: u32,
        mask: u32,
    },
    ActiveMask {
        d: u32,
    },
    /// The number of instructions this warp has executed.
    Clock {
        d: Reg,
    },
    /// p = whether the generic address lies in a space
    IsSpace {
        d: u32,
        a: Reg,
        space: Space,
    },
    /// Fences, prefetches and hints: nothing to do.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
    /// The first operand, inverted.
    Not,
    /// The first operand.
    Move,
}

/// State spaces that an access can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Shared,
    Local,
    Const,
    Param,
    Generic,
    /// Shared memory of all blocks of the cluster.
    Cluster,
}

/// A load or a store of `count` elements of `bytes` bytes.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub space: Space,
    pub base: Reg,
    pub offset: i64,
    pub bytes: u32,
    pub count: u32,
    /// Sign-extend what is loaded.
    pub signed: bool,
    pub class: Class,
    pub regs: [u32; 4],
    /// Index among the memory operations, for what the counters remember.
    pub slot: u32,
}

/// `atom` and `red`.
#[derive(Clone, Debug)]
pub(crate) struct AtomicAccess {
    pub space: Space,
    pub base: Reg,
    pub offset: i64,
    pub bytes: u32,
    pub f: Scalar,
    /// The same on global memory, where the addition of f32 flushes subnormal numbers.
    pub on_global: Scalar,
    /// The old value's register, if it is kept.
    pub d: Option<Reg>,
    pub b: Reg,
    pub c: Reg,
    pub slot: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    /// Barrier number (w).
    pub id: u32,
    /// Number of threads (w), if it is given.
    pub threads: Option<u32>,
    /// All threads of a warp must arrive together.
    pub aligned: bool,
    /// `bar.arrive` does not wait.
    pub wait: bool,
    /// `bar.red`: operation, result, predicate and whether it is negated.
    pub reduce: Option<(Reduction, Reg, u32, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Popc,
    And,
    Or,
}

#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    pub mode: ShuffleMode,
    pub d: u32,
    /// Whether the source lane was in range, if asked for.
    pub p: Option<u32>,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    pub mask: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Bfly,
    Idx,
}

#[derive(Clone, Debug)]
pub(crate) struct Vote {
    pub mode: VoteMode,
    pub d: Reg,
    pub a: u32,
    pub negate: bool,
    pub mask: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

/// `ldmatrix` and `stmatrix`: 8x8 matrices of 16-bit elements.
#[derive(Clone, Debug)]
pub(crate) struct MatrixAccess {
    pub store: bool,
    /// The addresses are generic rather than in shared memory.
    pub generic: bool,
    pub transposed: bool,
    pub base: Reg,
    pub offset: i64,
    /// Matrices: 1, 2 or 4.
    pub count: u32,
    /// A word register for each.
    pub regs: [u32; 4],
    pub slot: u32,
}

/// `mma.sync` m16n8k8 or m16n8k16 with f32 sums; the registers are words.
#[derive(Clone, Debug)]
pub(crate) struct Mma {
    pub factor: Factor,
    pub k: u32,
    pub d: [u32; 4],
    /// 2 of them for k8.
    pub a: [u32; 4],
    /// 1 of them for k8.
    pub b: [u32; 2],
    pub c: [u32; 4],
}

/// `cp.async`: from global to shared memory.
#[derive(Clone, Debug)]
pub(crate) struct AsyncCopy {
    pub to: Reg,
    pub to_offset: i64,
    pub from: Reg,
    pub from_offset: i64,
    pub bytes: u32,
    /// How many of the bytes to read (w); the rest are zero.
    pub size: Option<u32>,
    /// For what the counters remember of the shared and of the global side.
    pub slots: [u32; 2],
}

/// An mbarrier instruction (PTX ISA, "mbarrier").
#[derive(Clone, Debug)]
pub(crate) struct MbarrierAccess {
    pub action: MbarrierAction,
    pub space: Space,
    pub base: Reg,
    pub offset: i64,
    /// The state before the arrival (d), if it is kept.
    pub state: Option<u32>,
    /// The number of arrivals or bytes (w).
    pub count: u32,
    /// `.relaxed`: it orders nothing.
    pub relaxed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MbarrierAction {
    Init,
    Invalidate,
    ExpectTx,
    CompleteTx,
    Arrive {
        drop: bool,
        /// It must not complete the phase.
        no_complete: bool,
    },
    ArriveExpectTx {
        drop: bool,
    },
    /// `cp.async.mbarrier.arrive`: arrives when the thread's copies have landed. Without `noinc` one more
    /// arrival is expected for it.
    Copies {
        noinc: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct MbarrierWait {
    pub space: Space,
    pub base: Reg,
    pub offset: i64,
    /// Whether the phase is complete (p).
    pub d: u32,
    /// The phase: a state (d) or a parity (w).
    pub phase: Reg,
    /// `try_wait` may block.
    pub blocking: bool,
    pub relaxed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterBarrier {
    /// Else it arrives.
    pub wait: bool,
    pub relaxed: bool,
    pub aligned: bool,
}

/// A bulk copy: a run of bytes, or a tile of a tensor.
#[derive(Clone, Debug)]
pub(crate) struct BulkCopy {
    pub way: BulkWay,
    pub to: Reg,
    pub to_offset: i64,
    /// The destination is named in `.shared::cta`: no other block can be meant.
    pub to_cta: bool,
    pub from: Reg,
    pub from_offset: i64,
    /// Coordinates in elements (w), innermost first; the address in global memory is that of a tensor map.
    pub coordinates: Box<[u32]>,
    /// Bytes to copy (w), where there is no tensor map.
    pub bytes: u32,
    /// The mbarrier that is told of the bytes, where no bulk group is.
    pub mbarrier: Option<(Reg, i64)>,
    /// Ranks of the blocks that receive it, a bit each (w).
    pub multicast: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BulkWay {
    GlobalToShared,
    SharedToGlobal,
    SharedToCluster,
}

/// `wgmma.mma_async` m64nNk16 with f32 sums: D = A B + D of the four warps of a warpgroup.
#[derive(Clone, Debug)]
pub(crate) struct Wgmma {
    pub factor: Factor,
    /// Columns: 8 to 256.
    pub n: u32,
    /// N / 2 words.
    pub d: Box<[u32]>,
    pub a: WgmmaA,
    /// B's descriptor (d).
    pub b: u32,
    /// Whether D is an addend, else it is only written; and whether the predicate is negated.
    pub scale_d: (u32, bool),
    /// A and B with the opposite sign.
    pub negate: [bool; 2],
    /// A is M-major, B is N-major.
    pub transposed: [bool; 2],
}

/// Where A is.
#[derive(Clone, Debug)]
pub(crate) enum WgmmaA {
    /// In shared memory: the descriptor (d).
    Descriptor(u32),
    /// In each thread's registers (w).
    Registers([u32; 4]),
}

impl Code {
    /// Warp-level matrix instructions, `.sync.aligned`: all threads of a warp come.
    pub fn is_for_the_whole_warp(&self) -> bool {
        matches!(
            self,
            Code::Matrix(_)
                | Code::Mma(_)
                | Code::Wgmma(_)
                | Code::WgmmaFence
                | Code::WgmmaCommit
                | Code::WgmmaWait { .. }
        )
    }
}
