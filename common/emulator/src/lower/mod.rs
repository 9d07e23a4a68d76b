//! Statements to typed operations: every name, type and branch target is settled here, once.
mod arithmetic;
mod bulk;
mod cluster;
mod compare;
mod control;
mod convert;
mod float;
mod floating;
mod graph;
mod inline;
mod layout;
mod matrix;
mod mbarrier;
mod memory;
mod moves;
mod registers;
mod scalar;
mod wgmma;

use std::collections::HashMap;

use layout::{Layout, Place};

pub(crate) use float::NAN_F32;
pub(crate) use scalar::Scalar;

use crate::op::{Class, Code, Op, Reg, Word};
use crate::program::{Fixed, Instruction, Program, SourceLine, Special};
use crate::ptx::{Instr, Kernel, Kind, Module, Operand, PtxError, RegisterId, Statement, Type};

pub(crate) type Result<T> = std::result::Result<T, PtxError>;

/// Shared memory starts here in its window; the bytes below belong to the system, as on an H100.
pub(crate) const SHARED_BASE: u32 = 1024;

/// Where generic addresses of each space start. Global allocations lie between 2^40 and 2^46.
pub(crate) mod window {
    pub const SHARED: u64 = 0x7000_0000_0000;
    pub const LOCAL: u64 = 0x7100_0000_0000;
    pub const CONST: u64 = 0x7200_0000_0000;
    pub const PARAM: u64 = 0x7300_0000_0000;
    pub const END: u64 = 0x7400_0000_0000;
}

/// Everything that one kernel's lowering knows.
pub(crate) struct Lowering<'a> {
    kernel: &'a Kernel,
    places: HashMap<&'a str, Place>,
    params: HashMap<&'a str, (u32, u32)>,
    ops: Vec<Op>,
    /// Class of each register in the text and of the temporaries after them.
    registers: Vec<Reg>,
    counts: [u32; 3],
    fixed_words: Vec<Fixed>,
    fixed_doubles: Vec<Fixed>,
    fixed: HashMap<(Class, Fixed), u32>,
    warnings: Vec<String>,
    memory_slots: u32,
    talks: bool,
    grain: u32,
    /// The instruction that operations are being made for.
    instruction: u32,
}

/// A bound for hostile input: operations of a kernel. The sanitizer counts them in 22 bits.
const MAX_OPERATIONS: usize = 1 << 21;

/// Fixed registers are numbered from here until all are known.
const FIXED: u32 = 1 << 31;

pub(crate) fn kernel(module: &Module, name: &str) -> Result<Program> {
    let Some(kernel) = module.kernels.iter().find(|kernel| kernel.name == name) else {
        let others: Vec<&str> = module.kernels().collect();
        let others = if others.is_empty() {
            "no kernel at all".into()
        } else {
            format!("only {}", others.join(", "))
        };
        return Err(PtxError::new(
            0,
            format!(
                "there is no kernel `{name}` in this PTX, {others}; declare it as extern \"C\" __global__ void {name}(…)"
            ),
        ));
    };
    let kernel = &*inline::inlined(module, kernel)?;
    let layout = Layout::new(module, kernel)?;
    let mut lowering = Lowering::new(kernel, &layout);
    let mut instructions = Vec::new();
    let mut labels: HashMap<u32, u32> = HashMap::new();
    for statement in &kernel.body {
        match statement {
            Statement::Label(label) => {
                labels.insert(*label, lowering.ops.len() as u32);
            }
            Statement::Instr(instr) => {
                lowering.instruction = instructions.len() as u32;
                let described = describe(module, instr);
                lowering
                    .instr(instr)
                    .map_err(|error| error.at(described.source.clone()))?;
                instructions.push(described);
                if lowering.ops.len() > MAX_OPERATIONS {
                    let message = format!("more than {MAX_OPERATIONS} operations");
                    return Err(instr.error(message));
                }
            }
        }
    }
    // Falling off the end is an exit.
    lowering.push(None, Code::Exit);
    let last = instructions.len().saturating_sub(1) as u32;
    if let Some(op) = lowering.ops.last_mut() {
        (op.instruction, op.first) = (last, false);
    }
    if instructions.is_empty() {
        return Err(PtxError::new(
            kernel.line,
            format!("the kernel `{name}` is empty"),
        ));
    }
    let mut ops = lowering.ops;
    control::resolve(&mut ops, &labels, kernel.line)?;
    graph::set_rejoin(&mut ops);
    wgmma::hold_registers(&mut ops);
    let fixed = [
        lowering.fixed_words.len() as u32,
        lowering.fixed_doubles.len() as u32,
        0,
    ];
    let [words, doubles, predicates] = registers::allocate(&mut ops, lowering.counts, fixed)
        .map_err(|message| PtxError::new(kernel.line, message))?;
    let watched = wgmma::watched(&mut ops, words);
    Ok(Program {
        target: module.target().to_owned(),
        instructions,
        params: layout.params,
        warnings: lowering.warnings,
        ops,
        fixed_words: lowering.fixed_words,
        fixed_doubles: lowering.fixed_doubles,
        words,
        doubles,
        predicates,
        slots: lowering.memory_slots as usize,
        static_shared: layout.shared,
        local_bytes: layout.local,
        constants: layout.constants,
        globals: layout.globals,
        max_threads: kernel.max_threads,
        max_registers: kernel.max_registers,
        cluster: kernel.cluster,
        explicit_cluster: kernel.explicit_cluster,
        max_cluster: kernel.max_cluster,
        dynamic_align: layout.dynamic_align,
        talks: lowering.talks,
        grain: lowering.grain,
        watched,
    })
}

