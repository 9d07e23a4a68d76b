//! The parser: PTX text to statements, without their meaning.
mod availability;
mod body;
mod declare;
mod lex;
mod number;
mod parse;
mod targets;
mod types;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::program::{Param, ParamKind, SourceLine};
use crate::{Error, Space, lower};

pub(crate) use availability::check as check_availability;
pub(crate) use types::{Type, TypeKind};

/// Why PTX was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place(*line, .source_line))]
pub struct PtxError {
    /// 1-based line of the PTX text; 0 if it is not known.
    pub line: u32,
    /// The line of the CUDA source, if it is known.
    pub source_line: Option<SourceLine>,
    /// What is wrong and, if possible, how to fix it.
    pub message: String,
}

impl PtxError {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> Self {
        Self {
            line,
            source_line: None,
            message: message.into(),
        }
    }
    /// Sets the line of the CUDA source, unless it is already set.
    pub(crate) fn at(mut self, source: Option<SourceLine>) -> Self {
        self.source_line = self.source_line.or(source);
        self
    }
}

fn place(line: u32, source: &Option<SourceLine>) -> String {
    match (line, source) {
        (0, None) => String::new(),
        (line, None) => format!("PTX line {line}: "),
        (line, Some(at)) => format!("PTX line {line} ({at}): "),
    }
}

/// Parsed PTX text, independent of any GPU. It is a handle: copies share the text.
#[derive(Clone, Debug)]
pub struct Ptx(Arc<Parsed>);

/// The contents of a PTX module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) version: (u32, u32),
    pub(crate) target: String,
    pub(crate) files: BTreeMap<u32, Arc<str>>,
    /// Names of inlined functions, by the number of their string in `.debug_str`.
    pub(crate) inlined_functions: BTreeMap<u32, Arc<str>>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) kernels: Vec<Kernel>,
    /// Device functions (`.func`) with a body.
    pub(crate) functions: Vec<Kernel>,
    /// Names of the device functions that are declared without a body.
    pub(crate) externs: Vec<String>,
}

impl Parsed {
    /// The address in kernels of a device function with a body.
    pub(crate) fn function_address(&self, name: &str) -> Option<u64> {
        let index = self.functions.iter().position(|one| one.name == name)?;
        Some(lower::window::CODE + 16 * (index as u64 + 1))
    }
}

/// A state space in which a variable can be declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableSpace {
    Global,
    Const,
    Shared,
    /// `.extern .shared`: the dynamic shared memory of the launch.
    DynamicShared,
    Local,
    /// On the call stack, in the frame of the function of this number.
    Frame(u32),
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub name: String,
    pub space: VariableSpace,
    pub align: u32,
    pub bytes: u64,
    /// Initial bytes, at most `bytes`; the rest is zero.
    pub init: Vec<u8>,
    /// Initial values that are addresses, known once the module is loaded.
    pub addresses: Vec<InitialAddress>,
}

/// `generic(name) + 8` or `name + 8` in the place of an initial value (PTX ISA, "Initializers").
#[derive(Clone, Debug)]
pub(crate) struct InitialAddress {
    /// Its offset in the variable, and its size in bytes.
    pub at: usize,
    pub width: usize,
    pub symbol: String,
    pub addend: i64,
    pub generic: bool,
    /// 1-based line of the PTX text.
    pub line: u32,
}

/// A kernel or a device function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel {
    pub name: String,
    pub line: u32,
    pub params: Vec<ParamDecl>,
    /// Results of a device function.
    pub returns: Vec<ParamDecl>,
    /// Type of each register; a [`RegisterId`] is an index here.
    pub registers: Vec<Type>,
    /// Variables declared in the body.
    pub variables: Vec<Variable>,
    pub body: Vec<Statement>,
    /// The number of labels; a [`LabelId`] is less than this.
    pub labels: LabelId,
    /// `.maxntid`, if given.
    pub max_threads: Option<[u32; 3]>,
    /// `.maxnreg`, if given.
    pub max_registers: Option<u32>,
    /// `.minnctapersm`, if given.
    pub min_blocks: Option<u32>,
    /// `.reqnctapercluster`, if given.
    pub cluster: Option<[u32; 3]>,
    /// `.explicitcluster`: the launch must have clusters.
    pub explicit_cluster: bool,
    /// `.maxclusterrank`, if given.
    pub max_cluster: Option<u32>,
}

