//! The typed operations that a kernel is lowered to.
use crate::lower::Scalar;
use crate::tensor::{Arithmetic, Factor};
use crate::{MatrixProduct, Space};

/// The class of a register: 32 lanes of 32 bits, 64 bits or one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    B32,
    B64,
    Predicate,
}

/// A register of any class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reg {
    pub class: Class,
    pub index: u32,
}

/// An address: the value of a register plus an offset in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub base: Reg,
    pub offset: i64,
}

/// The predicate register of a guard, and whether it is negated.
pub(crate) type Guard = Option<(u32, bool)>;

/// One operation; one PTX instruction may take several.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub guard: Guard,
    pub code: Code,
    /// Index into [`Program::instructions`].
    pub instruction: u32,
    /// Whether this is the operation that counts as the instruction's execution.
    pub first: bool,
    /// Whether clusters may communicate through it.
    pub communicates: bool,
}

/// 32-bit operations with a vector path of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[deny(dead_code)]
pub(crate) enum B32Op {
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
#[deny(dead_code)]
pub(crate) enum B64Op {
    Add,
    Sub,
    And,
    Or,
    Xor,
}

/// Comparisons with a vector path of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[deny(dead_code)]
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

/// Operations, grouped by which threads take part. Each group is executed by one exhaustive match; its registers are
/// listed in `def_use.rs`, and its kind for the counters in `lower/instruction_kind.rs`. The `dead_code` lint rejects
/// an operation that nothing is lowered to.
#[derive(Clone, Debug)]
#[deny(dead_code)]
pub(crate) enum Code {
    /// Executed by each active lane separately.
    Lane(LaneOp),
    Branch {
        target: u32,
        /// Where the threads that diverge here reconverge.
        reconvergence: u32,
    },
    Exit,
    Trap,
    /// A call that is not inlined, and the return from it.
    Call(Box<Call>),
    Return,
    /// `.sync.aligned`: every thread of the warp takes part.
    Matrix(MatrixOp),
    /// May wait for other threads.
    Sync(SyncOp),
}

/// Operations of single lanes. Registers are listed as `[d, a, b, c]`, destination first, with their classes in the
/// comment.
#[derive(Clone, Debug)]
#[deny(dead_code)]
pub(crate) enum LaneOp {
    /// b32 = b32 op b32
    B32(B32Op, [u32; 3]),
    /// b32 = b32 * b32 + b32
    MadLo([u32; 4]),
    /// b32 = fma(b32, b32, b32), f32, nearest even
    FmaF32([u32; 4]),
    /// b64 = b64 op b64
    B64(B64Op, [u32; 3]),
    /// b64 = b64 shifted left, or else right, by b32
    ShiftB64(bool, [u32; 3]),
    /// b64 = b32 * b32 + b64, signed or not
    MadWide(bool, [u32; 4]),
    /// b64 = b32, signed or not
    Extend(bool, [u32; 2]),
    /// b32 = b64
    Truncate([u32; 2]),
    MoveB32([u32; 2]),
    MoveB64([u32; 2]),
    /// b32 = f32(b32), from an f16
    F16ToF32([u32; 2]),
    /// b32 = f16(b32), from an f32, nearest even
    F32ToF16([u32; 2]),
    /// b32 = two halves of this format from b32 and b32, the first above the second, from f32s, nearest even
    F32sToHalves(Factor, [u32; 3]),
    /// predicate = b32 op b32
    Compare(Compare, [u32; 3]),
    /// b32 = predicate ? b32 : b32; the predicate is the last
    Select([u32; 4]),
    /// predicate = predicate op predicate, the second one negated or not
    Logic(Logic, [u32; 3], bool),
    Load(Box<LoadStore>),
    Store(Box<LoadStore>),
    Atomic(Box<Atomic>),
    /// `cp.async`
    AsyncCopy(Box<AsyncCopy>),
    /// `cp.async.commit_group`
    AsyncCommit,
    /// `cp.async.wait_group`: all groups but the latest `pending` are complete; all copies for `wait_all`.
    AsyncWait {
        pending: Option<u32>,
    },
    Cold(Box<ColdOp>),
}

/// Operations of single lanes that are too rare for the interpreter's inlined loop.
#[derive(Clone, Debug)]
#[deny(dead_code)]
pub(crate) enum ColdOp {
    /// Any arithmetic, thread by thread: destination and sources.
    Scalar(Scalar, Reg, [Reg; 3]),
    /// b32 = truth table of (b32, b32, b32)
    Lop3(u8, [u32; 4]),
    /// Parts of this many bits into one register, low part first.
    Pack(u32, Reg, Box<[Reg]>),
    /// One register into its parts of this many bits.
    Unpack(u32, Box<[Reg]>, Reg),
    /// `mbarrier` instructions that do not wait, and `cp.async.mbarrier.arrive`
    Mbarrier(Box<MbarrierAccess>),
    /// `cp.async.bulk`, `cp.reduce.async.bulk`, and their `.tensor` forms
    BulkCopy(Box<BulkCopy>),
    /// `st.async` and `red.async`
    StoreAsync(Box<StoreAsync>),
    /// `cp.async.bulk.commit_group`
    BulkCommit,
    /// `cp.async.bulk.wait_group`: all groups but the latest `pending` are complete, or with `read` have read their
    /// source.
    BulkWait {
        pending: u32,
        read: bool,
    },
    /// `mapa`: the corresponding address in the block of a rank (b32).
    MapShared([Reg; 2], u32),
    /// `getctarank`: b32 = the rank of the block that an address belongs to.
    RankOf {
        d: u32,
        a: Reg,
    },
    /// `membar` and `fence`, between threads of this scope
    Fence(Scope),
    /// `griddepcontrol.wait`
    AwaitPreviousGrid,
    /// `fence.proxy.async`
    FenceProxy,
    /// `fence.mbarrier_init.release.cluster`
    FenceInit,
    ActiveMask {
        d: u32,
    },
    /// The number of instructions that this warp has executed.
    Clock {
        d: Reg,
    },
    /// b32 = the offset of the running function's frame in local memory
    FrameBase {
        d: u32,
    },
    /// predicate = whether the generic address is in a space
    IsSpace(Space, u32, Reg),
    /// A call of a function that the driver provides.
    System(SystemCall),
    /// Other fences, prefetches and hints.
    Nothing,
}

/// A call of a function that has a frame on the call stack.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub target: CallTarget,
    /// Offset and bytes of each in the caller's frame.
    pub arguments: Box<[(u32, u32)]>,
    pub results: Box<[(u32, u32)]>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum CallTarget {
    /// Index into [`crate::program::Program::functions`].
    Function(u32),
    /// Its address (b64).
    Pointer(Reg),
}

/// Functions that the driver provides (CUDA C++ Programming Guide, "Formatted Output" and "Assertion").
/// Arguments and results are in the thread's local memory, at these offsets.
#[derive(Clone, Copy, Debug)]
#[deny(dead_code)]
pub(crate) enum SystemCall {
    /// `vprintf`: the addresses of the format and of the arguments; an `int`.
    Print {
        format: u32,
        arguments: u32,
        result: Option<u32>,
    },
    /// `__assertfail`: the addresses of the message, the file and the function; the line.
    AssertFail {
        message: u32,
        file: u32,
        line: u32,
        function: u32,
    },
}

/// Warp-level matrix instructions, `.sync.aligned`.
#[derive(Clone, Debug)]
#[deny(dead_code)]
pub(crate) enum MatrixOp {
    /// `ldmatrix` and `stmatrix`
    Move(Box<MatrixMove>),
    /// `movmatrix`: b32 = b32, an 8x8 matrix of 16-bit elements transposed.
    Transpose([u32; 2]),
    /// `mma.sync`
    Mma(Box<Mma>),
    /// `mma.sync` m8n8k4 of f64
    MmaF64(Box<MmaF64>),
    /// `wgmma`
    Wgmma(WgmmaOp),
}

/// `wgmma`, by a whole warpgroup.
#[derive(Clone, Debug)]
#[deny(dead_code)]
pub(crate) enum WgmmaOp {
    /// `wgmma.mma_async`
    Mma(Box<Wgmma>),
    /// `wgmma.fence`
    Fence,
    /// `wgmma.commit_group`
    Commit,
    /// `wgmma.wait_group`: all groups but the latest `pending` are complete. `regs` are the registers of every `wgmma`.
    Wait { pending: u32, regs: Box<[u32]> },
}

/// Operations that may wait for other threads.
#[derive(Clone, Debug)]
#[deny(dead_code)]
pub(crate) enum SyncOp {
    /// The lanes of a warp that a mask (b32) names.
    Warp { mask: u32, op: WarpOp },
    /// `bar` and `barrier`
    Barrier(Box<Barrier>),
    /// `mbarrier.test_wait` and `.try_wait`
    MbarrierWait(Box<MbarrierWait>),
    /// `barrier.cluster.arrive` and `.wait`
    ClusterBarrier(ClusterBarrier),
    /// `setmaxnreg`
    SetRegisters { count: u32, increase: bool },
}

/// Operations that lanes of a warp execute together.
#[derive(Clone, Debug)]
#[deny(dead_code)]
pub(crate) enum WarpOp {
    /// `bar.warp.sync`
    Barrier,
    Shuffle(Box<Shuffle>),
    Vote(Box<Vote>),
    Match(Box<Match>),
    /// `redux.sync`
    Reduce {
        f: Scalar,
        d: u32,
        a: u32,
    },
    /// `elect.sync`: b32 = the elected lane, p = whether it is this one.
    Elect {
        d: u32,
        p: u32,
    },
}

impl From<LaneOp> for Code {
    fn from(op: LaneOp) -> Self {
        Self::Lane(op)
    }
}

impl From<ColdOp> for Code {
    fn from(op: ColdOp) -> Self {
        Self::Lane(LaneOp::Cold(Box::new(op)))
    }
}

impl From<MatrixOp> for Code {
    fn from(op: MatrixOp) -> Self {
        Self::Matrix(op)
    }
}

impl From<SyncOp> for Code {
    fn from(op: SyncOp) -> Self {
        Self::Sync(op)
    }
}

impl Reg {
    pub fn predicate(index: u32) -> Self {
        Self {
            class: Class::Predicate,
            index,
        }
    }
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

/// The threads that a memory operation is ordered with (PTX ISA, "Scope"): those of its block, its cluster or the GPU.
/// `.sys` is the same as the GPU: there are no other devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Block,
    Cluster,
    Gpu,
}

/// How an access is ordered with those of other threads (PTX ISA, "Memory Consistency Model").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// `None` for a weak access, such as an ordinary load. `.volatile` is as strong as `.relaxed.sys`.
    pub strong: Option<Scope>,
    /// `.volatile`
    pub volatile: bool,
    pub acquire: bool,
    pub release: bool,
}

