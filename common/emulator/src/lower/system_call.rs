//! Calls of functions that the driver provides, without a body in the PTX.
use super::layout::VariableAddress;
use super::{Lowering, Result};
use crate::op::{ColdOp, SystemCall};
use crate::ptx::{Instr, Operand};

/// Whether the emulator has the function of this name.
pub(super) fn is_known(name: &str) -> bool {
    matches!(name, "vprintf" | "__assertfail" | "free")
}

impl Lowering<'_> {
    /// `call (results), function, (arguments);`, all of them `.param` variables.
    pub(super) fn system_call(&mut self, instr: &Instr) -> Result<()> {
        let (results, name, arguments) = match &instr.operands[..] {
            [
                Operand::Vector(results),
                Operand::Symbol(name, 0),
                rest @ ..,
            ] => (&results[..], name, rest),
            [Operand::Symbol(name, 0), rest @ ..] => (&[][..], name, rest),
            _ => return Err(instr.unsupported()),
        };
        let [Operand::Vector(arguments)] = arguments else {
            return Err(instr.wrong_count());
        };
        let place = |operand: &Operand, bytes| self.call_place(instr, operand, bytes);
        let call = match (name.as_str(), results, &arguments[..]) {
            // There is no heap, so the argument can only be a null pointer, as in a destructor that is never called.
            ("free", [], [_]) => return Ok(()),
            ("vprintf", [] | [_], [format, arguments]) => SystemCall::Print {
                format: place(format, 8)?,
                arguments: place(arguments, 8)?,
                result: results.first().map(|one| place(one, 4)).transpose()?,
            },
            // The last argument is the size of a character.
            ("__assertfail", [], [message, file, line, function, _]) => SystemCall::AssertFail {
                message: place(message, 8)?,
                file: place(file, 8)?,
                line: place(line, 4)?,
                function: place(function, 8)?,
            },
            _ => return Err(instr.wrong_count()),
        };
        self.push(ColdOp::System(call));
        Ok(())
    }

    /// The offset in local memory of a `.param` variable with at least `bytes` bytes.
    pub(super) fn call_place(&self, instr: &Instr, operand: &Operand, bytes: u64) -> Result<u32> {
        let Operand::Symbol(name, 0) = operand else {
            return Err(instr.unsupported());
        };
        let variables = &self.kernel.variables;
        let holds = variables
            .iter()
            .any(|variable| variable.name == *name && variable.bytes >= bytes);
        match self.places.get(name.as_str()) {
            Some(VariableAddress::Local(at) | VariableAddress::Frame(at)) if holds => Ok(*at),
            _ => Err(instr.error(format!("`{name}` holds no argument of {bytes} bytes"))),
        }
    }
}
