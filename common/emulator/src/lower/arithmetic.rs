//! Arithmetic, comparison, conversion and moves.
use super::float::{BF16, F16, Rounding, narrow};
use super::{Lowering, Result, class_of, scalar, window};
use crate::program::{Class, Code, Compare, Double, Logic, Reg, Space, Word};
use crate::ptx::{Instr, Kind, Operand, Type};

type Guard = Option<(u32, bool)>;

impl Lowering<'_> {
    pub(super) fn arithmetic(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let types = instr.types();
        let Some(&ty) = types.last() else {
            return Err(instr.unsupported());
        };
        match instr.opcode[0].as_str() {
            "mov" => self.mov(instr, guard, ty),
            "setp" => self.setp(instr, guard),
            "set" => self.set(instr, guard, &types),
            "selp" => self.selp(instr, guard, ty),
            "slct" => self.slct(instr, guard, &types),
            "cvt" => self.cvt(instr, guard, &types),
            "cvta" => self.cvta(instr, guard),
            "isspacep" => self.isspacep(instr, guard),
            "lop3" => self.lop3(instr, guard),
            "prmt" => self.prmt(instr, guard),
            "bfi" => self.bfi(instr, guard, ty),
            "and" | "or" | "xor" | "not" if ty == Type::PRED => self.logic(instr, guard),
            _ => self.compute(instr, guard, ty),
        }
    }

    /// Everything that takes one to three registers of one type and gives one.
    fn compute(&mut self, instr: &Instr, guard: Guard, ty: Type) -> Result<()> {
        let Some(f) = scalar::find(instr) else {
            return Err(self.refuse(instr));
        };
        let name = instr.opcode[0].as_str();
        let Some((first, rest)) = instr.operands.split_first() else {
            return Err(instr.unsupported());
        };
        let wanted = match name {
            "not" | "neg" | "abs" | "popc" | "clz" | "brev" | "bfind" | "cnot" | "rcp" | "sqrt" => {
                1
            }
            "mad" | "mad24" | "fma" | "bfe" | "sad" | "shf" => 3,
            _ => 2,
        };
        if rest.len() != wanted {
            return Err(instr.error(format!(
                "`{}` takes {} operands, not {}",
                instr.text,
                wanted + 1,
                rest.len() + 1
            )));
        }
        if ty.kind == Kind::Float
            && ty.bits == 32
            && !ty.pair
            && matches!(name, "add" | "sub" | "mul")
        {
            self.warn_unrounded(instr);
        }
        let class = class_of(ty);
        let d = self.dest(instr, first)?;
        let mut sources = [self.constant(class, 0); 3];
        for (i, operand) in rest.iter().enumerate() {
            // Shift amounts, bit positions and lengths are 32 bits wide whatever the type; `mad.wide`
            // adds a register twice as wide.
            let class = match (name, i) {
                ("shl" | "shr", 1) | ("bfe", 1 | 2) => Class::Word,
                ("mad", 2) if instr.has("wide") && ty.bits == 32 => Class::Double,
                _ => class,
            };
            sources[i] = self.source(instr, operand, class)?;
            sources[i] = self.trim(sources[i], class, ty, operand);
        }
        let result = match (name, instr.has("wide")) {
            (_, true) if ty.bits == 32 => Class::Double,
            ("popc" | "clz" | "bfind", _) => Class::Word,
            _ => class,
        };
        self.check_class(instr, d, result)?;
        let [a, b, c] = sources;
        if name == "mul" && instr.has("wide") && ty.bits == 32 {
            let c = self.constant(Class::Double, 0);
            self.push(
                guard,
                Code::MadWide {
                    signed: ty.is_signed(),
                    d: d.index,
                    a: a.index,
                    b: b.index,
                    c: c.index,
                },
            );
            return Ok(());
        }
        if name == "mad" && instr.has("wide") && ty.bits == 32 {
            self.push(
                guard,
                Code::MadWide {
                    signed: ty.is_signed(),
                    d: d.index,
                    a: a.index,
                    b: b.index,
                    c: c.index,
                },
            );
            return Ok(());
        }
        if let Some(code) = fast(instr, ty, d, a, b, c) {
            self.push(guard, code);
            return Ok(());
        }
        // A result narrower than its register: only the low bits are defined, and they are kept clean.
        let narrow = matches!(class, Class::Word)
            && ty.bits < 32
            && !instr.has("wide")
            && result == Class::Word;
        if narrow {
            let t = self.temp(Class::Word);
            self.push(None, Code::Scalar { f, d: t, a, b, c });
            let mask = self.constant(Class::Word, (1 << ty.bits) - 1);
            self.push(
                guard,
                Code::Word {
                    op: Word::And,
                    d: d.index,
                    a: t.index,
                    b: mask.index,
                },
            );
            return Ok(());
        }
        self.push(guard, Code::Scalar { f, d, a, b, c });
        Ok(())
    }

    /// An immediate of a narrow type arrives with clean upper bits.
    fn trim(&mut self, reg: Reg, class: Class, ty: Type, operand: &Operand) -> Reg {
        match operand {
            Operand::Int(value) if class == Class::Word && ty.bits < 32 => {
                self.constant(class, value & ((1 << ty.bits) - 1))
            }
            _ => reg,
        }
    }

    fn check_class(&self, instr: &Instr, d: Reg, class: Class) -> Result<()> {
        if d.class == class {
            Ok(())
        } else {
            Err(instr.error(format!(
                "the result register of `{}` has the wrong width",
                instr.text
            )))
        }
    }

    /// ptxas may contract an f32 `mul` and `add` without `.rn` into one `fma`.
    fn warn_unrounded(&mut self, instr: &Instr) {
        if ["rn", "rz", "rm", "rp"].iter().any(|r| instr.has(r)) {
            return;
        }
        self.warnings.push(format!(
            "PTX line {}: `{}` leaves its rounding to ptxas, so the GPU's bits may differ; compile with --fmad=false",
            instr.line, instr.text
        ));
    }

    fn refuse(&self, instr: &Instr) -> crate::PtxError {
        if instr.has("approx") || instr.has("full") {
            return instr.error(format!(
                "the emulator cannot execute `{}`: the bits of approximate instructions are not documented; use the .rn form (without --use_fast_math)",
                instr.text
            ));
        }
        instr.unsupported()
    }

    fn mov(&mut self, instr: &Instr, guard: Guard, ty: Type) -> Result<()> {
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
                let a = self.source(instr, a, d.class)?;
                self.push(guard, copy(d, a));
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

    fn setp(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let Some(f) = scalar::compare(instr) else {
            return Err(instr.unsupported());
        };
        let Some(&ty) = instr.types().last() else {
            return Err(instr.unsupported());
        };
        let (d, rest) = instr
            .operands
            .split_first()
            .ok_or_else(|| instr.unsupported())?;
        let (d, other) = match d {
            Operand::Pair(d, other) => (
                self.dest_or_sink(instr, d)?,
                Some(self.dest_or_sink(instr, other)?),
            ),
            d => (self.dest_or_sink(instr, d)?, None),
        };
        let (combine, operands) = match rest {
            [a, b] => (None, [a, b]),
            [a, b, p] => (Some(self.predicate(instr, p)?), [a, b]),
            _ => return Err(instr.error(format!("`{}` takes two values to compare", instr.text))),
        };
        self.check_class(instr, d, Class::Predicate)?;
        let class = class_of(ty);
        let mut sources = [d; 2];
        for (source, operand) in sources.iter_mut().zip(operands) {
            *source = self.source(instr, operand, class)?;
            *source = self.trim(*source, class, ty, operand);
        }
        let [a, b] = sources;
        let compare = |d: Reg| match fast_compare(instr, ty) {
            Some(op) => Code::Compare {
                op,
                d: d.index,
                a: a.index,
                b: b.index,
            },
            None => Code::Scalar { f, d, a, b, c: a },
        };
        if combine.is_none() && other.is_none() {
            self.push(guard, compare(d));
            return Ok(());
        }
        // d = (a op b) bool p; the second result takes the inverted comparison.
        let direct = self.temp(Class::Predicate);
        self.push(None, compare(direct));
        let inverse = self.temp(Class::Predicate);
        self.push(
            None,
            Code::Logic {
                op: Logic::Not,
                d: inverse.index,
                a: direct.index,
                b: direct.index,
                negate_b: false,
            },
        );
        // Combined before anything is written, since a result may be an input of the other.
        if let Some((p, negate_b)) = combine {
            let op = self.boolean(instr)?;
            for value in [direct.index, inverse.index] {
                self.push(
                    None,
                    Code::Logic {
                        op,
                        d: value,
                        a: value,
                        b: p,
                        negate_b,
                    },
                );
            }
        }
        for (target, value) in [(Some(d), direct), (other, inverse)] {
            if let Some(target) = target {
                self.push(
                    guard,
                    Code::Logic {
                        op: Logic::Move,
                        d: target.index,
                        a: value.index,
                        b: value.index,
                        negate_b: false,
                    },
                );
            }
        }
        Ok(())
    }

    fn boolean(&self, instr: &Instr) -> Result<Logic> {
        match () {
            () if instr.has("and") => Ok(Logic::And),
            () if instr.has("or") => Ok(Logic::Or),
            () if instr.has("xor") => Ok(Logic::Xor),
            () => Err(instr.unsupported()),
        }
    }

    fn dest_or_sink(&mut self, instr: &Instr, operand: &Operand) -> Result<Reg> {
        if *operand == Operand::Sink {
            Ok(self.temp(Class::Predicate))
        } else {
            self.dest(instr, operand)
        }
    }

    /// `set`: the comparison as all ones, or as 1.0.
    fn set(&mut self, instr: &Instr, guard: Guard, types: &[Type]) -> Result<()> {
        let [d, a, b] = self.operands::<3>(instr)?;
        let (Some(f), &[to, from]) = (scalar::compare(instr), types) else {
            return Err(instr.unsupported());
        };
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Word)?;
        let (a, b) = (
            self.source(instr, a, class_of(from))?,
            self.source(instr, b, class_of(from))?,
        );
        let p = self.temp(Class::Predicate);
        self.push(
            None,
            Code::Scalar {
                f,
                d: p,
                a,
                b,
                c: a,
            },
        );
        let one = if to.is_float() {
            u64::from(1f32.to_bits())
        } else {
            u64::MAX
        };
        let (one, zero) = (
            self.constant(Class::Word, one),
            self.constant(Class::Word, 0),
        );
        self.push(
            guard,
            Code::Select {
                d: d.index,
                a: one.index,
                b: zero.index,
                p: p.index,
            },
        );
        Ok(())
    }

    fn selp(&mut self, instr: &Instr, guard: Guard, ty: Type) -> Result<()> {
        let [d, a, b, p] = self.operands::<4>(instr)?;
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, class_of(ty))?;
        let (a, b) = (
            self.source(instr, a, d.class)?,
            self.source(instr, b, d.class)?,
        );
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
    fn slct(&mut self, instr: &Instr, guard: Guard, types: &[Type]) -> Result<()> {
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

    fn cvt(&mut self, instr: &Instr, guard: Guard, types: &[Type]) -> Result<()> {
        let &[to, from] = types else {
            return Err(instr.unsupported());
        };
        if to.pair && from == Type::parse("f32").unwrap_or(from) {
            return self.cvt_pair(instr, guard, to);
        }
        let [d, a] = self.operands::<2>(instr)?;
        let Some(f) = scalar::convert(instr, to, from) else {
            return Err(self.refuse(instr));
        };
        let d = self.dest(instr, d)?;
        // The result register may be wider than the result: it is extended as its type says.
        if d.class == Class::Predicate || (d.class == Class::Word && to.bits > 32) {
            return Err(instr.error(format!(
                "the result register of `{}` has the wrong width",
                instr.text
            )));
        }
        let a = self.source(instr, a, class_of(from))?;
        let plain = |k: Kind| !matches!(k, Kind::Float | Kind::Brain);
        let code = match (from.kind, from.bits, to.kind, to.bits, d.class) {
            (Kind::Float, 16, Kind::Float, 32, Class::Word) => Some(Code::HalfToFloat {
                d: d.index,
                a: a.index,
            }),
            (Kind::Float, 32, Kind::Float, 16, Class::Word) if instr.has("rn") => {
                Some(Code::FloatToHalf {
                    d: d.index,
                    a: a.index,
                })
            }
            (k, 32, t, 64, Class::Double) if plain(k) && plain(t) => Some(Code::Extend {
                signed: k == Kind::Signed,
                d: d.index,
                a: a.index,
            }),
            (k, 64, t, 32, Class::Word) if plain(k) && plain(t) => Some(Code::Truncate {
                d: d.index,
                a: a.index,
            }),
            (k, 32, t, 32, Class::Word) if plain(k) && plain(t) => Some(Code::MoveWord {
                d: d.index,
                a: a.index,
            }),
            _ => None,
        };
        if let Some(code) = code {
            self.push(guard, code);
            return Ok(());
        }
        if to.bits >= 32 || to.is_float() {
            self.push(
                guard,
                Code::Scalar {
                    f,
                    d,
                    a,
                    b: a,
                    c: a,
                },
            );
            return Ok(());
        }
        // Narrow integer results: cut to their width, then extended into the register.
        let t = self.temp(d.class);
        self.push(
            None,
            Code::Scalar {
                f,
                d: t,
                a,
                b: a,
                c: a,
            },
        );
        let cut: scalar::Scalar = match (to.is_signed(), to.bits) {
            (true, 8) => |v| v[0] as u8 as i8 as i64 as u64,
            (true, _) if d.class == Class::Word && self.is_16(&instr.operands[0]) => {
                |v| v[0] & 0xffff
            }
            (true, _) => |v| v[0] as u16 as i16 as i64 as u64,
            (false, 8) => |v| v[0] & 0xff,
            (false, _) => |v| v[0] & 0xffff,
        };
        self.push(
            guard,
            Code::Scalar {
                f: cut,
                d,
                a: t,
                b: t,
                c: t,
            },
        );
        if (to.is_signed(), to.bits) == (true, 8) && self.is_16(&instr.operands[0]) {
            let mask = self.constant(Class::Word, 0xffff);
            self.push(
                guard,
                Code::Word {
                    op: Word::And,
                    d: d.index,
                    a: d.index,
                    b: mask.index,
                },
            );
        }
        Ok(())
    }

    fn is_16(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Register(id) if self.type_of(*id).bits == 16)
    }

    /// `cvt.rn.f16x2.f32 d, a, b`: a into the upper half.
    fn cvt_pair(&mut self, instr: &Instr, guard: Guard, to: Type) -> Result<()> {
        let [d, a, b] = self.operands::<3>(instr)?;
        if ["relu", "satfinite", "rz"].iter().any(|s| instr.has(s)) {
            return Err(instr.unsupported());
        }
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Word)?;
        let (a, b) = (
            self.source(instr, a, Class::Word)?,
            self.source(instr, b, Class::Word)?,
        );
        let f: scalar::Scalar = if to.kind == Kind::Float {
            |v| pair(v, F16)
        } else {
            |v| pair(v, BF16)
        };
        fn pair(v: [u64; 3], format: super::float::Format) -> u64 {
            let half = |x: u64| {
                u64::from(narrow(
                    f64::from(f32::from_bits(x as u32)),
                    format,
                    Rounding::Rn,
                ))
            };
            half(v[0]) << 16 | half(v[1])
        }
        self.push(guard, Code::Scalar { f, d, a, b, c: a });
        Ok(())
    }

    fn cvta(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let [d, a] = self.operands::<2>(instr)?;
        let base = match () {
            () if instr.has("global") => 0,
            () if instr.has("shared") || instr.has("shared::cta") => window::SHARED,
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

    fn isspacep(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let [d, a] = self.operands::<2>(instr)?;
        let space = match instr.opcode.get(1).map(String::as_str) {
            Some("global") => Space::Global,
            Some("shared" | "shared::cta") => Space::Shared,
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

    fn lop3(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
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

    fn prmt(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
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
    fn bfi(&mut self, instr: &Instr, guard: Guard, ty: Type) -> Result<()> {
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
        let packed = self.temp(Class::Word);
        self.push(
            None,
            Code::Scalar {
                f: |v| v[0] & 0xff | (v[1] & 0xff) << 8,
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

    fn logic(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
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

/// The vector form of an instruction, where there is one. The thread-by-thread form is its oracle.
fn fast(instr: &Instr, ty: Type, d: Reg, a: Reg, b: Reg, c: Reg) -> Option<Code> {
    let name = instr.opcode[0].as_str();
    let plain = ["sat", "ftz", "hi", "wide", "NaN"]
        .iter()
        .all(|s| !instr.has(s));
    if !plain || ty.pair {
        return None;
    }
    let (d, a, b, c) = (d.index, a.index, b.index, c.index);
    if ty.bits == 64 {
        let op = match (name, ty.is_float()) {
            ("add", false) => Double::Add,
            ("sub", false) => Double::Sub,
            ("and", _) => Double::And,
            ("or", _) => Double::Or,
            ("xor", _) => Double::Xor,
            _ => return None,
        };
        return Some(Code::Double { op, d, a, b });
    }
    if ty.bits != 32 {
        return None;
    }
    let op = match (name, ty.kind) {
        ("add", Kind::Float) => Word::AddF32,
        ("mul", Kind::Float) => Word::MulF32,
        ("fma", Kind::Float) => return Some(Code::FmaF32 { d, a, b, c }),
        (_, Kind::Float) => return None,
        ("add", _) => Word::Add,
        ("sub", _) => Word::Sub,
        ("mul", _) => Word::Mul,
        ("mad", _) => return Some(Code::MadLo { d, a, b, c }),
        ("and", _) => Word::And,
        ("or", _) => Word::Or,
        ("xor", _) => Word::Xor,
        ("shl", _) => Word::Shl,
        ("shr", Kind::Signed) => Word::ShrS,
        ("shr", _) => Word::ShrU,
        _ => return None,
    };
    Some(Code::Word { op, d, a, b })
}

fn fast_compare(instr: &Instr, ty: Type) -> Option<Compare> {
    if ty.bits != 32 || ty.is_float() {
        return None;
    }
    Some(match (instr.opcode.get(1)?.as_str(), ty.is_signed()) {
        ("eq", _) => Compare::Eq,
        ("ne", _) => Compare::Ne,
        ("lt", true) => Compare::LtS,
        ("le", true) => Compare::LeS,
        ("gt", true) => Compare::GtS,
        ("ge", true) => Compare::GeS,
        ("lt" | "lo", false) => Compare::LtU,
        ("le" | "ls", false) => Compare::LeU,
        ("gt" | "hi", false) => Compare::GtU,
        ("ge" | "hs", false) => Compare::GeU,
        _ => return None,
    })
}
