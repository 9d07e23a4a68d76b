//! Lowers statements to typed operations: resolves every name, type and branch target once.
mod arithmetic;
mod bit_set;
mod bits;
mod bulk;
mod call;
mod cluster;
mod compare;
mod control;
mod convert;
mod convert_packed;
mod double_modes;
mod extended;
mod float_format;
mod float_modes;
mod float_ops;
mod forms;
mod graph;
mod inline;
mod instruction_kind;
mod kernel;
mod layout;
mod matrix;
mod mbarrier;
mod memory;
mod min_max;
mod mma;
mod moves;
mod operand;
mod order;
mod reduction;
mod registers;
mod scalar;
mod source;
mod system_call;
mod typed;
mod undefined;
mod wgmma;
mod wmma;
mod wmma_memory;
mod wmma_small;

use std::collections::HashMap;

use layout::{Layout, VariableAddress};

#[cfg(test)]
pub(crate) use float_format::BF16;
pub(crate) use float_format::{F16, NAN_F32, Rounding, canonical, f16_to_f64, narrow};
pub(crate) use float_ops::{fma_f64, mul_ftz, nan64};
pub(crate) use kernel::kernel;
pub(crate) use layout::{VariablePlace, params, variables};
pub(crate) use scalar::Scalar;

use crate::op::{B32Op, Class, Code, Guard, LaneOp, Op, Reg};
use crate::program::{Fixed, Program};
use crate::ptx::{Instr, Kernel, Parsed, PtxError, RegisterId, Type, TypeKind};

pub(crate) type Result<T> = std::result::Result<T, PtxError>;

/// A kernel's shared memory starts at this address; the bytes below belong to the system, as on an H100.
pub const SHARED_BASE: u32 = 1024;

/// Start of each space's generic addresses. Global allocations are between 2^40 and 2^47.
pub(crate) mod window {
    /// The lower half is not 0, as on a GPU: truncated to 32 bits, a generic address is not an address in shared memory.
    pub const SHARED: u64 = 0x7000_d800_0000;
    pub const LOCAL: u64 = 0x7100_0000_0000;
    pub const CONST: u64 = 0x7200_0000_0000;
    pub const PARAM: u64 = 0x7300_0000_0000;
    pub const END: u64 = 0x7400_0000_0000;
    /// Functions, 16 bytes each; they cannot be read.
    pub const CODE: u64 = 0x7500_0000_0000;
}

/// The state of one kernel's lowering.
pub(crate) struct Lowering<'a> {
    module: &'a Parsed,
    /// The function that is being lowered, if it has a frame of its own.
    function: Option<u32>,
    kernel: &'a Kernel,
    places: HashMap<&'a str, VariableAddress>,
    params: HashMap<&'a str, (u32, u32)>,
    /// The result so far.
    program: Program,
    /// Class of each register in the text and of the temporaries after them.
    registers: Vec<Reg>,
    counts: [u32; 3],
    fixed: HashMap<(Class, Fixed), u32>,
    /// The instruction that is being lowered, its guard, and whether blocks may communicate through it.
    instruction: u32,
    guard: Guard,
    communicates: bool,
    /// CC.CF, if anything uses it.
    carry: Option<Reg>,
}

/// Temporary numbers of fixed registers start here until all registers are known.
const FIXED: u32 = 1 << 31;

impl<'a> Lowering<'a> {
    fn new(module: &'a Parsed, kernel: &'a Kernel, layout: &Layout<'a>) -> Self {
        let mut counts = [0; 3];
        let registers = kernel
            .registers
            .iter()
            .map(|&ty| {
                let class = class_of(ty);
                let index = counts[class as usize];
                counts[class as usize] += 1;
                Reg { class, index }
            })
            .collect();
        let params = kernel.params.iter().zip(&layout.params);
        let program = Program {
            params: layout.params.clone(),
            static_shared: layout.shared,
            symbols: layout.symbols.clone(),
            local_bytes: layout.local,
            max_threads: kernel.max_threads,
            max_registers: kernel.max_registers,
            cluster: kernel.cluster,
            explicit_cluster: kernel.explicit_cluster,
            max_cluster: kernel.max_cluster,
            dynamic_align: layout.dynamic_align,
            grain: 4,
            global_grain: 4,
            ..Program::default()
        };
        Self {
            module,
            function: None,
            kernel,
            places: layout.places.clone(),
            params: params
                .map(|(decl, param)| (decl.name.as_str(), (param.offset, param.bytes)))
                .collect(),
            program,
            registers,
            counts,
            fixed: HashMap::new(),
            instruction: 0,
            guard: None,
            communicates: false,
            carry: None,
        }
    }

