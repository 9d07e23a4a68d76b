//! Moves and other instructions that only select bits: vectors, selections, address spaces, permutations.
use super::{Lowering, Result, Scalar, bits, class_of, scalar, window};
use crate::Space;
use crate::op::{B64Op, Class, ColdOp, Compare, LaneOp, Logic, Reg};
use crate::ptx::{Instr, Operand, Type};

impl Lowering<'_> {
    pub(super) fn mov(&mut self, instr: &Instr, ty: Type) -> Result<()> {
        let [d, a] = self.operands::<2>(instr)?;
        if ty == Type::PRED {
            let target = self.dest_of(instr, d, Class::Predicate)?;
            let (a, negated) = self.predicate(instr, a)?;
            let op = if negated { Logic::Not } else { Logic::Move };
            self.push(LaneOp::Logic(op, [target.index, a, a], false));
            return Ok(());
        }
        match (d, a) {
            (Operand::Vector(parts), a) => {
                let a = self.source(instr, a, class_of(ty))?;
                let bits = self.part_bits(instr, ty, parts.len())?;
                let parts = parts.iter().map(|part| match part {
                    Operand::Sink => Ok(self.temp(Class::B32)),
                    part => self.dest(instr, part),
                });
                let parts = parts.collect::<Result<_>>()?;
                self.push(ColdOp::Unpack(bits, parts, a));
            }
            (d, Operand::Vector(parts)) => {
                let d = self.dest_of(instr, d, class_of(ty))?;
                let bits = self.part_bits(instr, ty, parts.len())?;
                let parts = parts
                    .iter()
                    .map(|part| self.source(instr, part, Class::B32));
                let parts = parts.collect::<Result<_>>()?;
                self.push(ColdOp::Pack(bits, d, parts));
            }
            (d, a) => {
                let d = self.dest(instr, d)?;
                instr.require(d.class != Class::Predicate)?;
                // The type may be wider than a special register of 32 bits.
                let source = self.source(instr, a, d.class)?;
                let source = self.trim(source, d.class, ty, a);
                self.push(copy(d, source));
            }
        }
        Ok(())
    }

    fn part_bits(&self, instr: &Instr, ty: Type, parts: usize) -> Result<u32> {
        let bits = ty.bits / parts.max(1) as u32;
        instr
            .require(parts > 1 && matches!(bits, 8 | 16 | 32) && bits * parts as u32 == ty.bits)?;
        Ok(bits)
    }

    pub(super) fn selp(&mut self, instr: &Instr, ty: Type) -> Result<()> {
        let [d, a, b, p] = self.operands::<4>(instr)?;
        let d = self.dest_of(instr, d, class_of(ty))?;
        let operands = [a, b];
        let [a, b] = self.sources(instr, operands, d.class)?;
        let a = self.trim(a, d.class, ty, operands[0]);
        let b = self.trim(b, d.class, ty, operands[1]);
        let (p, negated) = self.predicate(instr, p)?;
        let (a, b) = if negated { (b, a) } else { (a, b) };
        if d.class == Class::B32 {
            self.push(LaneOp::Select([d.index, a.index, b.index, p]));
        } else {
            let select: Scalar = |v| if v[2] != 0 { v[0] } else { v[1] };
            self.push(ColdOp::Scalar(select, d, [a, b, Reg::predicate(p)]));
        }
        Ok(())
    }

    /// `slct d, a, b, c`: a where c >= 0.
    pub(super) fn slct(&mut self, instr: &Instr, types: &[Type]) -> Result<()> {
        let [d, a, b, c] = self.operands::<4>(instr)?;
        let &[ty, by] = types else {
            return Err(instr.unsupported());
        };
        let d = self.dest_of(instr, d, class_of(ty))?;
        let [a, b] = self.sources(instr, [a, b], d.class)?;
        let c = self.source(instr, c, Class::B32)?;
        let f: Scalar = match by.is_float() {
            true => |v| if scalar::f(v[2]) >= 0.0 { v[0] } else { v[1] },
            false => |v| if v[2] as u32 as i32 >= 0 { v[0] } else { v[1] },
        };
        self.push(ColdOp::Scalar(f, d, [a, b, c]));
        Ok(())
    }

    pub(super) fn cvta(&mut self, instr: &Instr) -> Result<()> {
        let [d, a] = self.operands::<2>(instr)?;
        let base = match () {
            () if instr.has("global") => 0,
            () if instr.has_any(&["shared", "shared::cta", "shared::cluster"]) => window::SHARED,
            () if instr.has("local") => window::LOCAL,
            () if instr.has("const") => window::CONST,
            () if instr.has("param") => window::PARAM,
            () => return Err(instr.unsupported()),
        };
        let d = self.dest_of(instr, d, Class::B64)?;
        let a = self.source(instr, a, Class::B64)?;
        if base == 0 {
            self.push(copy(d, a));
            return Ok(());
        }
        let base = self.constant(Class::B64, base);
        let op = match instr.has("to") {
            true => B64Op::Sub,
            false => B64Op::Add,
        };
        self.push(LaneOp::B64(op, [d.index, a.index, base.index]));
        Ok(())
    }

    pub(super) fn isspacep(&mut self, instr: &Instr) -> Result<()> {
        let [d, a] = self.operands::<2>(instr)?;
        let space = match instr.opcode.get(1).map(String::as_str) {
            Some("global") => Space::Global,
            Some("shared" | "shared::cta") => Space::Shared,
            Some("shared::cluster") => Space::Cluster,
            Some("local") => Space::Local,
            Some("const") => Space::Const,
            Some("param") => Space::Param,
            _ => return Err(instr.unsupported()),
        };
        let d = self.dest_of(instr, d, Class::Predicate)?;
        let a = self.source(instr, a, Class::B64)?;
        self.push(ColdOp::IsSpace(space, d.index, a));
        Ok(())
    }

    /// `lop3.b32 d, a, b, c, table`, or `lop3.or.b32 d|p, a, b, c, table, q`: p is true if d is not zero, combined with
    /// q (PTX ISA, "lop3").
    pub(super) fn lop3(&mut self, instr: &Instr) -> Result<()> {
        let (d, rest) = instr.result()?;
        let (d, combined, operands) = match (instr.has_any(&["or", "and"]), d, rest) {
            (false, d, operands @ [_, _, _, _]) => (d, None, operands),
            (true, Operand::Pair(d, p), [operands @ .., q]) => (&**d, Some((&**p, q)), operands),
            _ => return Err(instr.wrong_count()),
        };
        let [a, b, c, Operand::Int(table)] = operands else {
            return Err(instr.wrong("takes three registers and a table"));
        };
        let table = *table as u8;
        let [a, b, c] = self.sources(instr, [a, b, c], Class::B32)?;
        let Some((p, q)) = combined else {
            let d = self.dest_of(instr, d, Class::B32)?;
            self.push(ColdOp::Lop3(table, [d, a, b, c].map(|reg| reg.index)));
            return Ok(());
        };
        let p = self.dest_or_sink(instr, p)?;
        self.check_class(instr, p, Class::Predicate)?;
        let (q, negated) = self.predicate(instr, q)?;
        let op = self.boolean(instr)?;
        let [result, zero] = [self.temp(Class::B32), self.constant(Class::B32, 0)];
        self.push_always(ColdOp::Lop3(table, [result, a, b, c].map(|reg| reg.index)));
        let found = self.temp(Class::Predicate).index;
        self.push_always(LaneOp::Compare(
            Compare::Ne,
            [found, result.index, zero.index],
        ));
        self.push_always(LaneOp::Logic(op, [found, found, q], negated));
        if *d != Operand::Sink {
            let d = self.dest_of(instr, d, Class::B32)?;
            self.push(LaneOp::MoveB32([d.index, result.index]));
        }
        self.push(LaneOp::Logic(Logic::Move, [p.index, found, found], false));
        Ok(())
    }

    pub(super) fn prmt(&mut self, instr: &Instr) -> Result<()> {
        let [d, a, b, c] = self.operands::<4>(instr)?;
        let f = match &instr.opcode[..] {
            [_, ty] if ty == "b32" => Some(bits::prmt as Scalar),
            [_, ty, mode] if ty == "b32" => bits::prmt_mode(mode),
            _ => None,
        };
        let f = f.ok_or_else(|| instr.unsupported())?;
        let d = self.dest_of(instr, d, Class::B32)?;
        let [a, b, c] = self.sources(instr, [a, b, c], Class::B32)?;
        self.push(ColdOp::Scalar(f, d, [a, b, c]));
        Ok(())
    }

    /// `bfi d, a, b, position, length`: the last two are packed into one register.
    pub(super) fn bfi(&mut self, instr: &Instr, ty: Type) -> Result<()> {
        let [d, a, b, position, length] = self.operands::<5>(instr)?;
        let f: Scalar = match ty.bits {
            64 => scalar::bfi::<64>,
            _ => scalar::bfi::<32>,
        };
        let d = self.dest_of(instr, d, class_of(ty))?;
        let [a, b] = self.sources(instr, [a, b], d.class)?;
        let [position, length] = self.sources(instr, [position, length], Class::B32)?;
        let packed = self.temp(Class::B64);
        let both = [position, length];
        self.push_always(ColdOp::Pack(32, packed, both.into()));
        self.push(ColdOp::Scalar(f, d, [a, b, packed]));
        Ok(())
    }

    pub(super) fn logic(&mut self, instr: &Instr) -> Result<()> {
        let op = match instr.opcode[0].as_str() {
            "and" => Logic::And,
            "or" => Logic::Or,
            "xor" => Logic::Xor,
            _ => Logic::Not,
        };
        let (d, rest) = instr.result()?;
        let d = self.dest_of(instr, d, Class::Predicate)?;
        let mut inputs = Vec::new();
        for operand in rest {
            let (p, negated) = self.predicate(instr, operand)?;
            instr.require(!negated)?;
            inputs.push(p);
        }
        let (a, b) = match (&inputs[..], op) {
            (&[a], Logic::Not) => (a, a),
            (&[a, b], _) => (a, b),
            _ => return Err(instr.wrong_count()),
        };
        self.push(LaneOp::Logic(op, [d.index, a, b], false));
        Ok(())
    }
}

pub(super) fn copy(d: Reg, a: Reg) -> LaneOp {
    let regs = [d.index, a.index];
    match d.class {
        Class::B64 => LaneOp::MoveB64(regs),
        Class::B32 | Class::Predicate => LaneOp::MoveB32(regs),
    }
}
