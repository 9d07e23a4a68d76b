//! Calls are inlined recursively, into one body in which arguments and results are local variables. Recursive functions
//! and functions that are called by address are not inlined: their statements follow those of the kernel, once each,
//! and their variables are in a frame.
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::source::line_of_mistake;
use super::{Result, system_call};
use crate::ptx::{
    Instr, Kernel, LabelId, Loc, Operand, ParamDecl, Parsed, PtxError, Statement, Variable,
    VariableSpace,
};

/// Bounds for hostile input: statements and registers after inlining, and the depth of nested calls.
const MAX_STATEMENTS: usize = 1 << 20;
const MAX_REGISTERS: usize = 1 << 22;
const MAX_DEPTH: usize = 64;

/// A kernel, followed by the functions that are not inlined.
pub(super) struct Inlined<'a> {
    pub kernel: Cow<'a, Kernel>,
    pub subroutines: Vec<Subroutine>,
}

/// A function that is not inlined.
pub(super) struct Subroutine {
    pub name: String,
    pub address: u64,
    /// The label before its statements.
    pub entry: LabelId,
    /// The variables of its frame that hold the parameters, and their sizes in bytes.
    pub params: Vec<(String, u32)>,
    pub returns: Vec<(String, u32)>,
}

/// Inlines all calls of the kernel that can be inlined.
pub(super) fn inlined<'a>(module: &Parsed, kernel: &'a Kernel) -> Result<Inlined<'a>> {
    let calls = |statement: &Statement| matches!(statement, Statement::Instr(i) if is_call(i));
    if !kernel.body.iter().any(calls) {
        return Ok(Inlined {
            kernel: Cow::Borrowed(kernel),
            subroutines: Vec::new(),
        });
    }
    let mut flat = Flat {
        module,
        kernel: Kernel {
            body: Vec::new(),
            ..kernel.clone()
        },
        sizes: HashMap::new(),
        stack: Vec::new(),
        calls: 0,
        recursive: recursive(module),
        subroutines: Vec::new(),
        by_address: false,
        frame: None,
    };
    for variable in &kernel.variables {
        flat.sizes.insert(variable.name.clone(), variable.bytes);
    }
    let scope = Scope {
        registers: 0,
        labels: 0,
        names: HashMap::new(),
        called: Called::Kernel,
        called_from: None,
    };
    flat.copy(kernel, &scope)?;
    // Each one may call further functions.
    let mut number = 0;
    while number < flat.subroutines.len() {
        flat.subroutine(number)?;
        number += 1;
    }
    Ok(Inlined {
        kernel: Cow::Owned(flat.kernel),
        subroutines: flat.subroutines,
    })
}

pub(super) fn is_call(instr: &Instr) -> bool {
    instr.opcode[0] == "call"
}

/// Results, target and arguments of a call.
pub(super) fn parts(call: &Instr) -> (&[Operand], Option<&Operand>, &[Operand]) {
    let list = |operand: Option<&'_ Operand>| matches!(operand, Some(Operand::Vector(_)));
    let at = usize::from(list(call.operands.first()));
    fn elements(operand: Option<&Operand>) -> &[Operand] {
        match operand {
            Some(Operand::Vector(list)) => list,
            _ => &[],
        }
    }
    let results = elements(call.operands.first().filter(|_| at == 1));
    (
        results,
        call.operands.get(at),
        elements(call.operands.get(at + 1)),
    )
}

