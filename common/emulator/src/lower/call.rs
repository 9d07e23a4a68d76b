//! Calls that are not inlined: of recursive functions, and indirect calls. Each thread has a call stack in its local
//! memory; arguments and results are copied from frame to frame.
use std::collections::HashMap;

use super::inline;
use super::layout::{Layout, VariableAddress};
use super::{Lowering, Result, system_call};
use crate::op::{Call, CallTarget, Class, Code, ColdOp, LaneOp, Reg};
use crate::program::Subroutine;
use crate::ptx::{Instr, LabelId, Operand};

/// The alignment and minimum size of a frame.
pub(super) const FRAME: u32 = 16;

impl Lowering<'_> {
    /// Declares the functions that are not inlined.
    pub(super) fn declare(&mut self, subroutines: &[inline::Subroutine], layout: &Layout<'_>) {
        for (number, one) in subroutines.iter().enumerate() {
            let places = |names: &[(String, u32)]| {
                let place = |(name, bytes): &(String, u32)| match layout.places.get(name.as_str()) {
                    Some(VariableAddress::Frame(at)) => (*at, *bytes),
                    _ => (0, 0),
                };
                names.iter().map(place).collect()
            };
            let frame = layout.frames.get(number).copied().unwrap_or(0);
            self.program.functions.push(Subroutine {
                name: one.name.clone(),
                address: one.address,
                entry: 0,
                frame: frame.next_multiple_of(FRAME).max(FRAME),
                params: places(&one.params),
                returns: places(&one.returns),
                unwritten: Vec::new(),
            });
        }
        if !subroutines.is_empty() {
            let local = &mut self.program.local_bytes;
            *local = local.next_multiple_of(FRAME);
        }
    }

    /// Ends the kernel or a function: falling off the end is an exit or a return.
    pub(super) fn close(&mut self) {
        self.push_always(match self.function {
            None => Code::Exit,
            Some(_) => Code::Return,
        });
        if let Some(op) = self.program.ops.last_mut() {
            op.first = false;
        }
    }

    /// The start of the running function's frame.
    pub(super) fn frame_base(&mut self) -> Reg {
        let base = self.temp(Class::B32);
        self.push_always(ColdOp::FrameBase { d: base.index });
        base
    }

    /// Computes the address of a variable in the frame, in a register of this class.
    pub(super) fn frame_address(&mut self, at: u32, offset: i64, class: Class) -> Result<Reg> {
        let base = self.frame_base();
        let offset = i64::from(at).wrapping_add(offset) as u64;
        let b = self.constant(Class::B32, offset).index;
        let sum = self.temp(Class::B32);
        self.push_always(LaneOp::B32(
            crate::op::B32Op::Add,
            [sum.index, base.index, b],
        ));
        if class == Class::B32 {
            return Ok(sum);
        }
        let wide = self.temp(Class::B64);
        self.push_always(LaneOp::Extend(false, [wide.index, sum.index]));
        Ok(wide)
    }

    /// `call (results), target, (arguments), prototype;`
    pub(super) fn call(&mut self, instr: &Instr) -> Result<()> {
        let (results, target, arguments) = inline::parts(instr);
        let target = match target {
            Some(Operand::Symbol(name, 0)) if system_call::is_known(name) => {
                return self.system_call(instr);
            }
            Some(Operand::Symbol(name, 0)) => {
                let number = self
                    .program
                    .functions
                    .iter()
                    .position(|one| one.name == *name);
                CallTarget::Function(number.ok_or_else(|| instr.unsupported())? as u32)
            }
            Some(Operand::Register(id)) => {
                let pointer = self.reg(*id);
                self.check_class(instr, pointer, Class::B64)?;
                CallTarget::Pointer(pointer)
            }
            _ => return Err(instr.unsupported()),
        };
        let place = |list: &[Operand]| -> Result<Box<[(u32, u32)]>> {
            let places = list.iter().map(|operand| {
                let bytes = self.bytes_of(operand);
                Ok((self.call_place(instr, operand, bytes)?, bytes as u32))
            });
            places.collect()
        };
        let (arguments, results) = (place(arguments)?, place(results)?);
        self.push(Code::Call(Box::new(Call {
            target,
            arguments,
            results,
        })));
        Ok(())
    }

    /// The size of a variable.
    fn bytes_of(&self, operand: &Operand) -> u64 {
        let Operand::Symbol(name, 0) = operand else {
            return 0;
        };
        let mut variables = self.kernel.variables.iter();
        let found = variables.find(|variable| variable.name == *name);
        found.map_or(0, |variable| variable.bytes)
    }
}

/// Replaces labels of functions by the operations at which they begin.
pub(super) fn resolve(
    functions: &mut [Subroutine],
    subroutines: &[inline::Subroutine],
    labels: &HashMap<LabelId, u32>,
) {
    for (function, one) in functions.iter_mut().zip(subroutines) {
        function.entry = labels.get(&one.entry).copied().unwrap_or(0);
    }
}
