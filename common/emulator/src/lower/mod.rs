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
mod graph;
mod inline;
mod instruction_kind;
mod layout;
mod matrix;
mod mbarrier;
mod memory;
mod min_max;
mod mma;
mod moves;
mod order;
mod reduction;
mod registers;
mod scalar;
mod system_call;
mod undefined;
mod wgmma;
mod wmma;
mod wmma_memory;
mod wmma_small;

use std::collections::HashMap;

use layout::{Layout, VariableAddress};

pub(crate) use float_format::{F16, NAN_F32, Rounding, canonical, f16_to_f64, narrow};
pub(crate) use float_ops::{fma_f64, mul_ftz, nan64};
pub(crate) use layout::{VariablePlace, params, variables};
pub(crate) use scalar::Scalar;

use crate::Error;
use crate::op::{B32Op, Class, Code, ColdOp, Compare, Guard, LaneOp, Logic, Op, Reg};
use crate::program::{Fixed, Instruction, Program, SourceLine, Special};
use crate::ptx::{
    Instr, Kernel, Operand, Parsed, Ptx, PtxError, RegisterId, Statement, Type, TypeKind,
    check_availability,
};

pub(crate) type Result<T> = std::result::Result<T, PtxError>;

/// A kernel's shared memory starts at this address; the bytes below belong to the system, as on an H100.
pub const SHARED_BASE: u32 = 1024;

