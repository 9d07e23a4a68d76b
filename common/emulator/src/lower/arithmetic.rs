//! Arithmetic instructions of a single type, with one to three sources.
use super::{Lowering, Result, class_of, scalar};
use crate::op::{B32Op, B64Op, Class, ColdOp, LaneOp, Reg};
use crate::ptx::{Instr, Operand, Type, TypeKind};

impl Lowering<'_> {
    pub(super) fn arithmetic(&mut self, instr: &Instr) -> Result<()> {
        let types = instr.types();
        if instr.opcode[0] == "isspacep" {
            return self.isspacep(instr);
        }
        if Self::is_extended(instr) {
            return self.extended(instr);
        }
        let ty = instr.last_type()?;
        match instr.opcode[0].as_str() {
            "testp" => self.testp(instr, ty),
            "mov" => self.mov(instr, ty),
            "setp" => self.setp(instr),
            "set" => self.set(instr, &types),
            "selp" => self.selp(instr, ty),
            "slct" => self.slct(instr, &types),
            "cvt" => self.cvt(instr, &types),
            "cvta" => self.cvta(instr),
            "lop3" => self.lop3(instr),
            "prmt" => self.prmt(instr),
            "bfi" => self.bfi(instr, ty),
            "and" | "or" | "xor" | "not" if ty == Type::PRED => self.logic(instr),
            _ => self.compute(instr, ty),
        }
    }

    /// Lowers an instruction with one to three sources and a result of one type.
    fn compute(&mut self, instr: &Instr, ty: Type) -> Result<()> {
        let found = scalar::find(instr).filter(|_| ty.kind != TypeKind::Predicate && ty.bits <= 64);
        let Some(f) = found else {
            return Err(instr.unsupported());
        };
        let name = instr.opcode[0].as_str();
        let (first, rest) = instr.result()?;
        let wanted = match name {
            "not" | "neg" | "abs" | "popc" | "clz" | "brev" | "bfind" | "cnot" | "rcp" | "sqrt"
            | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => 1,
            "mad" | "mad24" | "fma" | "bfe" | "sad" | "shf" | "dp4a" | "dp2a" | "fns"
            | "vabsdiff2" | "vabsdiff4" => 3,
            _ => 2,
        };
        if rest.len() != wanted {
            let (takes, given) = (wanted + 1, rest.len() + 1);
            return Err(instr.wrong(format!("takes {takes} operands, not {given}")));
        }
        if ty.is_float() && matches!(name, "add" | "sub" | "mul") {
            self.warn_unrounded(instr, ty);
        }
        let class = class_of(ty);
        let d = self.dest(instr, first)?;
        let mut sources = [self.constant(class, 0); 3];
        for (i, operand) in rest.iter().enumerate() {
            // Shift amounts, bit positions and lengths have 32 bits for every type; the addend of
            // `mad.wide` has twice the width.
            let class = match (name, i) {
                ("shl" | "shr", 1) | ("bfe", 1 | 2) => Class::B32,
                ("mad", 2) if instr.has("wide") && ty.bits == 32 => Class::B64,
                _ => class,
            };
            sources[i] = self.source(instr, operand, class)?;
            if !matches!((name, i), ("shl" | "shr", 1)) {
                sources[i] = self.trim(sources[i], class, ty, operand);
            }
        }
        let result = match (name, instr.has("wide")) {
            (_, true) if ty.bits == 32 => Class::B64,
            ("popc" | "clz" | "bfind", _) => Class::B32,
            _ => class,
        };
        self.check_class(instr, d, result)?;
        let [a, b, c] = sources;
        if matches!(name, "mul" | "mad") && instr.has("wide") && ty.bits == 32 {
            let c = match name {
                "mul" => self.constant(Class::B64, 0),
                _ => c,
            };
            let regs = [d, a, b, c].map(|reg| reg.index);
            self.push(LaneOp::MadWide(ty.is_signed(), regs));
            return Ok(());
        }
        if let Some(code) = fast(instr, ty, d, a, b, c) {
            self.push(code);
            return Ok(());
        }
        // If a result is narrower than its register, only its low bits are defined; the others are cleared.
        let narrow = class == Class::B32 && ty.bits < 32 && !instr.has("wide");
        if narrow {
            let t = self.temp(Class::B32);
            self.push_always(ColdOp::Scalar(f, t, [a, b, c]));
            let mask = self.constant(Class::B32, (1 << ty.bits) - 1);
            self.push(LaneOp::B32(B32Op::And, [d.index, t.index, mask.index]));
            return Ok(());
        }
        self.push(ColdOp::Scalar(f, d, [a, b, c]));
        Ok(())
    }

    /// Clears the upper bits of an immediate of a narrow type.
    pub(super) fn trim(&mut self, reg: Reg, class: Class, ty: Type, operand: &Operand) -> Reg {
        match operand {
            Operand::Int(value) if class == Class::B32 && ty.bits < 32 => {
                self.constant(class, value & ((1 << ty.bits) - 1))
            }
            _ => reg,
        }
    }

    /// ptxas may contract a `mul` and an `add` without `.rn` into one `fma`.
    fn warn_unrounded(&mut self, instr: &Instr, ty: Type) {
        if instr.has_any(&["rn", "rz", "rm", "rp"]) {
            return;
        }
        let remedy = match ty.bits {
            32 | 64 if !ty.pair => "compile with --fmad=false",
            _ => "write __hmul_rn, __hadd_rn, __hsub_rn or __hfma",
        };
        self.program.warnings.push(format!(
            "PTX line {}: `{}` leaves its rounding to ptxas, so the GPU's bits may differ; {remedy}",
            instr.line, instr.text
        ));
    }
}