/// A load or a store of `count` elements of `bytes` bytes.
#[derive(Clone, Debug)]
pub(crate) struct LoadStore {
    pub space: Space,
    pub order: Order,
    pub address: Address,
    pub bytes: u32,
    pub count: u32,
    /// Sign-extend the loaded value.
    pub signed: bool,
    pub class: Class,
    pub regs: [u32; 4],
    /// Index among the memory operations, for the patterns that the counters remember.
    pub slot: u32,
}

impl LoadStore {
    #[inline(always)]
    pub fn reg(&self, element: usize) -> Reg {
        Reg {
            class: self.class,
            index: self.regs[element],
        }
    }
}

/// `atom` and `red`.
#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub space: Space,
    pub order: Order,
    pub address: Address,
    pub bytes: u32,
    pub f: Scalar,
    /// The operation on global memory, where the addition of f32 flushes subnormal numbers.
    pub on_global: Scalar,
    /// The register for the old value, if the instruction returns it.
    pub d: Option<Reg>,
    pub b: Reg,
    pub c: Reg,
    pub slot: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    /// Barrier number (b32).
    pub id: u32,
    /// Number of threads (b32), if the instruction names it.
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
    /// The predicate for whether the source lane was in range, if the instruction has one.
    pub p: Option<u32>,
    /// The value, the lane or offset, and the bounds.
    pub sources: [u32; 3],
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
}

