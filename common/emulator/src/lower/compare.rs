//! Comparisons: `setp` and `set`.
use super::float_format::{bf16_to_f64, f16_to_f64};
use super::float_ops::{flush, flush_f16_operand};
use super::scalar::{Scalar, d, f, sx, zx};
use super::{Lowering, Result, class_of};
use crate::op::{Class, Code, ColdOp, Compare, LaneOp, Logic, Reg};
use crate::ptx::{Instr, Operand, Type, TypeKind};

impl Lowering<'_> {
    pub(super) fn setp(&mut self, instr: &Instr) -> Result<()> {
        let ty = instr.last_type()?;
        if ty.pair {
            return self.setp_pair(instr, ty);
        }
        let f = compare(instr, ty).ok_or_else(|| instr.unsupported())?;
        let (d, rest) = instr.result()?;
        let (d, other) = match d {
            Operand::Pair(d, other) => (&**d, Some(&**other)),
            d => (d, None),
        };
        let d = self.dest_or_sink(instr, d)?;
        let other = other.map(|other| self.dest_or_sink(instr, other));
        let other = other.transpose()?;
        let (combine, operands) = match rest {
            [a, b] => (None, [a, b]),
            [a, b, p] => (Some(self.predicate(instr, p)?), [a, b]),
            _ => return Err(instr.wrong("takes two values to compare")),
        };
        self.check_class(instr, d, Class::Predicate)?;
        let class = class_of(ty);
        let [a, b] = self.sources(instr, operands, class)?;
        let a = self.trim(a, class, ty, operands[0]);
        let b = self.trim(b, class, ty, operands[1]);
        let compare = |d: Reg| match fast_compare(instr, ty) {
            Some(op) => Code::from(LaneOp::Compare(op, [d.index, a.index, b.index])),
            None => ColdOp::Scalar(f, d, [a, b, a]).into(),
        };
        if combine.is_none() && other.is_none() {
            self.push(compare(d));
            return Ok(());
        }
        // d = (a op b) bool p; the second result takes the inverted comparison.
        let direct = self.temp(Class::Predicate);
        self.push_always(compare(direct));
        let inverse = self.temp(Class::Predicate);
        let regs = [inverse.index, direct.index, direct.index];
        self.push_always(LaneOp::Logic(Logic::Not, regs, false));
        // Both results are computed before either is written, because a result may be an input of the other.
        if let Some((p, negate_b)) = combine {
            let op = self.boolean(instr)?;
            for value in [direct.index, inverse.index] {
                self.push_always(LaneOp::Logic(op, [value, value, p], negate_b));
            }
        }
        for (target, value) in [(Some(d), direct), (other, inverse)] {
            if let Some(target) = target {
                let regs = [target.index, value.index, value.index];
                self.push(LaneOp::Logic(Logic::Move, regs, false));
            }
        }
        Ok(())
    }

    /// `setp.op{.bool}.f16x2 p|q, a, b{, c}`: p compares the lower halves, q the upper ones (PTX ISA, "Half Precision
    /// Comparison Instructions: setp").
    fn setp_pair(&mut self, instr: &Instr, ty: Type) -> Result<()> {
        let f = compare(instr, half(ty)).ok_or_else(|| instr.unsupported())?;
        let (Operand::Pair(low, high), rest) = instr.result()? else {
            return Err(instr.wrong("needs two predicates"));
        };
        let targets = [
            self.dest_or_sink(instr, low)?,
            self.dest_or_sink(instr, high)?,
        ];
        let [a, b, combine @ ..] = rest else {
            return Err(instr.wrong("takes two values to compare"));
        };
        let combine = self.combination(instr, combine)?;
        let [a, b] = self.sources(instr, [a, b], Class::B32)?;
        let (a, b) = (self.halves(a), self.halves(b));
        let results: [Reg; 2] = std::array::from_fn(|i| {
            let p = self.temp(Class::Predicate);
            self.push_always(ColdOp::Scalar(f, p, [a[i], b[i], a[i]]));
            if let Some((op, q, negated)) = combine {
                self.push_always(LaneOp::Logic(op, [p.index, p.index, q], negated));
            }
            p
        });
        for (target, result) in targets.into_iter().zip(results) {
            self.check_class(instr, target, Class::Predicate)?;
            let regs = [target.index, result.index, result.index];
            self.push(LaneOp::Logic(Logic::Move, regs, false));
        }
        Ok(())
    }

    /// The predicate that a comparison is combined with, if there is one, and the operation.
    fn combination(
        &mut self,
        instr: &Instr,
        operands: &[Operand],
    ) -> Result<Option<(Logic, u32, bool)>> {
        match operands {
            [] => Ok(None),
            [p] => {
                let (p, negated) = self.predicate(instr, p)?;
                Ok(Some((self.boolean(instr)?, p, negated)))
            }
            _ => Err(instr.wrong("takes two values to compare")),
        }
    }

    /// The two halves of a register.
    fn halves(&mut self, a: Reg) -> [Reg; 2] {
        let parts = [self.temp(Class::B32), self.temp(Class::B32)];
        self.push_always(ColdOp::Unpack(16, parts.into(), a));
        parts
    }

    /// `testp.op.f32 p, a` (PTX ISA, "testp"): zero counts as a normal number.
    pub(super) fn testp(&mut self, instr: &Instr, ty: Type) -> Result<()> {
        instr.require(instr.opcode.len() == 3 && ty.kind == TypeKind::Float && !ty.pair)?;
        let f: Scalar = match (instr.opcode[1].as_str(), ty.bits) {
            ("finite", 32) => |v| f(v[0]).is_finite().into(),
            ("finite", 64) => |v| d(v[0]).is_finite().into(),
            ("infinite", 32) => |v| f(v[0]).is_infinite().into(),
            ("infinite", 64) => |v| d(v[0]).is_infinite().into(),
            ("number", 32) => |v| (!f(v[0]).is_nan()).into(),
            ("number", 64) => |v| (!d(v[0]).is_nan()).into(),
            ("notanumber", 32) => |v| f(v[0]).is_nan().into(),
            ("notanumber", 64) => |v| d(v[0]).is_nan().into(),
            ("normal", 32) => |v| (f(v[0]).is_normal() || f(v[0]) == 0.0).into(),
            ("normal", 64) => |v| (d(v[0]).is_normal() || d(v[0]) == 0.0).into(),
            ("subnormal", 32) => |v| f(v[0]).is_subnormal().into(),
            ("subnormal", 64) => |v| d(v[0]).is_subnormal().into(),
            _ => return Err(instr.unsupported()),
        };
        let [p, a] = self.operands::<2>(instr)?;
        let p = self.dest_of(instr, p, Class::Predicate)?;
        let a = self.source(instr, a, class_of(ty))?;
        self.push(ColdOp::Scalar(f, p, [a; 3]));
        Ok(())
    }

    pub(super) fn boolean(&self, instr: &Instr) -> Result<Logic> {
        match () {
            () if instr.has("and") => Ok(Logic::And),
            () if instr.has("or") => Ok(Logic::Or),
            () if instr.has("xor") => Ok(Logic::Xor),
            () => Err(instr.unsupported()),
        }
    }

    pub(super) fn dest_or_sink(&mut self, instr: &Instr, operand: &Operand) -> Result<Reg> {
        match operand {
            Operand::Sink => Ok(self.temp(Class::Predicate)),
            operand => self.dest(instr, operand),
        }
    }

    /// `set`: true is all ones or 1.0; for a pair, in each half.
    pub(super) fn set(&mut self, instr: &Instr, types: &[Type]) -> Result<()> {
        let [d, a, b, combine @ ..] = &instr.operands[..] else {
            return Err(instr.wrong_count());
        };
        let &[to, from] = types else {
            return Err(instr.unsupported());
        };
        let combine = self.combination(instr, combine)?;
        let yes = match (half(to).kind, half(to).bits) {
            (TypeKind::Float, 16) => 0x3c00,
            (TypeKind::Brain, _) => 0x3f80,
            (TypeKind::Float, 32) => u64::from(1f32.to_bits()),
            (_, 16 | 32) if from.pair => 0xffff,
            (_, bits @ (16 | 32)) => (1 << bits) - 1,
            _ => return Err(instr.unsupported()),
        };
        let (Some(f), true) = (compare(instr, half(from)), from.pair || !to.pair) else {
            return Err(instr.unsupported());
        };
        let d = self.dest_of(instr, d, Class::B32)?;
        let [a, b] = self.sources(instr, [a, b], class_of(from))?;
        let [yes, no] = [yes, 0].map(|value| self.constant(Class::B32, value).index);
        let one = |lower: &mut Self, guard, d: u32, a, b| {
            let p = lower.temp(Class::Predicate);
            lower.push_always(ColdOp::Scalar(f, p, [a, b, a]));
            if let Some((op, q, negated)) = combine {
                lower.push_always(LaneOp::Logic(op, [p.index, p.index, q], negated));
            }
            lower.push_guarded(guard, LaneOp::Select([d, yes, no, p.index]));
        };
        if !from.pair {
            one(self, self.guard, d.index, a, b);
            return Ok(());
        }
        let (a, b) = (self.halves(a), self.halves(b));
        let results = [self.temp(Class::B32), self.temp(Class::B32)];
        for i in 0..2 {
            one(self, None, results[i].index, a[i], b[i]);
        }
        self.push(ColdOp::Pack(16, d, results.into()));
        Ok(())
    }
}

