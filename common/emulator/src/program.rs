//! A kernel, lowered once into compact typed operations.
use std::sync::Arc;

use crate::lower::{self, Scalar};
use crate::{Module, PtxError};

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
    /// Where it stands in the kernel: the line of the outermost call if it was inlined.
    pub source: Option<SourceLine>,
    /// The line of the inlined function that it came from, if any.
    pub inlined_from: Option<SourceLine>,
}

/// A kernel ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) params: Vec<Param>,
    pub(crate) warnings: Vec<String>,
    pub(crate) ops: Vec<Op>,
    /// Registers that hold one value for the whole run of a warp, numbered from 0 in each class.
    pub(crate) fixed_words: Vec<Fixed>,
    pub(crate) fixed_doubles: Vec<Fixed>,
    /// Registers of each class, the fixed ones included.
    pub(crate) words: usize,
    pub(crate) doubles: usize,
    pub(crate) predicates: usize,
    pub(crate) static_shared: u32,
    pub(crate) local_bytes: u32,
    /// The constant bank's initial bytes.
    pub(crate) constants: Vec<u8>,
    /// Module-scope `.global` variables: name, alignment, initial bytes.
    pub(crate) globals: Vec<(String, Vec<u8>)>,
    pub(crate) max_threads: Option<[u32; 3]>,
    /// Whether blocks may talk to each other: atomics, volatile or ordered accesses to global memory.
    pub(crate) talks: bool,
    /// The narrowest access to shared memory, in bytes: the grain of the sanitizer's shadow.
    pub(crate) grain: u32,
}

impl Program {
    /// Lowers the kernel `name` of `module`.
    ///
    /// # Errors
    /// If the module has no such kernel, or the kernel holds an instruction that the emulator cannot
    /// execute; the message quotes it.
    pub fn new(module: &Module, name: &str) -> Result<Self, PtxError> {
        lower::kernel(module, name)
    }
    /// The PTX instructions, in the order of the text.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }
    /// The parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }
    /// Static shared memory, in bytes.
    pub fn static_shared(&self) -> u32 {
        self.static_shared
    }
    /// What the emulator runs without promising the GPU's bits, such as f32 rounding left to ptxas.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
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
}

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

/// How an operation touches a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Use,
    Def,
}

impl Op {
    /// Shows every register to `see`, uses first; the register allocator renames them so.
    pub fn registers(&mut self, mut see: impl FnMut(Role, Class, &mut u32)) {
        use Class::{Double as D, Predicate as P, Word as W};
        use Role::{Def, Use};
        if let Some((p, _)) = &mut self.guard {
            see(Use, P, p);
        }
        match &mut self.code {
            Code::Word { d, a, b, .. } => {
                see(Use, W, a);
                see(Use, W, b);
                see(Def, W, d);
            }
            Code::MadLo { d, a, b, c }
            | Code::FmaF32 { d, a, b, c }
            | Code::Lop3 { d, a, b, c, .. } => {
                see(Use, W, a);
                see(Use, W, b);
                see(Use, W, c);
                see(Def, W, d);
            }
            Code::Double { d, a, b, .. } => {
                see(Use, D, a);
                see(Use, D, b);
                see(Def, D, d);
            }
            Code::MadWide { d, a, b, c, .. } => {
                see(Use, W, a);
                see(Use, W, b);
                see(Use, D, c);
                see(Def, D, d);
            }
            Code::Extend { d, a, .. } => {
                see(Use, W, a);
                see(Def, D, d);
            }
            Code::Truncate { d, a } => {
                see(Use, D, a);
                see(Def, W, d);
            }
            Code::MoveWord { d, a } | Code::HalfToFloat { d, a } | Code::FloatToHalf { d, a } => {
                see(Use, W, a);
                see(Def, W, d);
            }
            Code::MoveDouble { d, a } => {
                see(Use, D, a);
                see(Def, D, d);
            }
            Code::Compare { d, a, b, .. } => {
                see(Use, W, a);
                see(Use, W, b);
                see(Def, P, d);
            }
            Code::Select { d, a, b, p } => {
                see(Use, W, a);
                see(Use, W, b);
                see(Use, P, p);
                see(Def, W, d);
            }
            Code::Scalar { d, a, b, c, .. } => {
                for reg in [a, b, c] {
                    see(Use, reg.class, &mut reg.index);
                }
                see(Def, d.class, &mut d.index);
            }
            Code::Logic { d, a, b, .. } => {
                see(Use, P, a);
                see(Use, P, b);
                see(Def, P, d);
            }
            Code::Pack { d, parts, .. } => {
                for part in parts {
                    see(Use, part.class, &mut part.index);
                }
                see(Def, d.class, &mut d.index);
            }
            Code::Unpack { parts, a, .. } => {
                see(Use, a.class, &mut a.index);
                for part in parts {
                    see(Def, part.class, &mut part.index);
                }
            }
            Code::Load(access) => {
                see(Use, access.base.class, &mut access.base.index);
                for reg in &mut access.regs[..access.count as usize] {
                    see(Def, access.class, reg);
                }
            }
            Code::Store(access) => {
                see(Use, access.base.class, &mut access.base.index);
                for reg in &mut access.regs[..access.count as usize] {
                    see(Use, access.class, reg);
                }
            }
            Code::Atomic(access) => {
                for reg in [&mut access.base, &mut access.b, &mut access.c] {
                    see(Use, reg.class, &mut reg.index);
                }
                if let Some(d) = &mut access.d {
                    see(Def, d.class, &mut d.index);
                }
            }
            Code::Barrier(barrier) => {
                see(Use, W, &mut barrier.id);
                if let Some(threads) = &mut barrier.threads {
                    see(Use, W, threads);
                }
                if let Some((_, d, p, _)) = &mut barrier.reduce {
                    see(Use, P, p);
                    see(Def, d.class, &mut d.index);
                }
            }
            Code::WarpSync { mask } => see(Use, W, mask),
            Code::Shuffle(s) => {
                for reg in [&mut s.a, &mut s.b, &mut s.c, &mut s.mask] {
                    see(Use, W, reg);
                }
                see(Def, W, &mut s.d);
                if let Some(p) = &mut s.p {
                    see(Def, P, p);
                }
            }
            Code::Vote(vote) => {
                see(Use, P, &mut vote.a);
                see(Use, W, &mut vote.mask);
                see(Def, vote.d.class, &mut vote.d.index);
            }
            Code::Match { d, p, a, mask, .. } => {
                see(Use, a.class, &mut a.index);
                see(Use, W, mask);
                see(Def, W, d);
                see(Def, P, p);
            }
            Code::Reduce { d, a, mask, .. } => {
                see(Use, W, a);
                see(Use, W, mask);
                see(Def, W, d);
            }
            Code::ActiveMask { d } => see(Def, W, d),
            Code::Clock { d } => see(Def, d.class, &mut d.index),
            Code::IsSpace { d, a, .. } => {
                see(Use, a.class, &mut a.index);
                see(Def, P, d);
            }
            Code::Branch { .. } | Code::Exit | Code::Trap | Code::Nothing => {}
        }
    }
}
