//! A kernel, lowered once into compact typed operations.
use std::sync::Arc;

use crate::InstructionKind;
use crate::op::Op;

/// A line of the CUDA source, from `.loc`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    /// The file's name as the compiler was given it.
    pub file: Arc<str>,
    /// 1-based.
    pub line: u32,
}

impl std::fmt::Display for SourceLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        write!(f, "{name}:{}", self.line)
    }
}

/// One kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX.
    pub name: String,
    /// Its size: 8 for a pointer, 4 for an int.
    pub bytes: u32,
    /// Where it lies among the parameters.
    pub(crate) offset: u32,
}

/// One PTX instruction as written.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// 1-based line of the PTX text.
    pub ptx_line: u32,
    /// The instruction's text, as in the PTX.
    pub text: String,
    /// Its name with its suffixes, without guard and operands: `ld.shared.v4.f32`.
    pub opcode: String,
    /// The guard, `@p` or `@!p`: the register's number in the kernel, and whether it is negated.
    pub guard: Option<(u32, bool)>,
    /// What it does.
    pub kind: InstructionKind,
    /// Where it stands in the kernel: the line of the outermost call if it was inlined.
    pub source: Option<SourceLine>,
    /// The line of the inlined function that it came from, if any.
    pub inlined_from: Option<SourceLine>,
}

/// A kernel ready to run.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The `.target`, such as `sm_80`.
    pub(crate) target: String,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) params: Vec<Param>,
    pub(crate) warnings: Vec<String>,
    pub(crate) ops: Vec<Op>,
    /// Registers that hold one value for the whole run of a warp, numbered from 0 in each class.
    pub(crate) fixed_b32: Vec<Fixed>,
    pub(crate) fixed_b64: Vec<Fixed>,
    /// Registers of each class, the fixed ones included.
    pub(crate) b32: usize,
    pub(crate) b64: usize,
    pub(crate) predicates: usize,
    /// Memory operations, for which the counters remember the last pattern of addresses.
    pub(crate) slots: usize,
    pub(crate) static_shared: u32,
    pub(crate) local_bytes: u32,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) max_registers: Option<u32>,
    /// The cluster that the kernel is compiled for.
    pub(crate) cluster: Option<[u32; 3]>,
    /// Whether it must be launched in clusters.
    pub(crate) explicit_cluster: bool,
    pub(crate) max_cluster: Option<u32>,
    /// What the declaration of dynamic shared memory asks for, in bytes.
    pub(crate) dynamic_align: u32,
    /// Operations by which blocks may talk to each other: atomics, volatile or ordered accesses to global memory, fences.
    pub(crate) communicating: Vec<usize>,
    /// The narrowest access to shared memory, in bytes: the grain of the sanitizer's shadow.
    pub(crate) grain: u32,
    /// For each operation, the registers of any `wgmma` that it touches, and whether it writes them; empty if
    /// there is no `wgmma`.
    pub(crate) watched: Vec<Box<[(u32, bool)]>>,
}

/// A value that a warp's registers hold from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fixed {
    Const(u64),
    Special(Special),
    Param {
        offset: u32,
        bytes: u32,
        signed: bool,
    },
    /// The address of a module-scope variable in global memory, plus an offset.
    Global {
        index: u32,
        offset: i64,
    },
    /// The first byte of dynamic shared memory, plus an offset.
    Dynamic {
        offset: i64,
    },
}

/// Special registers (PTX ISA, "Special Registers") that do not change while a warp runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    Lane,
    Warp,
    Warps,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    DynamicShared,
    TotalShared,
    Cluster(u8),
    Clusters(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterRank,
    ClusterRanks,
    ExplicitCluster,
}