/// The recursive functions and their callers: those that are left after repeatedly removing functions that call none of
/// the remaining ones.
fn recursive(module: &Parsed) -> HashSet<&str> {
    let called = |function: &Kernel| -> Vec<String> {
        let calls = function
            .body
            .iter()
            .filter_map(|statement| match statement {
                Statement::Instr(instr) if is_call(instr) => match parts(instr).1 {
                    Some(Operand::Symbol(name, _)) => Some(name.clone()),
                    _ => None,
                },
                Statement::Instr(_) | Statement::Label(_) => None,
            });
        calls.collect()
    };
    let mut callers: HashMap<String, Vec<usize>> = HashMap::new();
    let mut open: Vec<usize> = Vec::new();
    let bodies: HashSet<&str> = module
        .functions
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    for (index, function) in module.functions.iter().enumerate() {
        let mut names = called(function);
        names.retain(|name| bodies.contains(name.as_str()));
        open.push(names.len());
        for name in names {
            callers.entry(name).or_default().push(index);
        }
    }
    let mut left: HashSet<&str> = bodies;
    let mut done: Vec<usize> = (0..open.len()).filter(|&index| open[index] == 0).collect();
    while let Some(index) = done.pop() {
        let name = module.functions[index].name.as_str();
        left.remove(name);
        for &caller in callers.get(name).into_iter().flatten() {
            open[caller] -= 1;
            if open[caller] == 0 {
                done.push(caller);
            }
        }
    }
    left
}

/// The functions whose address is taken somewhere in the module.
fn address_taken(module: &Parsed) -> Vec<usize> {
    let bodies = module.kernels.iter().chain(&module.functions);
    let statements = bodies.flat_map(|function| &function.body);
    let named = statements.flat_map(|statement| match statement {
        Statement::Instr(instr) if !is_call(instr) => &instr.operands[..],
        Statement::Instr(_) | Statement::Label(_) => &[],
    });
    let named = named.filter_map(|operand| match operand {
        Operand::Symbol(name, _) => Some(name.as_str()),
        _ => None,
    });
    let initial = module
        .variables
        .iter()
        .flat_map(|variable| &variable.addresses);
    let taken: HashSet<&str> = named
        .chain(initial.map(|one| one.symbol.as_str()))
        .collect();
    let functions = module.functions.iter().enumerate();
    let taken = functions.filter(|(_, function)| taken.contains(function.name.as_str()));
    taken.map(|(index, _)| index).collect()
}

struct Flat<'m> {
    module: &'m Parsed,
    kernel: Kernel,
    /// Sizes of the variables so far, by name.
    sizes: HashMap<String, u64>,
    /// The functions that are being copied.
    stack: Vec<&'m str>,
    calls: usize,
    recursive: HashSet<&'m str>,
    subroutines: Vec<Subroutine>,
    /// Whether there is a call by address.
    by_address: bool,
    /// The function whose statements are being copied.
    frame: Option<u32>,
}

/// How the function being copied returns.
enum Called {
    Kernel,
    /// `ret` goes to this label.
    Inlined(LabelId),
    Subroutine,
}

/// The new names and numbers in a copied function.
struct Scope {
    registers: u32,
    labels: LabelId,
    names: HashMap<String, String>,
    called: Called,
    /// File and line of the outermost call.
    called_from: Option<(u32, u32)>,
}

impl<'m> Flat<'m> {
    fn copy(&mut self, function: &Kernel, scope: &Scope) -> Result<()> {
        for statement in &function.body {
            if self.kernel.body.len() >= MAX_STATEMENTS {
                let message = format!("more than {MAX_STATEMENTS} statements after inlining");
                return Err(PtxError::new(function.line, message));
            }
            match statement {
                Statement::Label(label) => {
                    let label = Statement::Label(scope.labels + label);
                    self.kernel.body.push(label);
                }
                Statement::Instr(instr) => self
                    .instr(instr, scope)
                    .map_err(|error| error.at(line_of_mistake(self.module, instr)))?,
            }
        }
        Ok(())
    }

