//! Comparisons: `setp` and `set`.
use super::float::{bf16_to_f64, f16_to_f64};
use super::scalar::{Scalar, d, f, sx, zx};
use super::{Lowering, Result, class_of};
use crate::op::{Class, Code, Compare, Logic, Reg};
use crate::ptx::{Instr, Kind, Operand, Type};

type Guard = Option<(u32, bool)>;

impl Lowering<'_> {
    pub(super) fn setp(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let Some(&ty) = instr.types().last() else {
            return Err(instr.unsupported());
        };
        let Some(f) = compare(instr, ty) else {
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

    /// `set`: the comparison as all ones, or as 1.0; for a pair, in each half.
    pub(super) fn set(&mut self, instr: &Instr, guard: Guard, types: &[Type]) -> Result<()> {
        let [d, a, b] = self.operands::<3>(instr)?;
        let &[to, from] = types else {
            return Err(instr.unsupported());
        };
        let half = |ty: Type| match ty.pair {
            true => Type {
                bits: 16,
                pair: false,
                ..ty
            },
            false => ty,
        };
        let yes = match (half(to).kind, half(to).bits) {
            (Kind::Float, 16) => 0x3c00,
            (Kind::Brain, _) => 0x3f80,
            (Kind::Float, 32) => u64::from(1f32.to_bits()),
            (_, 16 | 32) if from.pair => 0xffff,
            (_, bits @ (16 | 32)) => (1 << bits) - 1,
            _ => return Err(instr.unsupported()),
        };
        let (Some(f), true) = (compare(instr, half(from)), from.pair || !to.pair) else {
            return Err(instr.unsupported());
        };
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Word)?;
        let (a, b) = (
            self.source(instr, a, class_of(from))?,
            self.source(instr, b, class_of(from))?,
        );
        let (yes, no) = (
            self.constant(Class::Word, yes).index,
            self.constant(Class::Word, 0).index,
        );
        let one = |lower: &mut Self, guard, d: u32, a, b| {
            let p = lower.temp(Class::Predicate);
            lower.push(
                None,
                Code::Scalar {
                    f,
                    d: p,
                    a,
                    b,
                    c: a,
                },
            );
            let (p, a, b) = (p.index, yes, no);
            lower.push(guard, Code::Select { d, a, b, p });
        };
        if !from.pair {
            one(self, guard, d.index, a, b);
            return Ok(());
        }
        let halves = |lower: &mut Self, a| {
            let parts = [lower.temp(Class::Word), lower.temp(Class::Word)];
            let unpack = Code::Unpack {
                parts: parts.into(),
                a,
                bits: 16,
            };
            lower.push(None, unpack);
            parts
        };
        let (a, b) = (halves(self, a), halves(self, b));
        let results = [self.temp(Class::Word), self.temp(Class::Word)];
        for i in 0..2 {
            one(self, None, results[i].index, a[i], b[i]);
        }
        let pack = Code::Pack {
            d,
            parts: results.into(),
            bits: 16,
        };
        self.push(guard, pack);
        Ok(())
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
        return None;
    }
    Some(match (ty.kind, ty.bits) {
        (Kind::Signed, 16) => all!(sx::<16>),
        (Kind::Signed, 32) => all!(sx::<32>),
        (Kind::Signed, 64) => all!(sx::<64>),
        (Kind::Unsigned | Kind::Bits, 16) => all!(zx::<16>),
        (Kind::Unsigned | Kind::Bits, 32) => all!(zx::<32>),
        (Kind::Unsigned | Kind::Bits, 64) => all!(zx::<64>),
        (Kind::Float, 16) => float!(f16_to_f64),
        (Kind::Brain, 16) => float!(bf16_to_f64),
        (Kind::Float, 32) if !ty.pair => float!(|x| f64::from(f(x))),
        (Kind::Float, 64) => float!(d),
        _ => return None,
    })
}