impl Kernel {
    /// Parameters that are converted to addresses of a state space (`cvta.to`): not every compiler declares pointers as
    /// pointers.
    fn pointers(&self) -> HashSet<&str> {
        let mut loaded: HashMap<RegisterId, &str> = HashMap::new();
        let mut pointers = HashSet::new();
        for statement in &self.body {
            let Statement::Instr(instr) = statement else {
                continue;
            };
            match (instr.opcode[0].as_str(), &instr.operands[..]) {
                ("ld", [Operand::Register(to), Operand::Address(from, 0)])
                    if instr.has("param") =>
                {
                    if let Operand::Symbol(name, 0) = &**from {
                        loaded.insert(*to, name);
                    }
                }
                ("cvta", [_, Operand::Register(from)]) if instr.has("to") => {
                    pointers.extend(loaded.get(from));
                }
                _ => {}
            }
        }
        pointers
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ParamDecl {
    pub name: String,
    pub bytes: u32,
    pub align: u32,
    pub kind: ParamKind,
}

pub(crate) type RegisterId = u32;
pub(crate) type LabelId = u32;

#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Label(LabelId),
    Instr(Box<Instr>),
}

/// A position in a source file, as `.loc` gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loc {
    pub file: u32,
    pub line: u32,
    /// The call, if the code was inlined: the call in the kernel's own file, if it can be found.
    pub inlined_at: Option<(u32, u32)>,
    /// The kernel's own call.
    pub callee: Option<Frame>,
    /// The file of the function that it was inlined into, which may be inlined itself.
    pub caller: Option<u32>,
}

impl Loc {
    /// The file and line of what may be wrong here: in an inlined function if the kernel's own file has it, else the call.
    pub fn of_mistake(self) -> (u32, u32) {
        let call = self.inlined_at.filter(|(file, _)| *file != self.file);
        call.unwrap_or((self.file, self.line))
    }
}

/// A call that has been inlined, by the kernel itself: the file and line of the call, those in the function, and the number of
/// the string in `.debug_str` that names the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub call: (u32, u32),
    pub at: (u32, u32),
    pub function: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Instr {
    pub line: u32,
    pub loc: Option<Loc>,
    /// `@p` or `@!p`: the register, and whether it is negated.
    pub guard: Option<(RegisterId, bool)>,
    /// The opcode split at its dots: `ld`, `shared`, `v4`, `f32`.
    pub opcode: Vec<String>,
    pub operands: Vec<Operand>,
    /// The instruction as written, on one line.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Register(RegisterId),
    /// `!p`, as in `selp` and `setp` with a combined predicate.
    NotRegister(RegisterId),
    /// An integer, or the bits of `0f…` and `0d…` with that many bits.
    Int(u64),
    F32(u32),
    F64(u64),
    /// A special register such as `%tid.x`.
    Special(String),
    /// The name of a variable or parameter, plus an offset.
    Symbol(String, i64),
    Label(LabelId),
    /// `[base + offset]`.
    Address(Box<Operand>, i64),
    Vector(Vec<Operand>),
    /// `d|p`: two results.
    Pair(Box<Operand>, Box<Operand>),
    /// `_`: a result that is discarded.
    Sink,
    /// A list of labels, as `.branchtargets` declares it.
    Targets(Vec<LabelId>),
}

impl Instr {
    /// Whether the opcode has a suffix.
    pub fn has(&self, suffix: &str) -> bool {
        self.opcode.iter().skip(1).any(|part| part == suffix)
    }
    /// Whether the opcode has any of these suffixes.
    pub fn has_any(&self, suffixes: &[&str]) -> bool {
        suffixes.iter().any(|suffix| self.has(suffix))
    }
    /// Whether all suffixes from index `from` on are in `known`.
    pub fn has_only(&self, from: usize, known: &[&str]) -> bool {
        let mut suffixes = self.opcode.iter().skip(from);
        suffixes.all(|part| known.contains(&part.as_str()))
    }
    /// The types among the suffixes, in their order.
    pub fn types(&self) -> Vec<Type> {
        let suffixes = self.opcode.iter().skip(1);
        suffixes.filter_map(|part| Type::parse(part)).collect()
    }
    /// The first operand, and the others.
    pub fn result(&self) -> Result<(&Operand, &[Operand]), PtxError> {
        let split = self.operands.split_first();
        split.ok_or_else(|| self.unsupported())
    }
    /// The type of the result: the last one named.
    pub fn last_type(&self) -> Result<Type, PtxError> {
        let types = self.types();
        types.last().copied().ok_or_else(|| self.unsupported())
    }
    /// The state space that the opcode names.
    pub fn space(&self) -> Space {
        let space = self.opcode[1..]
            .iter()
            .find_map(|part| match part.as_str() {
                "global" => Some(Space::Global),
                "shared" | "shared::cta" => Some(Space::Shared),
                "local" => Some(Space::Local),
                "const" => Some(Space::Const),
                "param" | "param::entry" | "param::func" => Some(Space::Param),
                "shared::cluster" => Some(Space::Cluster),
                _ => None,
            });
        space.unwrap_or(Space::Generic)
    }
    pub fn error(&self, message: impl Into<String>) -> PtxError {
        PtxError::new(self.line, message)
    }
    /// An error that quotes the instruction and says what is wrong with it.
    pub fn wrong(&self, what: impl fmt::Display) -> PtxError {
        self.error(format!("`{}` {what}", self.text))
    }
    /// The error for an instruction that the emulator cannot execute.
    pub fn unsupported(&self) -> PtxError {
        self.error(format!("the emulator cannot execute `{}`", self.text))
    }
    /// Refuses the instruction unless this holds.
    pub fn require(&self, holds: bool) -> Result<(), PtxError> {
        holds.then_some(()).ok_or_else(|| self.unsupported())
    }
    /// The error for a wrong number of operands.
    pub fn wrong_count(&self) -> PtxError {
        self.wrong("has the wrong number of operands")
    }
}