/// `match.sync`: d = the lanes with the same value, p = whether all have it.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    /// `.all`: d is 0 unless all lanes have the same value.
    pub all: bool,
    pub d: u32,
    pub p: u32,
    pub a: Reg,
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
pub(crate) struct MatrixMove {
    pub store: bool,
    /// The addresses are generic rather than in shared memory.
    pub generic: bool,
    pub transposed: bool,
    pub address: Address,
    /// Matrices: 1, 2 or 4.
    pub count: u32,
    /// A 32-bit register for each.
    pub regs: [u32; 4],
    pub slot: u32,
}

/// `mma.sync` in 32-bit registers: C is 16 x 8 or 8 x 8, and a row of A or a column of B has 16 or 32 bytes.
#[derive(Clone, Debug)]
pub(crate) struct Mma {
    pub arithmetic: Arithmetic,
    /// The product of the PTX instruction: for `wmma.mma`, larger than this operation.
    pub product: MatrixProduct,
    /// Rows of A: 8 or 16.
    pub rows: u32,
    /// Bytes of a row of A.
    pub row: u32,
    pub d: [u32; 4],
    pub a: [u32; 4],
    pub b: [u32; 2],
    pub c: [u32; 4],
}

impl Mma {
    /// The numbers of registers of A, of B, and of each of C and D.
    pub fn counts(&self) -> [usize; 3] {
        let (eights, halves) = (self.rows as usize / 8, self.row as usize / 16);
        let sums = if self.arithmetic.is_packed() { 1 } else { 2 };
        [eights * halves, halves, eights * sums]
    }
}

