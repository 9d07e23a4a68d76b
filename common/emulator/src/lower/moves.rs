//! Moves and everything that only picks bits: vectors, selections, address spaces, permutations.
use super::{Lowering, Result, class_of, scalar, window};
use crate::op::{Class, Code, Double, Logic, Reg, Space};
use crate::ptx::{Instr, Operand, Type};

type Guard = Option<(u32, bool)>;

impl Lowering<'_> {
    pub(super) fn mov(&mut self, instr: &Instr, guard: Guard, ty: Type) -> Result<()> {
        let [d, a] = self.operands::<2>(instr)?;
        if ty == Type::PRED {
            let target = self.dest(instr, d)?;
            self.check_class(instr, target, Class::Predicate)?;
            let (a, negated) = self.predicate(instr, a)?;
            let op = if negated { Logic::Not } else { Logic::Move };
            self.push(
                guard,
                Code::Logic {
                    op,
                    d: target.index,
                    a,
                    b: a,
                    negate_b: false,
                },
            );
            return Ok(());
        }
        match (d, a) {
            (Operand::Vector(parts), a) => {
                let a = self.source(instr, a, class_of(ty))?;
                let bits = self.part_bits(instr, ty, parts.len())?;
                let mut registers = Vec::new();
                for part in parts {
                    registers.push(match part {
                        Operand::Sink => self.temp(part_class(bits)),
                        part => self.dest(instr, part)?,
                    });
                }
                self.push(
                    guard,
                    Code::Unpack {
                        parts: registers.into(),
                        a,
                        bits,
                    },
                );
            }
            (d, Operand::Vector(parts)) => {
                let d = self.dest(instr, d)?;
                self.check_class(instr, d, class_of(ty))?;
                let bits = self.part_bits(instr, ty, parts.len())?;
                let mut registers = Vec::new();
                for part in parts {
                    registers.push(self.source(instr, part, part_class(bits))?);
                }
                self.push(
                    guard,
                    Code::Pack {
                        d,
                        parts: registers.into(),
                        bits,
                    },
                );
            }
            (d, a) => {
                let d = self.dest(instr, d)?;
                if d.class == Class::Predicate {
                    return Err(instr.unsupported());
                }
                // The type may be wider than what is moved into a special register's 32 bits.
                let source = self.source(instr, a, d.class)?;
                let source = self.trim(source, d.class, ty, a);
                self.push(guard, copy(d, source));
            }
        }
        Ok(())
    }

    fn part_bits(&self, instr: &Instr, ty: Type, parts: usize) -> Result<u32> {
        let bits = ty.bits / parts.max(1) as u32;
        if parts < 2 || !matches!(bits, 8 | 16 | 32) || bits * parts as u32 != ty.bits {
            return Err(instr.unsupported());
        }
        Ok(bits)
    }

    pub(super) fn selp(&mut self, instr: &Instr, guard: Guard, ty: Type) -> Result<()> {
        let [d, a, b, p] = self.operands::<4>(instr)?;
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, class_of(ty))?;
        let sources = [a, b].map(|operand| {
            let source = self.source(instr, operand, d.class)?;
            Ok(self.trim(source, d.class, ty, operand))
        });
        let [a, b] = sources;
        let (a, b) = (a?, b?);
        let (p, negated) = self.predicate(instr, p)?;
        let (a, b) = if negated { (b, a) } else { (a, b) };
        if d.class == Class::Word {
            self.push(
                guard,
                Code::Select {
                    d: d.index,
                    a: a.index,
                    b: b.index,
                    p,
                },
            );
        } else {
            let p = Reg {
                class: Class::Predicate,
                index: p,
            };
            self.push(
                guard,
                Code::Scalar {
                    f: |v| if v[2] != 0 { v[0] } else { v[1] },
                    d,
                    a,
                    b,
                    c: p,
                },
            );
        }
        Ok(())
    }

    /// `slct d, a, b, c`: a where c >= 0.
    pub(super) fn slct(&mut self, instr: &Instr, guard: Guard, types: &[Type]) -> Result<()> {
        let [d, a, b, c] = self.operands::<4>(instr)?;
        let &[ty, by] = types else {
            return Err(instr.unsupported());
        };
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, class_of(ty))?;
        let (a, b, c) = (
            self.source(instr, a, d.class)?,
            self.source(instr, b, d.class)?,
            self.source(instr, c, Class::Word)?,
        );
        let f: scalar::Scalar = if by.is_float() {
            |v| {
                if f32::from_bits(v[2] as u32) >= 0.0 {
                    v[0]
                } else {
                    v[1]
                }
            }
        } else {
            |v| if v[2] as u32 as i32 >= 0 { v[0] } else { v[1] }
        };
        self.push(guard, Code::Scalar { f, d, a, b, c });
        Ok(())
    }

    pub(super) fn cvta(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let [d, a] = self.operands::<2>(instr)?;
        let base = match () {
            () if instr.has("global") => 0,
            () if ["shared", "shared::cta", "shared::cluster"]
                .iter()
                .any(|space| instr.has(space)) =>
            {
                window::SHARED
            }
            () if instr.has("local") => window::LOCAL,
            () if instr.has("const") => window::CONST,
            () if instr.has("param") => window::PARAM,
            () => return Err(instr.unsupported()),
        };
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Double)?;
        let a = self.source(instr, a, Class::Double)?;
        if base == 0 {
            self.push(guard, copy(d, a));
            return Ok(());
        }
        let base = self.constant(Class::Double, base);
        let op = if instr.has("to") {
            Double::Sub
        } else {
            Double::Add
        };
        self.push(
            guard,
            Code::Double {
                op,
                d: d.index,
                a: a.index,
                b: base.index,
            },
        );
        Ok(())
    }

    pub(super) fn isspacep(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
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
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Predicate)?;
        let a = self.source(instr, a, Class::Double)?;
        self.push(
            guard,
            Code::IsSpace {
                d: d.index,
                a,
                space,
            },
        );
        Ok(())
    }

    pub(super) fn lop3(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let [d, a, b, c, table] = self.operands::<5>(instr)?;
        let (Operand::Int(table), false) = (table, instr.has("or") || instr.has("and")) else {
            return Err(instr.unsupported());
        };
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Word)?;
        let (a, b, c) = (
            self.source(instr, a, Class::Word)?,
            self.source(instr, b, Class::Word)?,
            self.source(instr, c, Class::Word)?,
        );
        self.push(
            guard,
            Code::Lop3 {
                d: d.index,
                a: a.index,
                b: b.index,
                c: c.index,
                table: *table as u8,
            },
        );
        Ok(())
    }

    pub(super) fn prmt(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let [d, a, b, c] = self.operands::<4>(instr)?;
        if instr.opcode.len() != 2 {
            return Err(instr.unsupported());
        }
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Word)?;
        let (a, b, c) = (
            self.source(instr, a, Class::Word)?,
            self.source(instr, b, Class::Word)?,
            self.source(instr, c, Class::Word)?,
        );
        self.push(
            guard,
            Code::Scalar {
                f: scalar::prmt,
                d,
                a,
                b,
                c,
            },
        );
        Ok(())
    }

    /// `bfi d, a, b, position, length`: the last two are packed into one register.
    pub(super) fn bfi(&mut self, instr: &Instr, guard: Guard, ty: Type) -> Result<()> {
        let [d, a, b, position, length] = self.operands::<5>(instr)?;
        let f: scalar::Scalar = if ty.bits == 64 {
            scalar::bfi::<64>
        } else {
            scalar::bfi::<32>
        };
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, class_of(ty))?;
        let (a, b) = (
            self.source(instr, a, d.class)?,
            self.source(instr, b, d.class)?,
        );
        let (position, length) = (
            self.source(instr, position, Class::Word)?,
            self.source(instr, length, Class::Word)?,
        );
        let packed = self.temp(Class::Double);
        self.push(
            None,
            Code::Scalar {
                f: |v| v[0] & 0xffff_ffff | v[1] << 32,
                d: packed,
                a: position,
                b: length,
                c: position,
            },
        );
        self.push(
            guard,
            Code::Scalar {
                f,
                d,
                a,
                b,
                c: packed,
            },
        );
        Ok(())
    }

    pub(super) fn logic(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let op = match instr.opcode[0].as_str() {
            "and" => Logic::And,
            "or" => Logic::Or,
            "xor" => Logic::Xor,
            _ => Logic::Not,
        };
        let Some((d, rest)) = instr.operands.split_first() else {
            return Err(instr.unsupported());
        };
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Predicate)?;
        let mut inputs = Vec::new();
        for operand in rest {
            let (p, negated) = self.predicate(instr, operand)?;
            if negated {
                return Err(instr.unsupported());
            }
            inputs.push(p);
        }
        let (a, b) = match (&inputs[..], op) {
            (&[a], Logic::Not) => (a, a),
            (&[a, b], _) => (a, b),
            _ => {
                return Err(
                    instr.error(format!("`{}` has the wrong number of operands", instr.text))
                );
            }
        };
        self.push(
            guard,
            Code::Logic {
                op,
                d: d.index,
                a,
                b,
                negate_b: false,
            },
        );
        Ok(())
    }
}

pub(super) fn copy(d: Reg, a: Reg) -> Code {
    if d.class == Class::Double {
        Code::MoveDouble {
            d: d.index,
            a: a.index,
        }
    } else {
        Code::MoveWord {
            d: d.index,
            a: a.index,
        }
    }
}

fn part_class(bits: u32) -> Class {
    if bits == 64 {
        Class::Double
    } else {
        Class::Word
    }
}