fn describe(module: &Module, instr: &Instr) -> Instruction {
    let line = |file: u32, line: u32| {
        module.files.get(&file).map(|name| SourceLine {
            file: name.clone(),
            line,
        })
    };
    let (source, inlined_from) = match instr.loc {
        None => (None, None),
        Some(loc) => match loc.inlined_at {
            Some((file, at)) => (line(file, at), line(loc.file, loc.line)),
            None => (line(loc.file, loc.line), None),
        },
    };
    Instruction {
        ptx_line: instr.line,
        text: instr.text.clone(),
        source,
        inlined_from,
    }
}

impl<'a> Lowering<'a> {
    fn new(kernel: &'a Kernel, layout: &Layout<'a>) -> Self {
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
        Self {
            kernel,
            places: layout.places.clone(),
            params: params
                .map(|(decl, param)| (decl.name.as_str(), (param.offset, param.bytes)))
                .collect(),
            ops: Vec::new(),
            registers,
            counts,
            fixed_words: Vec::new(),
            fixed_doubles: Vec::new(),
            fixed: HashMap::new(),
            warnings: Vec::new(),
            memory_slots: 0,
            talks: false,
            grain: 4,
            instruction: 0,
        }
    }

    fn push(&mut self, guard: Option<(u32, bool)>, code: Code) {
        let first = self
            .ops
            .last()
            .is_none_or(|op| op.instruction != self.instruction);
        self.ops.push(Op {
            guard,
            code,
            instruction: self.instruction,
            first,
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
        let value = if class == Class::Word {
            value & 0xffff_ffff
        } else {
            value
        };
        self.fixed(class, Fixed::Const(value))
    }

    fn fixed(&mut self, class: Class, fixed: Fixed) -> Reg {
        let list = if class == Class::Word {
            &mut self.fixed_words
        } else {
            &mut self.fixed_doubles
        };
        let index = *self.fixed.entry((class, fixed)).or_insert_with(|| {
            list.push(fixed);
            FIXED + list.len() as u32 - 1
        });
        Reg { class, index }
    }

    /// A source operand, in a register of the class that `class` names.
    fn source(&mut self, instr: &Instr, operand: &Operand, class: Class) -> Result<Reg> {
        match operand {
            Operand::Register(id) => {
                let reg = self.reg(*id);
                self.widen(instr, reg, class)
            }
            // No fixed register holds predicates; `predicate` takes those that may be written as numbers.
            _ if class == Class::Predicate => {
                Err(instr.error(format!("`{}` needs a predicate", instr.text)))
            }
            Operand::Int(value) => Ok(self.constant(class, *value)),
            Operand::F32(bits) if class == Class::Double => {
                Ok(self.constant(class, f64::from(f32::from_bits(*bits)).to_bits()))
            }
            Operand::F32(bits) => Ok(self.constant(class, u64::from(*bits))),
            Operand::F64(bits) if class == Class::Double => Ok(self.constant(class, *bits)),
            Operand::F64(bits) => {
                Ok(self.constant(class, u64::from((f64::from_bits(*bits) as f32).to_bits())))
            }
            Operand::Special(name) => self.special(instr, name, class),
            Operand::Symbol(name, offset) => self.symbol(instr, name, *offset, class),
            _ => Err(instr.error(format!(
                "an operand of `{}` is of the wrong kind",
                instr.text
            ))),
        }
    }

    /// PTX lets an instruction read the low part of a wider register, for `.b` types and conversions.
    fn widen(&mut self, instr: &Instr, reg: Reg, class: Class) -> Result<Reg> {
        match (reg.class, class) {
            (a, b) if a == b => Ok(reg),
            (Class::Double, Class::Word) => {
                let d = self.temp(Class::Word);
                self.push(
                    None,
                    Code::Truncate {
                        d: d.index,
                        a: reg.index,
                    },
                );
                Ok(d)
            }
            (Class::Word, Class::Double) => {
                let d = self.temp(Class::Double);
                self.push(
                    None,
                    Code::Extend {
                        signed: false,
                        d: d.index,
                        a: reg.index,
                    },
                );
                Ok(d)
            }
            _ => Err(instr.error(format!(
                "`{}` mixes predicates with other registers",
                instr.text
            ))),
        }
    }

    fn special(&mut self, instr: &Instr, name: &str, class: Class) -> Result<Reg> {
        let (base, dim) = match name.rsplit_once('.') {
            Some((base, "x")) => (base, 0),
            Some((base, "y")) => (base, 1),
            Some((base, "z")) => (base, 2),
            _ => (name, 0),
        };
        let fixed = match base {
            "%tid" => Fixed::Special(Special::Tid(dim)),
            "%ntid" => Fixed::Special(Special::Ntid(dim)),
            "%ctaid" => Fixed::Special(Special::Ctaid(dim)),
            "%nctaid" => Fixed::Special(Special::Nctaid(dim)),
            "%clusterid" => Fixed::Special(Special::Cluster(dim)),
            "%nclusterid" => Fixed::Special(Special::Clusters(dim)),
            "%cluster_ctaid" => Fixed::Special(Special::ClusterCtaid(dim)),
            "%cluster_nctaid" => Fixed::Special(Special::ClusterNctaid(dim)),
            "%cluster_ctarank" => Fixed::Special(Special::ClusterRank),
            "%cluster_nctarank" => Fixed::Special(Special::ClusterRanks),
            "%laneid" => Fixed::Special(Special::Lane),
            "%warpid" => Fixed::Special(Special::Warp),
            "%nwarpid" => Fixed::Special(Special::Warps),
            "%lanemask_eq" => Fixed::Special(Special::LaneMaskEq),
            "%lanemask_le" => Fixed::Special(Special::LaneMaskLe),
            "%lanemask_lt" => Fixed::Special(Special::LaneMaskLt),
            "%lanemask_ge" => Fixed::Special(Special::LaneMaskGe),
            "%lanemask_gt" => Fixed::Special(Special::LaneMaskGt),
            "%dynamic_smem_size" => Fixed::Special(Special::DynamicShared),
            "%total_smem_size" => Fixed::Special(Special::TotalShared),
            "%clock" | "%clock_hi" | "%clock64" | "%globaltimer" | "%globaltimer_lo"
            | "%globaltimer_hi" => {
                let d = self.temp(class);
                self.push(None, Code::Clock { d });
                return Ok(d);
            }
            "WARP_SZ" => Fixed::Const(32),
            _ if name.starts_with('%') => {
                return Err(instr.error(format!("`{name}` is neither a declared register nor a special register that the emulator has")));
            }
            _ => return Err(instr.unsupported()),
        };
        Ok(self.fixed(class, fixed))
    }

    fn symbol(&mut self, instr: &Instr, name: &str, offset: i64, class: Class) -> Result<Reg> {
        if name == "WARP_SZ" {
            return Ok(self.constant(class, 32));
        }
        let fixed = match self.places.get(name) {
            Some(Place::Global(index)) => Fixed::Global {
                index: *index,
                offset,
            },
            Some(Place::Const(at) | Place::Shared(at) | Place::Local(at)) => {
                Fixed::Const(u64::from(*at).wrapping_add_signed(offset))
            }
            Some(Place::Dynamic) => Fixed::Dynamic { offset },
            None => match self.params.get(name) {
                Some((at, _)) => Fixed::Const(u64::from(*at).wrapping_add_signed(offset)),
                None => return Err(instr.error(format!("`{name}` is not declared"))),
            },
        };
        if let Fixed::Const(value) = fixed {
            return Ok(self.constant(class, value));
        }
        Ok(self.fixed(class, fixed))
    }

    /// A destination register.
    fn dest(&mut self, instr: &Instr, operand: &Operand) -> Result<Reg> {
        match operand {
            Operand::Register(id) => Ok(self.reg(*id)),
            _ => Err(instr.error(format!("`{}` has no register to write to", instr.text))),
        }
    }

    fn predicate(&mut self, instr: &Instr, operand: &Operand) -> Result<(u32, bool)> {
        let (id, negated) = match operand {
            Operand::Register(id) => (*id, false),
            Operand::NotRegister(id) => (*id, true),
            Operand::Special(name) if name == "%is_explicit_cluster" => {
                let a = self.fixed(Class::Word, Fixed::Special(Special::ExplicitCluster));
                let (b, d) = (
                    self.constant(Class::Word, 0).index,
                    self.temp(Class::Predicate).index,
                );
                let (op, a) = (crate::op::Compare::Ne, a.index);
                self.push(None, Code::Compare { op, d, a, b });
                return Ok((d, false));
            }
            // `-1` and `1` stand for true.
            Operand::Int(value) => {
                let p = self.temp(Class::Predicate);
                self.push(
                    None,
                    Code::Logic {
                        op: crate::op::Logic::Xor,
                        d: p.index,
                        a: p.index,
                        b: p.index,
                        negate_b: *value != 0,
                    },
                );
                return Ok((p.index, false));
            }
            _ => return Err(instr.error(format!("`{}` needs a predicate", instr.text))),
        };
        let reg = self.reg(id);
        if reg.class != Class::Predicate {
            return Err(instr.error(format!("`{}` needs a predicate", instr.text)));
        }
        Ok((reg.index, negated))
    }

    fn wrong_width(&self, instr: &Instr) -> PtxError {
        instr.error(format!(
            "the result register of `{}` has the wrong width",
            instr.text
        ))
    }

    /// Whether an operand is a register of 16 bits. Its upper half is always zero.
    fn is_16(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Register(id) if self.type_of(*id).bits == 16)
    }

    /// Clears the upper half of a 16-bit register.
    fn push_16(&mut self, guard: Option<(u32, bool)>, d: u32) {
        let b = self.constant(Class::Word, 0xffff).index;
        let op = Word::And;
        self.push(guard, Code::Word { op, d, a: d, b });
    }

    /// The operands, which must be as many as the instruction takes.
    fn operands<'i, const N: usize>(&self, instr: &'i Instr) -> Result<&'i [Operand; N]> {
        instr
            .operands
            .first_chunk::<N>()
            .filter(|_| instr.operands.len() == N)
            .ok_or_else(|| {
                instr.error(format!(
                    "`{}` takes {N} operands, not {}",
                    instr.text,
                    instr.operands.len()
                ))
            })
    }

    fn instr(&mut self, instr: &Instr) -> Result<()> {
        let guard = instr
            .guard
            .map(|(id, negated)| (self.reg(id).index, negated));
        match instr.opcode[0].as_str() {
            "ldmatrix" | "stmatrix" => self.matrix_access(instr, guard),
            "mma" => self.mma(instr, guard),
            "wgmma" => self.wgmma(instr, guard),
            "mbarrier" => self.mbarrier(instr, guard),
            "mapa" => self.mapa(instr, guard),
            "getctarank" => self.ctarank(instr, guard),
            "createpolicy" => self.policy(instr, guard),
            "cp" if instr.opcode.get(2).is_some_and(|part| part == "bulk") => {
                self.bulk(instr, guard)
            }
            "cp" if instr.has("async") => self.copy_async(instr, guard),
            "ld" | "ldu" | "st" | "atom" | "red" => self.memory(instr, guard),
            "bra" | "brx" | "ret" | "exit" | "trap" | "bar" | "barrier" | "membar" | "fence"
            | "shfl" | "vote" | "match" | "redux" | "activemask" | "nanosleep" | "prefetch"
            | "prefetchu" | "brkpt" | "pmevent" | "discard" | "applypriority"
            | "griddepcontrol" | "elect" | "setmaxnreg" => self.control(instr, guard),
            _ => self.arithmetic(instr, guard),
        }
    }
}

/// 64-bit types take a double register, predicates a bit, everything else a word.
fn class_of(ty: Type) -> Class {
    match (ty.kind, ty.bits) {
        (Kind::Predicate, _) => Class::Predicate,
        (_, 64) => Class::Double,
        _ => Class::Word,
    }
}