/// `mma.sync` m8n8k4 of f64, in 64-bit registers.
#[derive(Clone, Debug)]
pub(crate) struct MmaF64 {
    /// 8 or 16.
    pub rows: u32,
    /// K.
    pub depth: u32,
    pub a: Box<[u32]>,
    pub b: Box<[u32]>,
    pub c: Box<[u32]>,
    pub d: Box<[u32]>,
}

/// `cp.async`: from global to shared memory.
#[derive(Clone, Debug)]
pub(crate) struct AsyncCopy {
    pub to: Address,
    pub from: Address,
    pub bytes: u32,
    /// How many of the bytes to read (b32); the rest are zero.
    pub size: Option<u32>,
    /// For the patterns that the counters remember, of the shared and the global side.
    pub slots: [u32; 2],
}

/// An mbarrier instruction (PTX ISA, "mbarrier").
#[derive(Clone, Debug)]
pub(crate) struct MbarrierAccess {
    pub action: MbarrierAction,
    pub space: Space,
    pub address: Address,
    /// The register for the state before the arrival (b64), if the instruction returns it.
    pub state: Option<u32>,
    /// The number of arrivals or bytes (b32).
    pub count: u32,
    /// `.relaxed`: it orders nothing.
    pub relaxed: bool,
    /// Whether the instruction names a scope, and it is `.cta`.
    pub within_block: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MbarrierAction {
    Init,
    Invalidate,
    ExpectTx,
    CompleteTx,
    Arrive {
        drop: bool,
        /// `.noComplete`: it must not complete the phase.
        no_complete: bool,
    },
    ArriveExpectTx {
        drop: bool,
    },
    /// `cp.async.mbarrier.arrive`: arrives when the thread's copies are complete. Without `noinc` the
    /// pending count is first incremented by one.
    Copies {
        noinc: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct MbarrierWait {
    pub space: Space,
    pub address: Address,
    /// Whether the phase is complete (predicate).
    pub d: u32,
    /// The phase: a state (b64) or a parity (b32).
    pub phase: Reg,
    /// `try_wait` may block.
    pub blocking: bool,
    pub relaxed: bool,
    /// Whether the instruction names a scope, and it is `.cta`.
    pub within_block: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterBarrier {
    /// Whether it waits; otherwise it arrives.
    pub wait: bool,
    pub relaxed: bool,
    pub aligned: bool,
}

/// A bulk copy of contiguous bytes or of a tensor tile.
#[derive(Clone, Debug)]
pub(crate) struct BulkCopy {
    pub way: BulkDirection,
    pub to: Address,
    /// The destination is in `.shared::cta`, so it cannot be in another block.
    pub to_cta: bool,
    pub from: Address,
    /// Coordinates in elements (b32), innermost first; the address in global memory is then that of a tensor map.
    pub coordinates: Box<[u32]>,
    /// Bytes to copy (b32), if there is no tensor map.
    pub bytes: u32,
    /// The mbarrier that the copy completes on, if it is not in a bulk group.
    pub mbarrier: Option<Address>,
    /// Ranks of the blocks that receive it, a bit each (b32).
    pub multicast: Option<u32>,
    /// `cp.reduce`: how the copied data is combined with the destination.
    pub reduction: Option<BulkReduction>,
}

/// The operation of a `cp.reduce.async.bulk`.
#[derive(Clone, Debug)]
pub(crate) enum BulkReduction {
    Elements(Reduce),
    /// The tensor map determines the element type: an entry for each of [`crate::Element::ALL`].
    Tensor(&'static str, Box<[Option<Reduce>]>),
}

/// How an asynchronous reduction combines each element: (old, new) to the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduce {
    /// Bytes of an element.
    pub bytes: u32,
    pub f: Scalar,
}

impl Reduce {
    /// Reduces `old` into `new`, which then holds the result.
    pub fn apply(self, old: &[u8], new: &mut [u8]) {
        let bytes = self.bytes as usize;
        let value = |raw: &[u8]| {
            let mut wide = [0; 8];
            wide[..bytes].copy_from_slice(raw);
            u64::from_le_bytes(wide)
        };
        for (old, new) in old.chunks_exact(bytes).zip(new.chunks_exact_mut(bytes)) {
            let left = (self.f)([value(old), value(new), value(new)]);
            new.copy_from_slice(&left.to_le_bytes()[..bytes]);
        }
    }
}

/// `st.async` and `red.async`: each lane's registers to shared memory of the cluster; completion is signaled on an
/// mbarrier of the same block.
#[derive(Clone, Debug)]
pub(crate) struct StoreAsync {
    pub space: Space,
    pub address: Address,
    pub mbarrier: Address,
    /// Of one element.
    pub bytes: u32,
    pub count: u32,
    pub class: Class,
    pub regs: [u32; 4],
    pub reduction: Option<Reduce>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BulkDirection {
    GlobalToShared,
    SharedToGlobal,
    SharedToCluster,
}

/// `wgmma.mma_async` m64nN: D = A B + D of the four warps of a warpgroup. A row of A has 32 bytes.
#[derive(Clone, Debug)]
pub(crate) struct Wgmma {
    pub arithmetic: Arithmetic,
    pub product: MatrixProduct,
    /// N / 2 registers, or N / 4 with two sums in each.
    pub d: Box<[u32]>,
    pub a: WgmmaA,
    /// B's descriptor (b64).
    pub b: u32,
    /// The predicate for whether D is an addend or only written, and whether it is negated.
    pub scale_d: (u32, bool),
    /// Whether A and B are negated.
    pub negate: [bool; 2],
    /// Whether A is M-major and B is N-major; 16-bit elements only.
    pub transposed: [bool; 2],
}

/// Where A is.
#[derive(Clone, Debug)]
pub(crate) enum WgmmaA {
    /// In shared memory: the descriptor (b64).
    Descriptor(u32),
    /// In each thread's registers (b32).
    Registers([u32; 4]),
}
