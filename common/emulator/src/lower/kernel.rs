//! Lowers a kernel as a whole: its statements, then its branches and registers.
use std::collections::HashMap;

use super::layout::Layout;
use super::source::{callee, in_cub, in_library, line_of_mistake, source_lines};
use super::{
    Lowering, Result, call, control, graph, inline, instruction_kind, registers, undefined, wgmma,
};
use crate::Error;
use crate::program::{Instruction, Program};
use crate::ptx::{Kernel, Parsed, Ptx, PtxError, Statement, check_availability};

/// The most operations of a kernel, against hostile input. The sanitizer numbers them with 22 bits.
const MAX_OPERATIONS: usize = 1 << 21;

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
                let callee = callee(module, instr);
                let first = lowering.program.ops.len();
                lowering.communicates = false;
                check_availability(instr, module.version, &module.target)
                    .and_then(|()| lowering.instr(instr))
                    .map_err(|error| error.at(line_of_mistake(module, instr)))?;
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
                    callee,
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