impl Operand {
    /// The elements of a vector, or a single operand.
    pub fn elements(&self) -> &[Operand] {
        match self {
            Self::Vector(list) => list,
            one => std::slice::from_ref(one),
        }
    }
}

/// `len` bytes that begin with these; zeros beyond them take no memory until they are written.
pub(crate) fn zeroed_after(first: &[u8], len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let first = &first[..first.len().min(len)];
    bytes[..first.len()].copy_from_slice(first);
    bytes
}

impl Variable {
    /// The initial bytes; omitted ones are zero.
    pub fn initial(&self) -> Vec<u8> {
        zeroed_after(&self.init, self.bytes as usize)
    }
}

impl Ptx {
    /// Parses PTX text.
    ///
    /// # Errors
    /// The line and the reason, if the text is not PTX.
    pub fn parse(text: &str) -> Result<Self, PtxError> {
        Ok(Self(Arc::new(parse::module(text)?)))
    }
    pub(crate) fn parsed(&self) -> &Parsed {
        &self.0
    }
    /// Names of the kernels (`.entry`), in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.0.kernels.iter().map(|kernel| kernel.name.as_str())
    }
    /// The parameters of a kernel, in order, whether or not the emulator executes it.
    ///
    /// # Errors
    /// If there is no such kernel, or its parameters are more than a launch can pass.
    pub fn params(&self, kernel: &str) -> Result<Vec<Param>, Error> {
        let found = self.0.kernels.iter().find(|k| k.name == kernel);
        let kernel = found.ok_or_else(|| self.no_kernel(kernel))?;
        let mut params = lower::params(kernel)?;
        let pointers = kernel.pointers();
        for param in &mut params {
            if pointers.contains(param.name.as_str()) {
                param.kind = ParamKind::Pointer;
            }
        }
        Ok(params)
    }
    /// Whether this is the name of a function, with or without a body.
    pub(crate) fn is_function(&self, name: &str) -> bool {
        let Parsed {
            kernels,
            functions,
            externs,
            ..
        } = self.parsed();
        let mut bodies = kernels.iter().chain(functions);
        bodies.any(|function| function.name == name) || externs.iter().any(|one| one == name)
    }
    /// The address of a device function with a body; 0 for any other function, which cannot be called indirectly.
    pub(crate) fn function_address(&self, name: &str) -> Option<u64> {
        let of_body = self.0.function_address(name);
        of_body.or_else(|| self.is_function(name).then_some(0))
    }
    pub(crate) fn undeclared(&self, address: &InitialAddress) -> PtxError {
        let message = format!("`{}` is not declared", address.symbol);
        PtxError::new(address.line, message)
    }
    pub(crate) fn no_kernel(&self, name: &str) -> Error {
        Error::NoKernel {
            name: name.into(),
            kernels: self.kernels().map(str::to_owned).collect(),
        }
    }
    /// The `.target`, such as `sm_80`.
    pub fn target(&self) -> &str {
        &self.0.target
    }
    /// The minimum number of blocks per SM, if the kernel has `.minnctapersm`.
    pub fn min_blocks(&self, kernel: &str) -> Option<u32> {
        let kernel = self.0.kernels.iter().find(|k| k.name == kernel)?;
        kernel.min_blocks
    }
    /// The opcode of each instruction of a kernel, with its suffixes: `ld.shared.v4.f32`.
    pub fn opcodes(&self, kernel: &str) -> impl Iterator<Item = String> {
        let kernel = self.0.kernels.iter().find(|k| k.name == kernel);
        let body = kernel.into_iter().flat_map(|kernel| &kernel.body);
        body.filter_map(|statement| match statement {
            Statement::Instr(instr) => Some(instr.opcode.join(".")),
            Statement::Label(_) => None,
        })
    }
    /// The `.version`, such as `(7, 0)`.
    pub fn version(&self) -> (u32, u32) {
        self.0.version
    }
    /// The initial bytes of a `.const` or `.global` variable; omitted ones are zero.
    pub fn variable(&self, name: &str) -> Option<Vec<u8>> {
        let variable = self.0.variables.iter().find(|v| v.name == name)?;
        Some(variable.initial())
    }
}