/// The type of each half of a pair.
fn half(ty: Type) -> Type {
    match ty.pair {
        true => Type::new(ty.kind, 16),
        false => ty,
    }
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

/// The comparison of `setp` and `set`: 1 or 0.
fn compare(instr: &Instr, ty: Type) -> Option<Scalar> {
    let op = instr.opcode.get(1)?.as_str();
    macro_rules! ordered {
        ($load:expr, $op:tt) => {{
            |v: [u64; 3]| u64::from($load(v[0]) $op $load(v[1]))
        }};
    }
    macro_rules! all {
        ($load:expr) => {
            match op {
                "eq" => ordered!($load, ==),
                "ne" => ordered!($load, !=),
                "lt" | "lo" => ordered!($load, <),
                "le" | "ls" => ordered!($load, <=),
                "gt" | "hi" => ordered!($load, >),
                "ge" | "hs" => ordered!($load, >=),
                _ => return None,
            }
        };
    }
    macro_rules! float {
        ($load:expr) => {{
            const LOAD: fn(u64) -> f64 = $load;
            fn nan(v: [u64; 3]) -> bool {
                LOAD(v[0]).is_nan() || LOAD(v[1]).is_nan()
            }
            match op {
                // Ordered `ne` is false on NaN, unlike Rust's.
                "ne" => |v: [u64; 3]| u64::from(!nan(v) && LOAD(v[0]) != LOAD(v[1])),
                "equ" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) == LOAD(v[1])),
                "neu" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) != LOAD(v[1])),
                "ltu" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) < LOAD(v[1])),
                "leu" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) <= LOAD(v[1])),
                "gtu" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) > LOAD(v[1])),
                "geu" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) >= LOAD(v[1])),
                "num" => |v: [u64; 3]| u64::from(!nan(v)),
                "nan" => |v: [u64; 3]| u64::from(nan(v)),
                _ => all!(LOAD),
            }
        }};
    }
    if instr.has("ftz") {
        return Some(match (ty.kind, ty.bits, ty.pair) {
            (TypeKind::Float, 32, false) => float!(|x| f64::from(flush(f(x)))),
            (TypeKind::Float, 16, _) => float!(|x| flush_f16_operand(f16_to_f64(x))),
            _ => return None,
        });
    }
    Some(match (ty.kind, ty.bits) {
        (TypeKind::Signed, 16) => all!(sx::<16>),
        (TypeKind::Signed, 32) => all!(sx::<32>),
        (TypeKind::Signed, 64) => all!(sx::<64>),
        (TypeKind::Unsigned | TypeKind::Bits, 16) => all!(zx::<16>),
        (TypeKind::Unsigned | TypeKind::Bits, 32) => all!(zx::<32>),
        (TypeKind::Unsigned | TypeKind::Bits, 64) => all!(zx::<64>),
        (TypeKind::Float, 16) => float!(f16_to_f64),
        (TypeKind::Brain, 16) => float!(bf16_to_f64),
        (TypeKind::Float, 32) if !ty.pair => float!(|x| f64::from(f(x))),
        (TypeKind::Float, 64) => float!(d),
        _ => return None,
    })
}