    fn instr(&mut self, instr: &Instr, scope: &Scope) -> Result<()> {
        let mut copy = instr.clone();
        for operand in &mut copy.operands {
            scope.rename(operand);
        }
        if let Some((register, _)) = &mut copy.guard {
            *register += scope.registers;
        }
        if let (Some(loc), Some(at)) = (&mut copy.loc, scope.called_from) {
            (loc.inlined_at, loc.callee) = (Some(at), None);
        }
        if is_call(&copy) {
            return self.call(&copy);
        }
        if let Called::Inlined(end) = scope.called
            && copy.opcode[0] == "ret"
        {
            copy.opcode = vec!["bra".into()];
            copy.operands = vec![Operand::Label(end)];
        }
        if !matches!(scope.called, Called::Kernel) {
            let by_register = |operand: &Operand| matches!(operand, Operand::Address(base, _) if !matches!(**base, Operand::Symbol(..)));
            if copy.has("param") && copy.operands.iter().any(by_register) {
                return Err(instr.unsupported());
            }
        }
        self.kernel.body.push(Statement::Instr(Box::new(copy)));
        Ok(())
    }

    /// `call (results), function, (arguments);`
    fn call(&mut self, call: &Instr) -> Result<()> {
        let (results, target, arguments) = parts(call);
        let name = match target {
            Some(Operand::Symbol(name, _)) => name,
            Some(Operand::Register(_)) => {
                if !std::mem::replace(&mut self.by_address, true) {
                    let taken = address_taken(self.module);
                    taken.into_iter().for_each(|index| self.request(index));
                }
                return self.keep(call);
            }
            _ => return Err(call.unsupported()),
        };
        let mut functions = self.module.functions.iter();
        let Some(index) = functions.position(|function| function.name == *name) else {
            if system_call::is_known(name) {
                return self.keep(call);
            }
            return Err(refuse(call, without_body(name)));
        };
        let function = &self.module.functions[index];
        let registers = self.kernel.registers.len() + function.registers.len();
        if self.stack.len() >= MAX_DEPTH || registers > MAX_REGISTERS {
            return Err(refuse(
                call,
                "the calls are nested too deeply or need too many registers",
            ));
        }
        let expected = (function.params.len(), function.returns.len());
        if (arguments.len(), results.len()) != expected {
            let (takes, gives) = expected;
            let message = format!("`{name}` takes {takes} arguments and returns {gives} values");
            return Err(refuse(call, message));
        }
        let mut names = HashMap::new();
        let declared = function.params.iter().chain(&function.returns);
        for (declared, given) in declared.zip(arguments.iter().chain(results)) {
            let variable = match given {
                Operand::Symbol(name, 0) if self.holds(name, declared.bytes) => name,
                _ => {
                    let message = format!("the argument for `{}` has another size", declared.name);
                    return Err(refuse(call, message));
                }
            };
            names.insert(declared.name.clone(), variable.clone());
        }
        if self.recursive.contains(function.name.as_str()) || call.guard.is_some() {
            self.request(index);
            return self.keep(call);
        }
        self.calls += 1;
        let suffix = format!("call{}", self.calls);
        self.add_variables(function, &suffix, &mut names);
        let called_from = call.loc.map(|loc: Loc| match loc.inlined_at {
            Some(outermost) => outermost,
            None => (loc.file, loc.line),
        });
        let end = self.kernel.labels + function.labels;
        let scope = Scope {
            registers: self.kernel.registers.len() as u32,
            labels: self.kernel.labels,
            names,
            called: Called::Inlined(end),
            called_from,
        };
        self.kernel.labels += function.labels + 1;
        self.kernel.registers.extend(&function.registers);
        self.stack.push(&function.name);
        self.copy(function, &scope)?;
        self.stack.pop();
        self.kernel.body.push(Statement::Label(end));
        Ok(())
    }

    fn keep(&mut self, call: &Instr) -> Result<()> {
        let call = Statement::Instr(Box::new(call.clone()));
        self.kernel.body.push(call);
        Ok(())
    }

    /// Adds the variables of a copied function under new names.
    fn add_variables(
        &mut self,
        function: &Kernel,
        suffix: &str,
        names: &mut HashMap<String, String>,
    ) {
        for variable in &function.variables {
            let name = format!("{}@{suffix}", variable.name);
            names.insert(variable.name.clone(), name.clone());
            self.sizes.insert(name.clone(), variable.bytes);
            let space = match (variable.space, self.frame) {
                (VariableSpace::Local, Some(number)) => VariableSpace::Frame(number),
                (space, _) => space,
            };
            self.kernel.variables.push(Variable {
                name,
                space,
                ..variable.clone()
            });
        }
    }

