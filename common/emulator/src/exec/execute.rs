//! What one split does alone: the operations that kernels are full of.
use super::block::Context;
use super::checked::Fatal;
use super::convert::{float_to_half, half_to_float, nvidia_nan};
use super::lanes::{Doubles, Words, compare, map2, map2_double, map3, put, put_bits, put_double};
use super::warp::Warp;
use crate::op::{Code, Compare, Double, Logic, Op, Word};

impl Warp {
    /// Everything that one split does alone.
    #[inline(always)]
    pub(super) fn execute<const SANITIZE: bool>(
        &mut self,
        op: &Op,
        pc: usize,
        mask: u32,
        cx: &mut Context<'_>,
    ) -> Result<(), Fatal> {
        if mask == 0 {
            return Ok(());
        }
        let w = &mut self.words[..];
        match op.code {
            Code::FmaF32 { d, a, b, c } => map3(w, [d, a, b, c], mask, |x, y, z| {
                nvidia_nan(f32::from_bits(x).mul_add(f32::from_bits(y), f32::from_bits(z)))
            }),
            Code::Word { op, d, a, b } => match op {
                Word::Add => map2(w, d, a, b, mask, u32::wrapping_add),
                Word::Sub => map2(w, d, a, b, mask, u32::wrapping_sub),
                Word::Mul => map2(w, d, a, b, mask, u32::wrapping_mul),
                Word::And => map2(w, d, a, b, mask, |x, y| x & y),
                Word::Or => map2(w, d, a, b, mask, |x, y| x | y),
                Word::Xor => map2(w, d, a, b, mask, |x, y| x ^ y),
                Word::Shl => map2(
                    w,
                    d,
                    a,
                    b,
                    mask,
                    |x, n| if n > 31 { 0 } else { x << (n & 31) },
                ),
                Word::ShrU => map2(
                    w,
                    d,
                    a,
                    b,
                    mask,
                    |x, n| if n > 31 { 0 } else { x >> (n & 31) },
                ),
                Word::ShrS => map2(w, d, a, b, mask, |x, n| (x as i32 >> n.min(31)) as u32),
                Word::AddF32 => map2(w, d, a, b, mask, |x, y| {
                    nvidia_nan(f32::from_bits(x) + f32::from_bits(y))
                }),
                Word::MulF32 => map2(w, d, a, b, mask, |x, y| {
                    nvidia_nan(f32::from_bits(x) * f32::from_bits(y))
                }),
            },
            Code::MadLo { d, a, b, c } => map3(w, [d, a, b, c], mask, |x, y, z| {
                x.wrapping_mul(y).wrapping_add(z)
            }),
            Code::Double { op, d, a, b } => {
                let v = &mut self.doubles[..];
                match op {
                    Double::Add => map2_double(v, d, a, b, mask, u64::wrapping_add),
                    Double::Sub => map2_double(v, d, a, b, mask, u64::wrapping_sub),
                    Double::And => map2_double(v, d, a, b, mask, |x, y| x & y),
                    Double::Or => map2_double(v, d, a, b, mask, |x, y| x | y),
                    Double::Xor => map2_double(v, d, a, b, mask, |x, y| x ^ y),
                }
            }
            Code::MadWide { signed, d, a, b, c } => {
                let (x, y, z) = (
                    &w[a as usize].0,
                    &w[b as usize].0,
                    &self.doubles[c as usize].0,
                );
                let mut out = Doubles::ZERO;
                for i in 0..32 {
                    let product = if signed {
                        (i64::from(x[i] as i32) * i64::from(y[i] as i32)) as u64
                    } else {
                        u64::from(x[i]) * u64::from(y[i])
                    };
                    out.0[i] = product.wrapping_add(z[i]);
                }
                put_double(&mut self.doubles[d as usize], &out, mask);
            }
            Code::Extend { signed, d, a } => {
                let x = &w[a as usize].0;
                let mut out = Doubles::ZERO;
                for i in 0..32 {
                    out.0[i] = if signed {
                        i64::from(x[i] as i32) as u64
                    } else {
                        u64::from(x[i])
                    };
                }
                put_double(&mut self.doubles[d as usize], &out, mask);
            }
            Code::Truncate { d, a } => {
                let mut out = Words::ZERO;
                for i in 0..32 {
                    out.0[i] = self.doubles[a as usize].0[i] as u32;
                }
                put(&mut w[d as usize], &out, mask);
            }
            Code::MoveWord { d, a } => {
                let value = w[a as usize];
                put(&mut w[d as usize], &value, mask);
            }
            Code::MoveDouble { d, a } => {
                let value = self.doubles[a as usize];
                put_double(&mut self.doubles[d as usize], &value, mask);
            }
            Code::HalfToFloat { d, a } => {
                let out = half_to_float(&w[a as usize]);
                put(&mut w[d as usize], &out, mask);
            }
            Code::FloatToHalf { d, a } => {
                let out = float_to_half(&w[a as usize]);
                put(&mut w[d as usize], &out, mask);
            }
            Code::Compare { op, d, a, b } => {
                let bits = match op {
                    Compare::Eq => compare(w, a, b, |x, y| x == y),
                    Compare::Ne => compare(w, a, b, |x, y| x != y),
                    Compare::LtS => compare(w, a, b, |x, y| (x as i32) < y as i32),
                    Compare::LeS => compare(w, a, b, |x, y| x as i32 <= y as i32),
                    Compare::GtS => compare(w, a, b, |x, y| x as i32 > y as i32),
                    Compare::GeS => compare(w, a, b, |x, y| x as i32 >= y as i32),
                    Compare::LtU => compare(w, a, b, |x, y| x < y),
                    Compare::LeU => compare(w, a, b, |x, y| x <= y),
                    Compare::GtU => compare(w, a, b, |x, y| x > y),
                    Compare::GeU => compare(w, a, b, |x, y| x >= y),
                };
                put_bits(&mut self.predicates[d as usize], bits, mask);
            }
            Code::Select { d, a, b, p } => {
                let chosen = self.predicates[p as usize];
                let mut out = w[b as usize];
                put(&mut out, &w[a as usize].clone(), chosen);
                put(&mut w[d as usize], &out, mask);
            }
            Code::Logic {
                op,
                d,
                a,
                b,
                negate_b,
            } => {
                let (x, y) = (self.predicates[a as usize], self.predicates[b as usize]);
                let y = if negate_b { !y } else { y };
                let bits = match op {
                    Logic::And => x & y,
                    Logic::Or => x | y,
                    Logic::Xor => x ^ y,
                    Logic::Not => !x,
                    Logic::Move => x,
                };
                put_bits(&mut self.predicates[d as usize], bits, mask);
            }
            Code::AsyncCopy(ref copy) => return self.copy_async(copy, pc, mask, cx),
            Code::AsyncCommit => self.commit_async(mask),
            Code::AsyncWait { pending } => self.wait_async(pending, pc, mask, cx),
            Code::Load(ref access) => return self.load::<SANITIZE>(access, pc, mask, cx),
            Code::Store(ref access) => return self.store::<SANITIZE>(access, pc, mask, cx),
            Code::Atomic(ref access) => return self.atomic(access, pc, mask, cx),
            _ => return self.execute_rarely(op, pc, mask, cx),
        }
        Ok(())
    }
}