/// The vector form of an instruction, if there is one. Tests compare it with the thread-by-thread form.
fn fast(instr: &Instr, ty: Type, d: Reg, a: Reg, b: Reg, c: Reg) -> Option<LaneOp> {
    let name = instr.opcode[0].as_str();
    let special = ["sat", "ftz", "hi", "wide", "NaN", "rz", "rm", "rp"];
    if instr.has_any(&special) || ty.pair {
        return None;
    }
    let (d, a, b, c) = (d.index, a.index, b.index, c.index);
    if ty.bits == 64 {
        let op = match (name, ty.is_float()) {
            ("add", false) => B64Op::Add,
            ("sub", false) => B64Op::Sub,
            ("and", _) => B64Op::And,
            ("or", _) => B64Op::Or,
            ("xor", _) => B64Op::Xor,
            ("shl", _) => return Some(LaneOp::ShiftB64(true, [d, a, b])),
            ("shr", false) if !ty.is_signed() => {
                return Some(LaneOp::ShiftB64(false, [d, a, b]));
            }
            _ => return None,
        };
        return Some(LaneOp::B64(op, [d, a, b]));
    }
    if ty.bits != 32 {
        return None;
    }
    let op = match (name, ty.kind) {
        ("add", TypeKind::Float) => B32Op::AddF32,
        ("mul", TypeKind::Float) => B32Op::MulF32,
        ("fma", TypeKind::Float) => return Some(LaneOp::FmaF32([d, a, b, c])),
        (_, TypeKind::Float) => return None,
        ("add", _) => B32Op::Add,
        ("sub", _) => B32Op::Sub,
        ("mul", _) => B32Op::Mul,
        ("mad", _) => return Some(LaneOp::MadLo([d, a, b, c])),
        ("and", _) => B32Op::And,
        ("or", _) => B32Op::Or,
        ("xor", _) => B32Op::Xor,
        ("shl", _) => B32Op::Shl,
        ("shr", TypeKind::Signed) => B32Op::ShrS,
        ("shr", _) => B32Op::ShrU,
        _ => return None,
    };
    Some(LaneOp::B32(op, [d, a, b]))
}
