//! Extended precision: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc` (PTX ISA, "Extended-Precision Integer Arithmetic
//! Instructions").
//!
//! CC.CF is the carry of the adder, a predicate in machine code. A subtraction adds the inverted operand and 1, or the
//! carry, so after `sub.cc` the carry is set if there was no borrow. The difference from a borrow flag is visible only
//! if additions and subtractions are mixed.
use super::{Lowering, Result, Scalar, class_of, moves, scalar};
use crate::op::{Class, ColdOp, Reg};
use crate::ptx::Instr;

/// An adder of `BITS` bits for (a, b, carry in): the sum, with the carry out above it.
fn add<const BITS: u32, const SUBTRACT: bool>([a, b, carry]: [u64; 3]) -> u128 {
    let cut = |x: u64| u128::from(x << (64 - BITS) >> (64 - BITS));
    let b = if SUBTRACT { !b } else { b };
    cut(a) + cut(b) + u128::from(carry & 1)
}

fn sum<const BITS: u32, const SUBTRACT: bool>(v: [u64; 3]) -> u64 {
    add::<BITS, SUBTRACT>(v) as u64
}

fn carry<const BITS: u32, const SUBTRACT: bool>(v: [u64; 3]) -> u64 {
    (add::<BITS, SUBTRACT>(v) >> BITS) as u64
}

/// Its sum and its carry.
fn adder(bits: u32, subtract: bool) -> Option<[Scalar; 2]> {
    match (bits, subtract) {
        (32, false) => Some([sum::<32, false>, carry::<32, false>]),
        (32, true) => Some([sum::<32, true>, carry::<32, true>]),
        (64, false) => Some([sum::<64, false>, carry::<64, false>]),
        (64, true) => Some([sum::<64, true>, carry::<64, true>]),
        _ => None,
    }
}

impl Lowering<'_> {
    /// Whether it reads or writes CC.CF.
    pub(super) fn is_extended(instr: &Instr) -> bool {
        matches!(instr.opcode[0].as_str(), "addc" | "subc" | "madc") || instr.has("cc")
    }

    pub(super) fn extended(&mut self, instr: &Instr) -> Result<()> {
        let name = instr.opcode[0].as_str();
        let is_mad = matches!(name, "mad" | "madc");
        let known = match is_mad {
            true => &["cc", "lo", "hi", "u32", "s32", "u64", "s64"][..],
            false => &["cc", "u32", "s32", "u64", "s64"],
        };
        let ty = instr.last_type()?;
        instr.require(matches!(
            name,
            "add" | "addc" | "sub" | "subc" | "mad" | "madc"
        ))?;
        instr
            .require(instr.has_only(1, known) && (!is_mad || instr.has("lo") != instr.has("hi")))?;
        let subtract = matches!(name, "sub" | "subc");
        let [sum, carry] = adder(ty.bits, subtract).ok_or_else(|| instr.unsupported())?;
        let class = class_of(ty);
        let (d, a, b) = if is_mad {
            let [d, a, b, c] = self.operands::<4>(instr)?;
            let [a, b, c] = self.sources(instr, [a, b, c], class)?;
            let product = self.temp(class);
            let f = scalar::product(ty, instr.has("hi")).ok_or_else(|| instr.unsupported())?;
            let zero = self.constant(class, 0);
            self.push_always(ColdOp::Scalar(f, product, [a, b, zero]));
            (d, product, c)
        } else {
            let [d, a, b] = self.operands::<3>(instr)?;
            let [a, b] = self.sources(instr, [a, b], class)?;
            (d, a, b)
        };
        let d = self.dest_of(instr, d, class)?;
        let flag = self.carry();
        let carried_in = match name {
            "addc" | "subc" | "madc" => flag,
            _ => self.constant(Class::B32, u64::from(subtract)),
        };
        let inputs = [a, b, carried_in];
        // Both results are computed before either is written: d may be a source, and the carry is one.
        let (result, carried) = (self.temp(class), self.temp(Class::B32));
        self.push_always(ColdOp::Scalar(sum, result, inputs));
        if instr.has("cc") {
            self.push_always(ColdOp::Scalar(carry, carried, inputs));
            self.push(moves::copy(flag, carried));
        }
        self.push(moves::copy(d, result));
        Ok(())
    }

    /// CC.CF, one for the whole kernel.
    fn carry(&mut self) -> Reg {
        if let Some(flag) = self.carry {
            return flag;
        }
        let flag = self.temp(Class::B32);
        self.carry = Some(flag);
        flag
    }
}
