//! The kind of a PTX instruction, as counters, refusals and reports need it.
use std::fmt;

/// A state space (PTX ISA, "State Spaces"), printed as compute-sanitizer does (`__shared__`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// `__global__`
    Global,
    /// `__shared__`
    Shared,
    /// `__local__`
    Local,
    /// `__constant__`
    Const,
    /// Kernel parameters.
    Param,
    /// A generic address that is in no space.
    Generic,
    /// Shared memory of all blocks of the cluster.
    Cluster,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstructionKind {
    /// `ld`, `ldu`, `wmma.load` except those that are [`InstructionKind::LoadMatrix`]
    Load(Transfer),
    /// `st`, `wmma.store`
    Store(Transfer),
    /// `atom`, `red`
    Atomic {
        /// Where the address points.
        space: Space,
        /// Of each lane.
        bytes: u32,
    },
    /// `ldmatrix`, and `wmma.load` where ptxas compiles it to `ldmatrix`
    LoadMatrix {
        /// 8x8 matrices: 1, 2 or 4.
        count: u32,
        /// `.trans`
        transposed: bool,
    },
    /// `stmatrix`
    StoreMatrix {
        /// 8x8 matrices: 1, 2 or 4.
        count: u32,
        /// `.trans`
        transposed: bool,
    },
    /// `cp.async`
    AsyncCopy {
        /// Of each lane.
        bytes: u32,
        /// `.ca`: through the L1; `.cg` bypasses it.
        through_l1: bool,
    },
    /// `cp.async.commit_group`, `.wait_group` and `.wait_all`
    AsyncCopyGroup,
    /// `cp.async.bulk`
    BulkCopy {
        /// `cp.async.bulk.tensor`: TMA copies a tile.
        tensor: bool,
    },
    /// `cp.async.bulk.commit_group` and `.wait_group`
    BulkCopyGroup,
    /// `mma.sync`, `wmma.mma`
    Mma(MatrixProduct),
    /// `wgmma.mma_async`, of the whole warpgroup
    Wgmma(MatrixProduct),
    /// `wgmma.fence`, `.commit_group` and `.wait_group`
    WgmmaGroup,
    /// `bar`, `barrier`: among the threads of a block
    Barrier,
    /// `barrier.cluster`
    ClusterBarrier,
    /// `bar.warp.sync`
    WarpBarrier,
    /// `mbarrier`, `cp.async.mbarrier.arrive`
    Mbarrier {
        /// Where the mbarrier is.
        space: Space,
        /// It changes the tx-count of the phase (`expect_tx`, `complete_tx`).
        transaction: bool,
    },
    /// `mbarrier.test_wait`, `.try_wait`
    MbarrierWait {
        /// Where the mbarrier is.
        space: Space,
        /// `try_wait`
        blocking: bool,
    },
    /// `membar`, `fence`
    Fence(Fence),
    /// `shfl`, `movmatrix`
    Shuffle,
    /// `vote`, `match`, `redux`, `activemask`
    Vote,
    /// `elect.sync`
    Elect,
    /// Arithmetic, comparison, selection, bits and conversion.
    Arithmetic {
        /// The type it computes in.
        number: Number,
        /// `add`, `sub`, `mul`, `mad`, `fma`
        multiply_add: bool,
    },
    /// `.approx`, `.full`: the multifunction unit, 16 lanes a clock and SM (CUDA C++ Programming Guide, "Arithmetic
    /// Instructions", 9.0), and what ptxas puts around it.
    Approximate {
        /// The type it computes in.
        number: Number,
        /// Instructions of that unit, `MUFU` in machine code: 2 for a pair of halves.
        mufu: u32,
    },
    /// `mov`, and `cvt` between integer widths: ptxas usually only renames registers.
    Move,
    /// `cvta`
    ConvertAddress(Space),
    /// `isspacep`
    IsSpace(Space),
    /// `mapa`, `getctarank`: addresses in other blocks of the cluster
    ClusterAddress,
    /// `setmaxnreg`
    SetRegisters,
    /// `bra`, `brx`, and `call` of a function that is not inlined
    Branch,
    /// `ret`, `exit`
    Exit,
    /// `trap`
    Trap,
    /// A call of `vprintf` or `__assertfail`
    SystemCall,
    /// Prefetches, cache hints and policies, and `griddepcontrol`.
    Hint {
        /// `cp.async.bulk.prefetch`
        bulk: bool,
    },
}

/// What a load or a store moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The space that the instruction names.
    pub space: Space,
    /// Of one element.
    pub bytes: u32,
    /// 2 for `.v2`, 4 for `.v4`.
    pub elements: u32,
    /// `.volatile`, or with a memory order.
    pub ordered: bool,
    /// A load that the L1 may serve.
    pub through_l1: bool,
    /// The register or variable of the address; `None` for a constant address.
    pub base: Option<Base>,
    /// Bytes added to it.
    pub offset: i64,
}

/// The base of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// A register, by its number in the kernel.
    Register(u32),
    /// A variable, by its name.
    Variable(String),
}

/// The shape and formats of a matrix instruction: C is `m` x `n`, and each element is a sum of `k` products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixProduct {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Products in the sum of an element.
    pub k: u32,
    /// Format of A and B.
    pub factors: FactorFormat,
    /// Format of C.
    pub sums: SumFormat,
}

/// Format of a matrix instruction's factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the PTX ISA")]
pub enum FactorFormat {
    F16,
    Bf16,
    Tf32,
    /// `.e4m3`, `.e5m2`
    Fp8,
    F64,
    /// `.s8`, `.u8`
    Int8,
    /// `.s4`, `.u4`
    Int4,
    /// `.b1`
    Bit,
}

/// Format of a matrix instruction's addend and result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in the PTX ISA")]
pub enum SumFormat {
    F16,
    F32,
    F64,
    /// `.s32`
    Int32,
}

impl MatrixProduct {
    /// Operations: a multiplication and an addition for each product.
    pub fn flop(self) -> u64 {
        2 * u64::from(self.m) * u64::from(self.n) * u64::from(self.k)
    }
}

/// What a fence orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// Memory accesses of threads.
    Memory,
    /// `fence.proxy.async`: the generic proxy with the async proxy.
    AsyncProxy,
    /// Other proxies.
    OtherProxy,
    /// `fence.mbarrier_init`
    MbarrierInit,
}

/// The type that arithmetic computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Integers and bits.
    Integer,
    /// f16, bf16, and pairs of them.
    Half,
    /// f32
    F32,
    /// f64
    F64,
    /// Predicates.
    Predicate,
}

impl InstructionKind {
    /// Whether it loads from memory into registers.
    pub fn is_load(&self) -> bool {
        matches!(self, Self::Load(_) | Self::LoadMatrix { .. })
    }

    /// Whether it stores registers to memory.
    pub fn is_store(&self) -> bool {
        matches!(self, Self::Store(_) | Self::StoreMatrix { .. })
    }

    /// Whether it loads from or stores to this space.
    pub fn accesses(&self, space: Space) -> bool {
        matches!(self, Self::Load(of) | Self::Store(of) if of.space == space)
    }

    /// Whether threads may wait here for other threads of their warp, block or cluster.
    pub fn is_barrier(&self) -> bool {
        matches!(
            self,
            Self::Barrier | Self::ClusterBarrier | Self::WarpBarrier
        )
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "__global__",
            Self::Shared | Self::Cluster => "__shared__",
            Self::Local => "__local__",
            Self::Const => "__constant__",
            Self::Param => "parameter",
            Self::Generic => "generic",
        })
    }
}
