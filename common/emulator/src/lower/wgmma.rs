//! `wgmma`: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
use super::{Lowering, Result};
use crate::op::{Class, Code, Op, Wgmma, WgmmaA};
use crate::ptx::{Instr, Operand};
use crate::roles::Role;
use crate::tensor::Factor;

type Guard = Option<(u32, bool)>;

impl Lowering<'_> {
    pub(super) fn wgmma(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let parts: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        let code = match (&parts[..], &instr.operands[..]) {
            (["fence", "sync", "aligned"], []) => Code::WgmmaFence,
            (["commit_group", "sync", "aligned"], []) => Code::WgmmaCommit,
            (["wait_group", "sync", "aligned"], [Operand::Int(n)]) => Code::WgmmaWait {
                pending: u32::try_from(*n).unwrap_or(u32::MAX),
                // Those of all `wgmma`, put in when all are known.
                regs: Box::new([]),
            },
            (["mma_async", "sync", "aligned", shape, "f32", a, b], _) if a == b => {
                let factor = match *a {
                    "f16" => Factor::F16,
                    "bf16" => Factor::Bf16,
                    _ => return Err(instr.unsupported()),
                };
                let n = shape
                    .strip_prefix("m64n")
                    .and_then(|shape| shape.strip_suffix("k16"))
                    .and_then(|n| n.parse::<u32>().ok())
                    .filter(|n| (8..=256).contains(n) && n.is_multiple_of(8));
                let Some(n) = n else {
                    return Err(instr.unsupported());
                };
                Code::Wgmma(Box::new(self.mma_async(instr, factor, n)?))
            }
            _ => return Err(instr.unsupported()),
        };
        self.push(guard, code);
        Ok(())
    }

    /// `d, a, b-desc, scale-d, imm-scale-a, imm-scale-b` and a transpose bit for each operand in shared memory.
    fn mma_async(&mut self, instr: &Instr, factor: Factor, n: u32) -> Result<Wgmma> {
        let [d, a, b, scale, rest @ ..] = &instr.operands[..] else {
            return Err(instr.unsupported());
        };
        let d = self.words(instr, d, n as usize / 2, true)?;
        let in_registers = matches!(a, Operand::Vector(_));
        let straight = Operand::Int(0);
        let (scales, transposes) = match (in_registers, rest) {
            (true, [scale_a, scale_b, b]) => ([scale_a, scale_b], [&straight, b]),
            (false, [scale_a, scale_b, a, b]) => ([scale_a, scale_b], [a, b]),
            _ => {
                return Err(instr.error(format!(
                    "`{}` takes, after the predicate, two scales (1 or -1) and a transpose bit for each operand \
                     in shared memory",
                    instr.text
                )));
            }
        };
        let mut negate = [false; 2];
        for (negate, scale) in negate.iter_mut().zip(scales) {
            *negate = match scale {
                Operand::Int(1) => false,
                Operand::Int(scale) if *scale as u32 == u32::MAX => true,
                _ => {
                    return Err(
                        instr.error(format!("a scale of `{}` is neither 1 nor -1", instr.text))
                    );
                }
            };
        }
        let mut transposed = [false; 2];
        for (transposed, bit) in transposed.iter_mut().zip(transposes) {
            *transposed = match bit {
                Operand::Int(0) => false,
                Operand::Int(1) => true,
                _ => {
                    return Err(instr.error(format!(
                        "a transpose bit of `{}` is neither 0 nor 1",
                        instr.text
                    )));
                }
            };
        }
        let a = if in_registers {
            let list = self.words(instr, a, 4, false)?;
            WgmmaA::Registers([list[0], list[1], list[2], list[3]])
        } else {
            WgmmaA::Descriptor(self.descriptor(instr, a)?)
        };
        Ok(Wgmma {
            factor,
            n,
            d: d.into(),
            a,
            b: self.descriptor(instr, b)?,
            scale_d: self.predicate(instr, scale)?,
            negate,
            transposed,
        })
    }

    fn descriptor(&mut self, instr: &Instr, operand: &Operand) -> Result<u32> {
        let wrong = |instr: &Instr| {
            instr.error(format!(
                "`{}` takes matrix descriptors in 64-bit registers",
                instr.text
            ))
        };
        match operand {
            Operand::Register(id) if self.reg(*id).class != Class::Double => Err(wrong(instr)),
            Operand::Register(_) | Operand::Int(_) => {
                Ok(self.source(instr, operand, Class::Double)?.index)
            }
            _ => Err(wrong(instr)),
        }
    }
}

/// Keeps the registers of every `wgmma` alive up to the waits: until then the hardware may read and write
/// them, so nothing else may be put there.
pub(super) fn hold_registers(ops: &mut [Op]) {
    let mut held: Vec<u32> = Vec::new();
    for op in ops.iter() {
        if let Code::Wgmma(wgmma) = &op.code {
            held.extend(wgmma.registers());
        }
    }
    held.sort_unstable();
    held.dedup();
    for op in ops {
        if let Code::WgmmaWait { regs, .. } = &mut op.code {
            *regs = held.clone().into();
        }
    }
}

/// For each operation that is no `wgmma`, the registers of some `wgmma` that it touches, and whether it writes
/// them. Empty if there is no `wgmma`.
pub(super) fn watched(ops: &mut [Op], words: usize) -> Vec<Box<[(u32, bool)]>> {
    let mut held = vec![false; words];
    let mut any = false;
    for op in ops.iter() {
        any |= matches!(
            op.code,
            Code::WgmmaFence | Code::WgmmaCommit | Code::WgmmaWait { .. }
        );
        if let Code::Wgmma(wgmma) = &op.code {
            any = true;
            wgmma.registers().for_each(|reg| held[reg as usize] = true);
        }
    }
    if !any {
        return Vec::new();
    }
    ops.iter_mut()
        .map(|op| {
            let mut list = Vec::new();
            if !matches!(op.code, Code::Wgmma(_) | Code::WgmmaWait { .. }) {
                op.registers(|role, class, reg| {
                    if class == Class::Word && held[*reg as usize] {
                        list.push((*reg, role == Role::Def));
                    }
                });
            }
            list.into()
        })
        .collect()
}

impl Wgmma {
    /// Accumulators, and A where it is in registers.
    pub fn registers(&self) -> impl Iterator<Item = u32> {
        let a: &[u32] = match &self.a {
            WgmmaA::Registers(regs) => regs,
            WgmmaA::Descriptor(_) => &[],
        };
        self.d.iter().chain(a).copied()
    }
}