    /// Requests a copy of a function that is called and not inlined.
    fn request(&mut self, index: usize) {
        let name = &self.module.functions[index].name;
        if self.subroutines.iter().any(|one| one.name == *name) {
            return;
        }
        self.subroutines.push(Subroutine {
            name: name.clone(),
            address: self.module.function_address(name).unwrap_or(0),
            entry: self.kernel.labels,
            params: Vec::new(),
            returns: Vec::new(),
        });
        self.kernel.labels += 1;
    }

    /// Appends one of these functions.
    fn subroutine(&mut self, number: usize) -> Result<()> {
        let module = self.module;
        let name = &self.subroutines[number].name;
        let Some(function) = module.functions.iter().find(|one| one.name == *name) else {
            return Ok(());
        };
        if self.kernel.registers.len() + function.registers.len() > MAX_REGISTERS {
            let message = format!("more than {MAX_REGISTERS} registers after inlining");
            return Err(PtxError::new(function.line, message));
        }
        self.frame = Some(number as u32);
        let mut names = HashMap::new();
        let suffix = format!("function{number}");
        self.add_variables(function, &suffix, &mut names);
        let mut place = |list: &[ParamDecl]| -> Vec<(String, u32)> {
            let placed = list.iter().map(|declared| {
                let name = format!("{}@{suffix}", declared.name);
                names.insert(declared.name.clone(), name.clone());
                self.sizes.insert(name.clone(), declared.bytes.into());
                self.kernel.variables.push(Variable {
                    name: name.clone(),
                    space: VariableSpace::Frame(number as u32),
                    align: declared.align,
                    bytes: declared.bytes.into(),
                    init: Vec::new(),
                    addresses: Vec::new(),
                });
                (name, declared.bytes)
            });
            placed.collect()
        };
        let (params, returns) = (place(&function.params), place(&function.returns));
        let one = &mut self.subroutines[number];
        (one.params, one.returns) = (params, returns);
        self.kernel.body.push(Statement::Label(one.entry));
        let scope = Scope {
            registers: self.kernel.registers.len() as u32,
            labels: self.kernel.labels,
            names,
            called: Called::Subroutine,
            called_from: None,
        };
        self.kernel.labels += function.labels;
        self.kernel.registers.extend(&function.registers);
        self.copy(function, &scope)
    }

    /// Whether there is a variable of this name and size.
    fn holds(&self, name: &str, bytes: u32) -> bool {
        let size = self.sizes.get(name);
        size.is_some_and(|&size| size >= u64::from(bytes))
    }
}

impl Scope {
    fn rename(&self, operand: &mut Operand) {
        match operand {
            Operand::Register(id) | Operand::NotRegister(id) => *id += self.registers,
            Operand::Symbol(name, _) => {
                if let Some(new) = self.names.get(name) {
                    name.clone_from(new);
                }
            }
            Operand::Label(label) => *label += self.labels,
            Operand::Targets(labels) => labels.iter_mut().for_each(|l| *l += self.labels),
            Operand::Address(base, _) => self.rename(base),
            Operand::Pair(a, b) => {
                self.rename(a);
                self.rename(b);
            }
            Operand::Vector(list) => list.iter_mut().for_each(|o| self.rename(o)),
            Operand::Int(_)
            | Operand::F32(_)
            | Operand::F64(_)
            | Operand::Special(_)
            | Operand::Sink => {}
        }
    }
}

fn refuse(call: &Instr, why: impl std::fmt::Display) -> PtxError {
    call.error(format!(
        "the emulator cannot execute `{}`: {why}",
        call.text
    ))
}

/// The message for a function without a body.
fn without_body(name: &str) -> String {
    match name {
        "malloc" => "there is no device-side malloc in the emulator".to_owned(),
        _ => format!("the function `{name}` has no body here"),
    }
}
