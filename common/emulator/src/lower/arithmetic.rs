//! Arithmetic: instructions of one type, from one to three registers to one.
use super::{Lowering, Result, class_of, scalar};
use crate::op::{Class, Code, Double, Reg, Word};
use crate::ptx::{Instr, Kind, Operand, Type};

type Guard = Option<(u32, bool)>;

impl Lowering<'_> {
    pub(super) fn arithmetic(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let types = instr.types();
        if instr.opcode[0] == "isspacep" {
            return self.isspacep(instr, guard);
        }
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
            "lop3" => self.lop3(instr, guard),
            "prmt" => self.prmt(instr, guard),
            "bfi" => self.bfi(instr, guard, ty),
            "and" | "or" | "xor" | "not" if ty == Type::PRED => self.logic(instr, guard),
            _ => self.compute(instr, guard, ty),
        }
    }

    /// Everything that takes one to three registers of one type and gives one.
    fn compute(&mut self, instr: &Instr, guard: Guard, ty: Type) -> Result<()> {
        let found = scalar::find(instr).filter(|_| ty.kind != Kind::Predicate && ty.bits <= 64);
        let Some(f) = found else {
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
            "mad" | "mad24" | "fma" | "bfe" | "sad" | "shf" | "dp4a" => 3,
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
        if ty.is_float() && matches!(name, "add" | "sub" | "mul") {
            self.warn_unrounded(instr, ty);
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
            if !matches!((name, i), ("shl" | "shr", 1)) {
                sources[i] = self.trim(sources[i], class, ty, operand);
            }
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
    pub(super) fn trim(&mut self, reg: Reg, class: Class, ty: Type, operand: &Operand) -> Reg {
        match operand {
            Operand::Int(value) if class == Class::Word && ty.bits < 32 => {
                self.constant(class, value & ((1 << ty.bits) - 1))
            }
            _ => reg,
        }
    }

    pub(super) fn check_class(&self, instr: &Instr, d: Reg, class: Class) -> Result<()> {
        if d.class == class {
            Ok(())
        } else {
            Err(instr.error(format!(
                "the result register of `{}` has the wrong width",
                instr.text
            )))
        }
    }

    /// ptxas may contract a `mul` and an `add` without `.rn` into one `fma`.
    fn warn_unrounded(&mut self, instr: &Instr, ty: Type) {
        if ["rn", "rz", "rm", "rp"].iter().any(|r| instr.has(r)) {
            return;
        }
        let remedy = match ty.bits {
            32 | 64 if !ty.pair => "compile with --fmad=false",
            _ => "write __hmul_rn, __hadd_rn, __hsub_rn or __hfma",
        };
        self.warnings.push(format!(
            "PTX line {}: `{}` leaves its rounding to ptxas, so the GPU's bits may differ; {remedy}",
            instr.line, instr.text
        ));
    }

    pub(super) fn refuse(&self, instr: &Instr) -> crate::PtxError {
        if instr.has("approx") || instr.has("full") {
            return instr.error(format!(
                "the emulator cannot execute `{}`: the bits of approximate instructions are not documented; use the .rn form (without --use_fast_math)",
                instr.text
            ));
        }
        instr.unsupported()
    }
}

/// The vector form of an instruction, where there is one. The thread-by-thread form is its oracle.
fn fast(instr: &Instr, ty: Type, d: Reg, a: Reg, b: Reg, c: Reg) -> Option<Code> {
    let name = instr.opcode[0].as_str();
    let plain = ["sat", "ftz", "hi", "wide", "NaN", "rz", "rm", "rp"]
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