/// Start of each space's generic addresses. Global allocations are between 2^40 and 2^47.
pub(crate) mod window {
    pub const SHARED: u64 = 0x7000_0000_0000;
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

/// A bound for hostile input: operations of a kernel. The sanitizer counts them in 22 bits.
const MAX_OPERATIONS: usize = 1 << 21;

/// Temporary numbers of fixed registers start here until all registers are known.
const FIXED: u32 = 1 << 31;

/// Lowers the kernel of this name.
pub(crate) fn kernel(ptx: &Ptx, name: &str) -> std::result::Result<Program, Error> {
    let module = ptx.parsed();
    match module.kernels.iter().find(|kernel| kernel.name == name) {
        Some(kernel) => Ok(program(module, kernel)?),
        None => Err(ptx.no_kernel(name)),
    }
}

fn program(module: &Parsed, kernel: &Kernel) -> Result<Program> {
    let inline::Inlined {
        kernel,
        subroutines,
    } = inline::inlined(module, kernel)?;
    let kernel = &*kernel;
    let layout = Layout::new(module, kernel)?;
    let mut lowering = Lowering::new(module, kernel, &layout);
    lowering.declare(&subroutines, &layout);
    let mut instructions = Vec::new();
    let mut labels: HashMap<u32, u32> = HashMap::new();
    for statement in &kernel.body {
        match statement {
            Statement::Label(label) => {
                if let Some(number) = subroutines.iter().position(|one| one.entry == *label) {
                    lowering.close();
                    lowering.function = Some(number as u32);
                }
                labels.insert(*label, lowering.program.ops.len() as u32);
            }
            Statement::Instr(instr) => {
                lowering.instruction = instructions.len() as u32;
                let (source, inlined_from) = source_lines(module, instr);
                let first = lowering.program.ops.len();
                lowering.communicates = false;
                check_availability(instr, module.version, &module.target)
                    .and_then(|()| lowering.instr(instr))
                    .map_err(|error| error.at(source.clone()))?;
                if lowering.communicates {
                    lowering.program.communicates = true;
                    let these = lowering.program.ops.iter_mut().skip(first);
                    these.for_each(|op| op.communicates = true);
                }
                instructions.push(Instruction {
                    ptx_line: instr.line,
                    text: instr.text.clone(),
                    opcode: instr.opcode.join("."),
                    guard: instr.guard,
                    kind: instruction_kind::kind_of(instr, &lowering.program.ops[first..]),
                    source,
                    inlined_from,
                    in_library: in_library(module, instr),
                    in_cub: in_cub(module, instr),
                });
                if lowering.program.ops.len() > MAX_OPERATIONS {
                    let message = format!("more than {MAX_OPERATIONS} operations");
                    return Err(instr.error(message));
                }
            }
        }
    }
    lowering.close();
    if instructions.is_empty() {
        return Err(PtxError::new(
            kernel.line,
            format!("the kernel `{}` is empty", kernel.name),
        ));
    }
    let counts = lowering.counts;
    let mut program = lowering.program;
    let ops = &mut program.ops;
    control::resolve(ops, &labels, kernel.line)?;
    call::resolve(&mut program.functions, &subroutines, &labels);
    graph::set_reconvergence(ops);
    wgmma::hold_registers(ops);
    let fixed = [&program.fixed_b32, &program.fixed_b64].map(|list| list.len() as u32);
    // The entries of the kernel and of the called functions.
    let functions = program.functions.iter();
    let entries: Vec<usize> = std::iter::once(0)
        .chain(functions.map(|function| function.entry as usize))
        .collect();
    let mut allocated = registers::allocate(ops, counts, [fixed[0], fixed[1], 0], &entries)
        .map_err(|message| PtxError::new(kernel.line, message))?;
    let [b32, b64, predicates] = allocated.sizes;
    program.watched = wgmma::watched(ops, b32);
    let has_local = program.local_bytes > 0 || !program.functions.is_empty();
    program.flows = undefined::flows(ops, &mut allocated, has_local, &instructions);
    let mut unwritten = allocated.unwritten.into_iter();
    program.unwritten = unwritten.next().unwrap_or_default();
    for (function, unwritten) in program.functions.iter_mut().zip(unwritten) {
        function.unwritten = unwritten;
    }
    Ok(Program {
        target: module.target.clone(),
        instructions,
        b32,
        b64,
        predicates,
        ..program
    })
}

/// The line of the outermost call, and the line in the inlined function, if the instruction is in one.
fn source_lines(module: &Parsed, instr: &Instr) -> (Option<SourceLine>, Option<SourceLine>) {
    let line = |file: u32, line: u32| {
        module.files.get(&file).map(|name| SourceLine {
            file: name.clone(),
            line,
        })
    };
    match instr.loc {
        None => (None, None),
        Some(loc) => match loc.inlined_at {
            Some((file, at)) => (line(file, at), line(loc.file, loc.line)),
            None => (line(loc.file, loc.line), None),
        },
    }
}

/// Whether the instruction is in an inlined function of NVIDIA's headers that was called by another one of them.
/// Wrappers of single instructions, `cuda::ptx`, count as the kernel's own code if the kernel calls them.
fn in_library(module: &Parsed, instr: &Instr) -> bool {
    let is_nvidias = |file: u32| {
        let name = module.files.get(&file).map_or("", |name| name);
        let mut parts = name.split(['/', '\\']).rev();
        let file = parts.next().unwrap_or_default();
        let folders: Vec<&str> = parts.collect();
        file.starts_with("cuda_pipeline")
            || folders.contains(&"cooperative_groups")
            || folders.contains(&"cuda") && folders.iter().any(|folder| folder.starts_with("__"))
    };
    is_called_within(instr, is_nvidias)
}

/// The same for CUB, whose merges read one key past the end and do not use it.
fn in_cub(module: &Parsed, instr: &Instr) -> bool {
    is_called_within(instr, |file| {
        let name = module.files.get(&file).map_or("", |name| name);
        name.split(['/', '\\']).any(|folder| folder == "cub")
    })
}

/// Whether it is in an inlined function of a library file that was called by a function in such a file.
fn is_called_within(instr: &Instr, is_of_library: impl Fn(u32) -> bool) -> bool {
    let called = instr.loc.and_then(|loc| Some((loc.file, loc.caller?)));
    called.is_some_and(|(file, caller)| is_of_library(file) && is_of_library(caller))
}

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

    /// A source operand, in a register of class `class`.
    fn source(&mut self, instr: &Instr, operand: &Operand, class: Class) -> Result<Reg> {
        match operand {
            Operand::Register(id) => {
                let reg = self.reg(*id);
                self.widen(instr, reg, class)
            }
            // No fixed register holds predicates; `predicate` handles those that may be written as numbers.
            _ if class == Class::Predicate => Err(instr.wrong("needs a predicate")),
            Operand::Int(value) => Ok(self.constant(class, *value)),
            Operand::F32(bits) if class == Class::B64 => {
                Ok(self.constant(class, f64::from(f32::from_bits(*bits)).to_bits()))
            }
            Operand::F32(bits) => Ok(self.constant(class, u64::from(*bits))),
            Operand::F64(bits) if class == Class::B64 => Ok(self.constant(class, *bits)),
            Operand::F64(bits) => {
                Ok(self.constant(class, u64::from((f64::from_bits(*bits) as f32).to_bits())))
            }
            Operand::Special(name) => self.special(instr, name, class),
            Operand::Symbol(name, offset) => self.symbol(instr, name, *offset, class),
            _ => {
                let text = &instr.text;
                Err(instr.error(format!("an operand of `{text}` is of the wrong kind")))
            }
        }
    }

