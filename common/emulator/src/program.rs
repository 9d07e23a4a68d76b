//! A kernel, lowered once into compact typed operations.
use std::sync::Arc;

use crate::InstructionKind;
use crate::finding::Location;
use crate::op::{Op, Reg};

/// A line of the CUDA source, from `.loc`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    /// The file's name as passed to the compiler.
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
    /// What it holds.
    pub kind: ParamKind,
    /// Its offset among the parameters.
    pub(crate) offset: u32,
}

impl Param {
    /// Its offset among the kernel's parameters, in bytes, as `cuFuncGetParamInfo` returns it.
    pub fn offset(&self) -> u32 {
        self.offset
    }
}

/// The type of a kernel parameter, as far as it is declared (PTX ISA, "Kernel Function Parameters").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// `.ptr`: an address. Compilers before CUDA 12 declare pointers as integers of 8 bytes.
    Pointer,
    /// An integer.
    Integer,
    /// A floating-point number.
    Float,
    /// Bytes: a struct by value, such as a `__half`.
    Struct,
}

/// One PTX instruction as written.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// 1-based line of the PTX text.
    pub ptx_line: u32,
    /// The instruction's text, as in the PTX.
    pub text: String,
    /// The opcode with its suffixes, without guard and operands: `ld.shared.v4.f32`.
    pub opcode: String,
    /// The guard, `@p` or `@!p`: the register's number in the kernel, and whether it is negated.
    pub guard: Option<(u32, bool)>,
    /// What it does.
    pub kind: InstructionKind,
    /// Its line in the kernel's file: the line of the call if it was inlined.
    pub source: Option<SourceLine>,
    /// The line of the inlined function that it came from, if any.
    pub inlined_from: Option<SourceLine>,
    /// The function that the kernel calls and whose code this is, if the compiler has inlined it.
    pub callee: Option<Arc<Callee>>,
    /// Whether it was inlined into a function of NVIDIA's own headers, so that the kernel's author cannot change it.
    pub in_library: bool,
    /// Whether it is in a function of CUB that was called by another one of CUB.
    pub(crate) in_cub: bool,
}

/// A line of an inlined function that the kernel calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callee {
    /// Its name in the source, or "a lambda".
    pub function: Arc<str>,
    /// The line: of the instruction, or of a further call that leads to it.
    pub line: SourceLine,
    /// The line of the kernel that calls it.
    pub call: SourceLine,
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
    /// The number of memory operations, for each of which the counters cache the last pattern of addresses.
    pub(crate) slots: usize,
    pub(crate) static_shared: u32,
    /// Variables in shared memory, by their addresses; the last one may be dynamic, and then has no end.
    pub(crate) symbols: Vec<Symbol>,
    /// Local memory of the kernel; frames of functions follow it.
    pub(crate) local_bytes: u32,
    /// Functions that are not inlined.
    pub(crate) functions: Vec<Subroutine>,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) max_registers: Option<u32>,
    /// The cluster that the kernel is compiled for.
    pub(crate) cluster: Option<[u32; 3]>,
    /// Whether it must be launched in clusters.
    pub(crate) explicit_cluster: bool,
    pub(crate) max_cluster: Option<u32>,
    /// Alignment that the declaration of dynamic shared memory requires, in bytes.
    pub(crate) dynamic_align: u32,
    /// Whether it has operations through which clusters may communicate: atomics, volatile or ordered accesses to
    /// global memory, fences.
    pub(crate) communicates: bool,
    /// The narrowest access to shared memory, in bytes: the grain of the sanitizer's shadow.
    pub(crate) grain: u32,
    /// The same for global memory.
    pub(crate) global_grain: u32,
    /// For each operation, the registers of any `wgmma` that it touches, and whether it writes them; empty if
    /// there is no `wgmma`.
    pub(crate) watched: Vec<Box<[(u32, bool)]>>,
    /// For each operation that may touch a register that no instruction has written, what the sanitizer has to trace;
    /// empty if there is no such operation.
    pub(crate) flows: Vec<Option<Box<DataFlow>>>,
    /// Registers that may be read before they are written.
    pub(crate) unwritten: Vec<Reg>,
}

/// A recursive or indirectly called function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subroutine {
    pub(crate) name: String,
    pub(crate) address: u64,
    /// Its first operation.
    pub(crate) entry: u32,
    /// Bytes of its frame.
    pub(crate) frame: u32,
    /// Offset and bytes of each in its frame.
    pub(crate) params: Vec<(u32, u32)>,
    pub(crate) returns: Vec<(u32, u32)>,
    /// Registers that may be read in it before they are written.
    pub(crate) unwritten: Vec<Reg>,
}

/// A variable in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    /// The name in the source.
    pub(crate) name: String,
    pub(crate) start: u32,
    /// `None` for dynamic shared memory.
    pub(crate) bytes: Option<u32>,
}

/// The registers of an operation, for the sanitizer's tracing of undefined values.
#[derive(Clone, Debug)]
pub(crate) struct DataFlow {
    pub(crate) flow: Flow,
    /// Registers that it reads, the guard last.
    pub(crate) uses: Box<[Reg]>,
    pub(crate) defs: Box<[Reg]>,
}

/// What an operation does with a value that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Its bits are moved into the result unchanged.
    Moves,
    /// The result is computed from it.
    Computes,
    /// It is an address, and the result may come from local memory.
    Loads,
    /// It is an address, or is stored to memory.
    Stores,
    /// An operand of `mma`.
    Matrix,
    /// An operand of `wgmma`.
    Wgmma,
    /// It determines an effect: an address, a branch, a barrier's number.
    Sink,
}

impl Program {
    /// The variable in shared memory that holds an address, and the offset in it.
    pub(crate) fn shared_symbol(&self, address: u64) -> Option<(&Symbol, u64)> {
        self.symbols.iter().find_map(|symbol| {
            let offset = address.checked_sub(symbol.start.into())?;
            let inside = symbol.bytes.is_none_or(|bytes| offset < bytes.into());
            inside.then_some((symbol, offset))
        })
    }

    /// The first instruction, for findings about a launch as a whole.
    pub(crate) fn entry(&self) -> Location {
        let first = self.instructions.first();
        Location {
            thread: [0; 3],
            block: [0; 3],
            instruction: 0,
            ptx_line: first.map_or(0, |first| first.ptx_line),
            source: first.and_then(|first| first.source.clone()),
            callee: None,
            warpgroup_warp: None,
        }
    }
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
    /// Including what the system reserves for each block.
    AggregateShared,
    Cluster(u8),
    Clusters(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterRank,
    ClusterRanks,
    ExplicitCluster,
    /// `%envreg`: read-only and set by the driver. Registers 1 and 2 hold the upper and the lower half of the address
    /// of the grid's workspace, which cooperative groups use; it is 0 unless the launch is cooperative.
    Environment(u8),
}
