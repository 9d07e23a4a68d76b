//! Calls: the called function's statements take the call's place, as deep as calls go. What is left is one
//! body without calls, in which arguments and results are local variables.
use std::borrow::Cow;
use std::collections::HashMap;

use super::{Result, source_lines, system_call};
use crate::ptx::{Instr, Kernel, LabelId, Loc, Operand, Parsed, PtxError, Statement};

/// Bounds for hostile input: statements and registers after inlining, and calls within calls.
const MAX_STATEMENTS: usize = 1 << 20;
const MAX_REGISTERS: usize = 1 << 22;
const MAX_DEPTH: usize = 64;

/// The kernel with all calls inlined.
pub(super) fn inlined<'a>(module: &Parsed, kernel: &'a Kernel) -> Result<Cow<'a, Kernel>> {
    let calls = |statement: &Statement| matches!(statement, Statement::Instr(i) if is_call(i));
    if !kernel.body.iter().any(calls) {
        return Ok(Cow::Borrowed(kernel));
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
    };
    for variable in &kernel.variables {
        flat.sizes.insert(variable.name.clone(), variable.bytes);
    }
    let scope = Scope {
        registers: 0,
        labels: 0,
        names: HashMap::new(),
        end: None,
        called_from: None,
    };
    flat.copy(kernel, &scope)?;
    Ok(Cow::Owned(flat.kernel))
}

fn is_call(instr: &Instr) -> bool {
    instr.opcode[0] == "call"
}

struct Flat<'m> {
    module: &'m Parsed,
    kernel: Kernel,
    /// Bytes of the variables so far, by name: there may be as many as calls.
    sizes: HashMap<String, u64>,
    /// The functions that are being copied.
    stack: Vec<&'m str>,
    calls: usize,
}

/// What the names and numbers of a copied function have become.
struct Scope {
    registers: u32,
    labels: LabelId,
    names: HashMap<String, String>,
    /// Where `ret` goes; a kernel's own `ret` stays one.
    end: Option<LabelId>,
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
                    .map_err(|error| error.at(source_lines(self.module, instr).0))?,
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
            loc.inlined_at = Some(at);
        }
        if is_call(&copy) {
            return self.call(&copy);
        }
        if let Some(end) = scope.end {
            if copy.opcode[0] == "ret" {
                copy.opcode = vec!["bra".into()];
                copy.operands = vec![Operand::Label(end)];
            }
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
        let list = |operand: Option<&Operand>| match operand {
            Some(Operand::Vector(list)) => list.clone(),
            _ => Vec::new(),
        };
        let at = usize::from(matches!(call.operands.first(), Some(Operand::Vector(_))));
        let (results, arguments) = (
            list(call.operands.first().filter(|_| at == 1)),
            list(call.operands.get(at + 1)),
        );
        let Some(Operand::Symbol(name, _)) = call.operands.get(at) else {
            return Err(refuse(call, "calls through pointers are not supported"));
        };
        let Some(function) = self.module.functions.iter().find(|f| f.name == *name) else {
            if system_call::is_known(name) {
                let call = Statement::Instr(Box::new(call.clone()));
                self.kernel.body.push(call);
                return Ok(());
            }
            return Err(refuse(call, without_body(name)));
        };
        if self.stack.contains(&function.name.as_str()) {
            return Err(refuse(call, "recursion is not supported"));
        }
        let registers = self.kernel.registers.len() + function.registers.len();
        if self.stack.len() >= MAX_DEPTH || registers > MAX_REGISTERS {
            return Err(refuse(call, "too much is called from here"));
        }
        if call.guard.is_some() {
            return Err(refuse(call, "calls under a predicate are not supported"));
        }
        let expected = (function.params.len(), function.returns.len());
        if (arguments.len(), results.len()) != expected {
            let (takes, gives) = expected;
            let message = format!("`{name}` takes {takes} arguments and returns {gives} values");
            return Err(refuse(call, message));
        }
        let mut names = HashMap::new();
        let declared = function.params.iter().chain(&function.returns);
        for (declared, given) in declared.zip(arguments.iter().chain(&results)) {
            let variable = match given {
                Operand::Symbol(name, 0) if self.holds(name, declared.bytes) => name,
                _ => {
                    let message = format!("`{}` is given nothing of its size", declared.name);
                    return Err(refuse(call, message));
                }
            };
            names.insert(declared.name.clone(), variable.clone());
        }
        self.calls += 1;
        for variable in &function.variables {
            let name = format!("{}@call{}", variable.name, self.calls);
            names.insert(variable.name.clone(), name.clone());
            self.sizes.insert(name.clone(), variable.bytes);
            self.kernel.variables.push(crate::ptx::Variable {
                name,
                ..variable.clone()
            });
        }
        let called_from = call.loc.map(|loc: Loc| match loc.inlined_at {
            Some(outermost) => outermost,
            None => (loc.file, loc.line),
        });
        let scope = Scope {
            registers: self.kernel.registers.len() as u32,
            labels: self.kernel.labels,
            names,
            end: Some(self.kernel.labels + function.labels),
            called_from,
        };
        self.kernel.labels += function.labels + 1;
        self.kernel.registers.extend(&function.registers);
        self.stack.push(&function.name);
        self.copy(function, &scope)?;
        self.stack.pop();
        self.kernel.body.extend(scope.end.map(Statement::Label));
        Ok(())
    }

    /// Whether there is a variable of this name and of so many bytes.
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

/// What to say of a function that the system brings.
fn without_body(name: &str) -> String {
    match name {
        "malloc" | "free" => format!("there is no device-side {name} in the emulator"),
        _ => format!("the function `{name}` has no body here"),
    }
}