    /// PTX lets an instruction read the low part of a wider register, for `.b` types and conversions.
    fn widen(&mut self, instr: &Instr, reg: Reg, class: Class) -> Result<Reg> {
        match (reg.class, class) {
            (a, b) if a == b => Ok(reg),
            (Class::B64, Class::B32) => {
                let d = self.temp(Class::B32);
                self.push_always(LaneOp::Truncate([d.index, reg.index]));
                Ok(d)
            }
            (Class::B32, Class::B64) => {
                let d = self.temp(Class::B64);
                self.push_always(LaneOp::Extend(false, [d.index, reg.index]));
                Ok(d)
            }
            _ => Err(instr.wrong("mixes predicates with other registers")),
        }
    }

    fn special(&mut self, instr: &Instr, name: &str, class: Class) -> Result<Reg> {
        let (base, dim) = match name.rsplit_once('.') {
            Some((base, "x")) => (base, 0),
            Some((base, "y")) => (base, 1),
            Some((base, "z")) => (base, 2),
            _ => (name, 0),
        };
        let special = match base {
            "%tid" => Special::Tid(dim),
            "%ntid" => Special::Ntid(dim),
            "%ctaid" => Special::Ctaid(dim),
            "%nctaid" => Special::Nctaid(dim),
            "%clusterid" => Special::Cluster(dim),
            "%nclusterid" => Special::Clusters(dim),
            "%cluster_ctaid" => Special::ClusterCtaid(dim),
            "%cluster_nctaid" => Special::ClusterNctaid(dim),
            "%cluster_ctarank" => Special::ClusterRank,
            "%cluster_nctarank" => Special::ClusterRanks,
            "%laneid" => Special::Lane,
            "%warpid" => Special::Warp,
            "%nwarpid" => Special::Warps,
            "%lanemask_eq" => Special::LaneMaskEq,
            "%lanemask_le" => Special::LaneMaskLe,
            "%lanemask_lt" => Special::LaneMaskLt,
            "%lanemask_ge" => Special::LaneMaskGe,
            "%lanemask_gt" => Special::LaneMaskGt,
            _ if let Some(number) = envreg(base) => Special::Environment(number),
            "%dynamic_smem_size" => Special::DynamicShared,
            "%total_smem_size" => Special::TotalShared,
            "%aggr_smem_size" => Special::AggregateShared,
            "%clock" | "%clock_hi" | "%clock64" | "%globaltimer" | "%globaltimer_lo"
            | "%globaltimer_hi" => {
                let d = self.temp(class);
                self.push_always(ColdOp::Clock { d });
                return Ok(d);
            }
            _ => {
                return Err(instr.error(format!(
                    "`{name}` is neither a declared register nor a special register that the emulator has, in `{}`",
                    instr.text
                )));
            }
        };
        Ok(self.fixed(class, Fixed::Special(special)))
    }

    fn symbol(&mut self, instr: &Instr, name: &str, offset: i64, class: Class) -> Result<Reg> {
        if name == "WARP_SZ" {
            return Ok(self.constant(class, 32));
        }
        let at = match self.places.get(name) {
            Some(&VariableAddress::Global(index)) => {
                return Ok(self.fixed(class, Fixed::Global { index, offset }));
            }
            Some(&VariableAddress::Frame(at)) => {
                return self.frame_address(at, offset, class);
            }
            Some(VariableAddress::Dynamic) => {
                return Ok(self.fixed(class, Fixed::Dynamic { offset }));
            }
            Some(
                VariableAddress::Const(at)
                | VariableAddress::Shared(at)
                | VariableAddress::Local(at),
            ) => *at,
            None => match self.params.get(name) {
                Some((at, _)) => *at,
                None if let Some(address) = self.module.function_address(name) => {
                    return Ok(self.constant(class, address.wrapping_add_signed(offset)));
                }
                None => {
                    let message = format!("`{name}` is not declared, in `{}`", instr.text);
                    return Err(instr.error(message));
                }
            },
        };
        Ok(self.constant(class, u64::from(at).wrapping_add_signed(offset)))
    }

