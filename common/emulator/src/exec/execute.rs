//! Operations of single lanes that are common in kernels.
use super::block::Execution;
use super::convert::{float_to_half, floats_to_halves, half_to_float, nvidia_nan};
use super::lane_access::Fatal;
use super::lanes::{LanesB32, LanesB64, compare, map2, map3, put, put_bits};
use super::warp::Warp;
use crate::op::{B32Op, B64Op, Compare, LaneOp, Logic};

impl Warp {
    /// Executes an operation independently in each active lane. In WebAssembly, which is downloaded, there is one copy of it.
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(super) fn execute(
        &mut self,
        op: &LaneOp,
        pc: usize,
        mask: u32,
        cx: &mut Execution<'_>,
        sanitize: bool,
    ) -> Result<(), Fatal> {
        if mask == 0 {
            return Ok(());
        }
        let w = &mut self.b32[..];
        match *op {
            LaneOp::FmaF32(regs) => map3(w, regs, mask, |x, y, z| {
                nvidia_nan(f32::from_bits(x).mul_add(f32::from_bits(y), f32::from_bits(z)))
            }),
            LaneOp::B32(op, regs) => match op {
                B32Op::Add => map2(w, regs, mask, u32::wrapping_add),
                B32Op::Sub => map2(w, regs, mask, u32::wrapping_sub),
                B32Op::Mul => map2(w, regs, mask, u32::wrapping_mul),
                B32Op::And => map2(w, regs, mask, |x, y| x & y),
                B32Op::Or => map2(w, regs, mask, |x, y| x | y),
                B32Op::Xor => map2(w, regs, mask, |x, y| x ^ y),
                B32Op::Shl => map2(w, regs, mask, |x, n| if n > 31 { 0 } else { x << (n & 31) }),
                B32Op::ShrU => map2(w, regs, mask, |x, n| if n > 31 { 0 } else { x >> (n & 31) }),
                B32Op::ShrS => map2(w, regs, mask, |x, n| (x as i32 >> n.min(31)) as u32),
                B32Op::AddF32 => map2(w, regs, mask, |x, y| {
                    nvidia_nan(f32::from_bits(x) + f32::from_bits(y))
                }),
                B32Op::MulF32 => map2(w, regs, mask, |x, y| {
                    nvidia_nan(f32::from_bits(x) * f32::from_bits(y))
                }),
            },
            LaneOp::MadLo(regs) => map3(w, regs, mask, |x, y, z| x.wrapping_mul(y).wrapping_add(z)),
            LaneOp::B64(op, regs) => {
                let v = &mut self.b64[..];
                match op {
                    B64Op::Add => map2(v, regs, mask, u64::wrapping_add),
                    B64Op::Sub => map2(v, regs, mask, u64::wrapping_sub),
                    B64Op::And => map2(v, regs, mask, |x, y| x & y),
                    B64Op::Or => map2(v, regs, mask, |x, y| x | y),
                    B64Op::Xor => map2(v, regs, mask, |x, y| x ^ y),
                }
            }
            LaneOp::ShiftB64(left, [d, a, n]) => {
                let (x, n) = (&self.b64[a as usize].0, &w[n as usize].0);
                let mut out = LanesB64::ZERO;
                for i in 0..32 {
                    out.0[i] = if left {
                        x[i].unbounded_shl(n[i])
                    } else {
                        x[i].unbounded_shr(n[i])
                    };
                }
                put(&mut self.b64[d as usize], &out, mask);
            }
            LaneOp::MadWide(signed, [d, a, b, c]) => {
                let (x, y, z) = (&w[a as usize].0, &w[b as usize].0, &self.b64[c as usize].0);
                let mut out = LanesB64::ZERO;
                for i in 0..32 {
                    let product = if signed {
                        (i64::from(x[i] as i32) * i64::from(y[i] as i32)) as u64
                    } else {
                        u64::from(x[i]) * u64::from(y[i])
                    };
                    out.0[i] = product.wrapping_add(z[i]);
                }
                put(&mut self.b64[d as usize], &out, mask);
            }
            LaneOp::Extend(signed, [d, a]) => {
                let x = &w[a as usize].0;
                let mut out = LanesB64::ZERO;
                for i in 0..32 {
                    out.0[i] = if signed {
                        i64::from(x[i] as i32) as u64
                    } else {
                        u64::from(x[i])
                    };
                }
                put(&mut self.b64[d as usize], &out, mask);
            }
            LaneOp::Truncate([d, a]) => {
                let mut out = LanesB32::ZERO;
                for i in 0..32 {
                    out.0[i] = self.b64[a as usize].0[i] as u32;
                }
                put(&mut w[d as usize], &out, mask);
            }
            LaneOp::MoveB32([d, a]) => {
                let value = w[a as usize];
                put(&mut w[d as usize], &value, mask);
            }
            LaneOp::MoveB64([d, a]) => {
                let value = self.b64[a as usize];
                put(&mut self.b64[d as usize], &value, mask);
            }
            LaneOp::F16ToF32([d, a]) => {
                let out = half_to_float(&w[a as usize]);
                put(&mut w[d as usize], &out, mask);
            }
            LaneOp::F32ToF16([d, a]) => {
                let out = float_to_half(&w[a as usize]);
                put(&mut w[d as usize], &out, mask);
            }
            LaneOp::F32sToHalves(format, [d, high, low]) => {
                let out = floats_to_halves(format, &w[high as usize], &w[low as usize]);
                put(&mut w[d as usize], &out, mask);
            }
            LaneOp::Compare(op, [d, a, b]) => {
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
            LaneOp::Select([d, a, b, p]) => {
                let chosen = self.predicates[p as usize];
                let mut out = w[b as usize];
                put(&mut out, &w[a as usize].clone(), chosen);
                put(&mut w[d as usize], &out, mask);
            }
            LaneOp::Logic(op, [d, a, b], negate_b) => {
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
            LaneOp::AsyncCopy(ref copy) => return self.copy_async(copy, pc, mask, cx),
            LaneOp::AsyncCommit => self.commit_async(mask),
            LaneOp::AsyncWait { pending } => self.wait_async(pending, pc, mask, cx),
            LaneOp::Load(ref access) if sanitize => return self.load::<true>(access, pc, mask, cx),
            LaneOp::Load(ref access) => return self.load::<false>(access, pc, mask, cx),
            LaneOp::Store(ref access) if sanitize => {
                return self.store::<true>(access, pc, mask, cx);
            }
            LaneOp::Store(ref access) => return self.store::<false>(access, pc, mask, cx),
            LaneOp::Atomic(ref access) => return self.atomic(access, pc, mask, cx),
            LaneOp::Cold(ref op) => return self.execute_cold(op, pc, mask, cx),
        }
        Ok(())
    }
}