    /// Adds an operation under the instruction's guard.
    fn push(&mut self, code: impl Into<Code>) {
        self.push_guarded(self.guard, code);
    }

    /// Adds an operation for all threads, such as one that computes an operand.
    fn push_always(&mut self, code: impl Into<Code>) {
        self.push_guarded(None, code);
    }

    fn push_guarded(&mut self, guard: Guard, code: impl Into<Code>) {
        let first = self
            .program
            .ops
            .last()
            .is_none_or(|op| op.instruction != self.instruction);
        self.program.ops.push(Op {
            guard,
            code: code.into(),
            instruction: self.instruction,
            first,
            communicates: false,
        });
    }

    fn temp(&mut self, class: Class) -> Reg {
        let index = self.counts[class as usize];
        self.counts[class as usize] += 1;
        Reg { class, index }
    }

    fn reg(&self, id: RegisterId) -> Reg {
        self.registers[id as usize]
    }

    fn type_of(&self, id: RegisterId) -> Type {
        self.kernel.registers[id as usize]
    }

    /// The register that holds `value` in every lane.
    fn constant(&mut self, class: Class, value: u64) -> Reg {
        let value = match class {
            Class::B32 => value & 0xffff_ffff,
            Class::B64 | Class::Predicate => value,
        };
        self.fixed(class, Fixed::Const(value))
    }

    fn fixed(&mut self, class: Class, fixed: Fixed) -> Reg {
        let list = match class {
            Class::B32 => &mut self.program.fixed_b32,
            Class::B64 | Class::Predicate => &mut self.program.fixed_b64,
        };
        let index = *self.fixed.entry((class, fixed)).or_insert_with(|| {
            list.push(fixed);
            FIXED + list.len() as u32 - 1
        });
        Reg { class, index }
    }

    /// Clears the upper half of a 16-bit register.
    fn push_16(&mut self, d: u32) {
        let b = self.constant(Class::B32, 0xffff).index;
        self.push(LaneOp::B32(B32Op::And, [d, d, b]));
    }

    fn instr(&mut self, instr: &Instr) -> Result<()> {
        forms::check(instr)?;
        self.check_types(instr)?;
        self.guard = instr
            .guard
            .map(|(id, negated)| (self.reg(id).index, negated));
        match instr.opcode[0].as_str() {
            "ldmatrix" | "stmatrix" => self.matrix_access(instr),
            "mma" => self.mma(instr),
            "wgmma" => self.wgmma(instr),
            "wmma" => self.wmma(instr),
            "movmatrix" => self.movmatrix(instr),
            "mbarrier" => self.mbarrier(instr),
            "mapa" => self.mapa(instr),
            "getctarank" => self.ctarank(instr),
            "createpolicy" => self.policy(instr),
            "cp" if instr.opcode.get(2).is_some_and(|part| part == "bulk") => self.bulk(instr),
            "cp" if instr.opcode.get(1).is_some_and(|part| part == "reduce") => {
                self.bulk_reduction(instr)
            }
            "cp" if instr.has("async") => self.copy_async(instr),
            "st" | "red" if instr.has("async") => self.store_async(instr),
            "ld" | "ldu" | "st" | "atom" | "red" => self.memory(instr),
            "call" => self.call(instr),
            "bra" | "brx" | "ret" | "exit" | "trap" | "bar" | "barrier" | "membar" | "fence"
            | "shfl" | "vote" | "match" | "redux" | "activemask" | "nanosleep" | "prefetch"
            | "prefetchu" | "pmevent" | "discard" | "applypriority" | "griddepcontrol"
            | "elect" | "setmaxnreg" => self.control(instr),
            _ => self.arithmetic(instr),
        }
    }
}

/// 64-bit types are in 64-bit registers, predicates in one bit, all others in 32 bits.
fn class_of(ty: Type) -> Class {
    match (ty.kind, ty.bits) {
        (TypeKind::Predicate, _) => Class::Predicate,
        (_, 64) => Class::B64,
        _ => Class::B32,
    }
}