    /// A destination register.
    fn dest(&mut self, instr: &Instr, operand: &Operand) -> Result<Reg> {
        match operand {
            Operand::Register(id) => Ok(self.reg(*id)),
            _ => Err(instr.wrong("has no register to write to")),
        }
    }

    fn predicate(&mut self, instr: &Instr, operand: &Operand) -> Result<(u32, bool)> {
        let (id, negated) = match operand {
            Operand::Register(id) => (*id, false),
            Operand::NotRegister(id) => (*id, true),
            Operand::Special(name) if name == "%is_explicit_cluster" => {
                let a = self.fixed(Class::B32, Fixed::Special(Special::ExplicitCluster));
                let b = self.constant(Class::B32, 0).index;
                let d = self.temp(Class::Predicate).index;
                self.push_always(LaneOp::Compare(Compare::Ne, [d, a.index, b]));
                return Ok((d, false));
            }
            // `-1` and `1` mean true.
            Operand::Int(value) => {
                let p = self.temp(Class::Predicate);
                self.push_always(LaneOp::Logic(Logic::Xor, [p.index; 3], *value != 0));
                return Ok((p.index, false));
            }
            _ => return Err(instr.wrong("needs a predicate")),
        };
        let reg = self.reg(id);
        if reg.class != Class::Predicate {
            return Err(instr.wrong("needs a predicate"));
        }
        Ok((reg.index, negated))
    }

    /// A destination register of this class.
    fn dest_of(&mut self, instr: &Instr, operand: &Operand, class: Class) -> Result<Reg> {
        let d = self.dest(instr, operand)?;
        self.check_class(instr, d, class)?;
        Ok(d)
    }

    fn check_class(&self, instr: &Instr, d: Reg, class: Class) -> Result<()> {
        let fits = (d.class == class).then_some(());
        fits.ok_or_else(|| wrong_width(instr))
    }

    /// Source operands of one class.
    fn sources<const N: usize>(
        &mut self,
        instr: &Instr,
        operands: [&Operand; N],
        class: Class,
    ) -> Result<[Reg; N]> {
        let mut regs = [Reg::predicate(0); N];
        for (reg, operand) in regs.iter_mut().zip(operands) {
            *reg = self.source(instr, operand, class)?;
        }
        Ok(regs)
    }

    /// Whether an operand is a 16-bit register, whose upper half is always zero.
    fn is_16(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Register(id) if self.type_of(*id).bits == 16)
    }

    /// Clears the upper half of a 16-bit register.
    fn push_16(&mut self, d: u32) {
        let b = self.constant(Class::B32, 0xffff).index;
        self.push(LaneOp::B32(B32Op::And, [d, d, b]));
    }

    /// The operands; it is an error if their number is not `N`.
    fn operands<'i, const N: usize>(&self, instr: &'i Instr) -> Result<&'i [Operand; N]> {
        instr
            .operands
            .first_chunk::<N>()
            .filter(|_| instr.operands.len() == N)
            .ok_or_else(|| instr.wrong(format!("takes {N} operands, not {}", instr.operands.len())))
    }

    fn instr(&mut self, instr: &Instr) -> Result<()> {
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

/// The number of `%envreg0` to `%envreg31`.
fn envreg(name: &str) -> Option<u8> {
    let digits = name.strip_prefix("%envreg")?;
    let number = digits.parse().ok()?;
    (number < 32 && (digits.len() == 1 || !digits.starts_with('0'))).then_some(number)
}

fn wrong_width(instr: &Instr) -> PtxError {
    let text = &instr.text;
    instr.error(format!(
        "the result register of `{text}` has the wrong width"
    ))
}

fn wrong_registers(instr: &Instr) -> PtxError {
    let text = &instr.text;
    instr.error(format!("the registers of `{text}` have the wrong width"))
}

/// 64-bit types are in 64-bit registers, predicates in one bit, all others in 32 bits.
fn class_of(ty: Type) -> Class {
    match (ty.kind, ty.bits) {
        (TypeKind::Predicate, _) => Class::Predicate,
        (_, 64) => Class::B64,
        _ => Class::B32,
    }
}
