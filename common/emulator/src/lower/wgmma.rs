//! `wgmma`: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
use super::mma::{bits_of, formats_of, integer};
use super::{Lowering, Result};
use crate::MatrixProduct;
use crate::def_use::DefUse;
use crate::op::{Class, Code, MatrixOp, Op, Wgmma, WgmmaA, WgmmaOp};
use crate::ptx::{Instr, Operand};
use crate::tensor::{Arithmetic, BitOp, Factor, Sums};

impl Lowering<'_> {
    pub(super) fn wgmma(&mut self, instr: &Instr) -> Result<()> {
        let parts: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        let code = match (&parts[..], &instr.operands[..]) {
            (["fence", "sync", "aligned"], []) => WgmmaOp::Fence,
            (["commit_group", "sync", "aligned"], []) => WgmmaOp::Commit,
            (["wait_group", "sync", "aligned"], [Operand::Int(n)]) => WgmmaOp::Wait {
                pending: u32::try_from(*n).unwrap_or(u32::MAX),
                // The registers of all `wgmma`, filled in when all are known.
                regs: Box::new([]),
            },
            (["mma_async", "sync", "aligned", shape, formats @ ..], _) => {
                let arithmetic = arithmetic(formats).ok_or_else(|| instr.unsupported())?;
                let product = product(shape, arithmetic).ok_or_else(|| instr.unsupported())?;
                WgmmaOp::Mma(Box::new(self.mma_async(instr, arithmetic, product)?))
            }
            _ => return Err(instr.unsupported()),
        };
        self.push(MatrixOp::Wgmma(code));
        Ok(())
    }

    /// `d, a, b-desc, scale-d`; for all types except integers, a scale for A and one for B; for 16-bit elements, also a
    /// transpose bit for each operand in shared memory.
    fn mma_async(
        &mut self,
        instr: &Instr,
        arithmetic: Arithmetic,
        product: MatrixProduct,
    ) -> Result<Wgmma> {
        let [d, a, b, scale, rest @ ..] = &instr.operands[..] else {
            return Err(instr.unsupported());
        };
        let sums = if arithmetic.is_packed() { 4 } else { 2 };
        let d = self.b32_list(instr, d, (product.n / sums) as usize, true)?;
        let in_registers = matches!(a, Operand::Vector(_));
        let (one, straight) = (Operand::Int(1), Operand::Int(0));
        let (scales, transposes) = match (arithmetic, in_registers, rest) {
            (Arithmetic::Half(..), true, [scale_a, scale_b, b]) => {
                ([scale_a, scale_b], [&straight, b])
            }
            (Arithmetic::Half(..), false, [scale_a, scale_b, a, b]) => ([scale_a, scale_b], [a, b]),
            (Arithmetic::Half(..), ..) => {
                return Err(instr.error(format!(
                    "`{}` takes, after the predicate, two scales (1 or -1) and a transpose bit for each operand \
                     in shared memory",
                    instr.text
                )));
            }
            (Arithmetic::Integer { .. } | Arithmetic::Bits(_), _, []) => {
                ([&one, &one], [&straight; 2])
            }
            (Arithmetic::Integer { .. } | Arithmetic::Bits(_), ..) => {
                return Err(instr.wrong("takes nothing after the predicate"));
            }
            (Arithmetic::Tf32 | Arithmetic::E4m3, _, [scale_a, scale_b]) => {
                ([scale_a, scale_b], [&straight; 2])
            }
            (Arithmetic::Tf32 | Arithmetic::E4m3 | Arithmetic::Unpacked(..), ..) => {
                return Err(instr.wrong("takes two scales (1 or -1) after the predicate"));
            }
        };
        let text = &instr.text;
        let negate = |scale: &Operand| match scale {
            Operand::Int(1) => Ok(false),
            Operand::Int(scale) if *scale as u32 == u32::MAX => Ok(true),
            _ => Err(instr.error(format!("a scale of `{text}` is neither 1 nor -1"))),
        };
        let transposed = |bit: &Operand| match bit {
            Operand::Int(0) => Ok(false),
            Operand::Int(1) => Ok(true),
            _ => Err(instr.error(format!("a transpose bit of `{text}` is neither 0 nor 1"))),
        };
        let negate = [negate(scales[0])?, negate(scales[1])?];
        let transposed = [transposed(transposes[0])?, transposed(transposes[1])?];
        let a = if in_registers {
            let list = self.b32_list(instr, a, 4, false)?;
            WgmmaA::Registers([list[0], list[1], list[2], list[3]])
        } else {
            WgmmaA::Descriptor(self.descriptor(instr, a)?)
        };
        Ok(Wgmma {
            arithmetic,
            product,
            d: d.into(),
            a,
            b: self.descriptor(instr, b)?,
            scale_d: self.predicate(instr, scale)?,
            negate,
            transposed,
        })
    }

    fn descriptor(&mut self, instr: &Instr, operand: &Operand) -> Result<u32> {
        let fits = match operand {
            Operand::Register(id) => self.reg(*id).class == Class::B64,
            operand => matches!(operand, Operand::Int(_)),
        };
        match fits {
            true => Ok(self.source(instr, operand, Class::B64)?.index),
            false => Err(instr.wrong("takes matrix descriptors in 64-bit registers")),
        }
    }
}

/// The arithmetic for the formats of D, A and B.
fn arithmetic(formats: &[&str]) -> Option<Arithmetic> {
    Some(match formats {
        ["f32", "f16", "f16"] => Arithmetic::Half(Factor::F16, Sums::F32),
        ["f16", "f16", "f16"] => Arithmetic::Half(Factor::F16, Sums::F16),
        ["f32", "bf16", "bf16"] => Arithmetic::Half(Factor::Bf16, Sums::F32),
        ["f32", "tf32", "tf32"] => Arithmetic::Tf32,
        ["f32", "e4m3", "e4m3"] => Arithmetic::E4m3,
        ["s32", "b1", "b1", "and", "popc"] => Arithmetic::Bits(BitOp::And),
        ["s32", a, b] | ["s32", a, b, "satfinite"] | ["satfinite", "s32", a, b] => {
            let factors = [integer(a)?, integer(b)?];
            if factors.iter().any(|factor| factor.bits != 8) {
                return None;
            }
            Arithmetic::Integer {
                factors,
                saturate: formats.len() == 4,
            }
        }
        _ => return None,
    })
}

/// The shapes for these factors (PTX ISA, "Matrix Shape" of `wgmma`): 32 bytes along K.
fn product(shape: &str, arithmetic: Arithmetic) -> Option<MatrixProduct> {
    let (factors, sums) = formats_of(arithmetic);
    let k = 256 / bits_of(factors);
    let n = shape.strip_prefix("m64n")?.strip_suffix(&format!("k{k}"))?;
    let n = n.parse::<u32>().ok()?;
    let step = match arithmetic {
        // N = 24 is also allowed.
        Arithmetic::Integer { .. } | Arithmetic::Bits(_) if n > 32 => 16,
        _ => 8,
    };
    let exists = (8..=256).contains(&n) && n.is_multiple_of(step);
    exists.then_some(MatrixProduct {
        m: 64,
        n,
        k,
        factors,
        sums,
    })
}

/// Keeps the registers of every `wgmma` live until the waits: until then the hardware may read and write
/// them, so they must not be reused.
pub(super) fn hold_registers(ops: &mut [Op]) {
    let mut held: Vec<u32> = Vec::new();
    for op in ops.iter() {
        if let Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Mma(wgmma))) = &op.code {
            held.extend(wgmma.registers());
        }
    }
    held.sort_unstable();
    held.dedup();
    for op in ops {
        if let Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Wait { regs, .. })) = &mut op.code {
            *regs = held.clone().into();
        }
    }
}

/// For each operation that is not a `wgmma`, the registers of any `wgmma` that it accesses, and whether it
/// writes them. Empty if there is no `wgmma`.
pub(super) fn watched(ops: &mut [Op], b32: usize) -> Vec<Box<[(u32, bool)]>> {
    let mut held = vec![false; b32];
    let mut any = false;
    for op in ops.iter() {
        let Code::Matrix(MatrixOp::Wgmma(op)) = &op.code else {
            continue;
        };
        any = true;
        if let WgmmaOp::Mma(wgmma) = op {
            wgmma.registers().for_each(|reg| held[reg as usize] = true);
        }
    }
    if !any {
        return Vec::new();
    }
    ops.iter_mut()
        .map(|op| {
            let mut list = Vec::new();
            // `wgmma` and its waits have checks of their own.
            if let Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Mma(_) | WgmmaOp::Wait { .. })) = op.code {
                return list.into();
            }
            op.registers(|role, class, reg| {
                if class == Class::B32 && held[*reg as usize] {
                    list.push((*reg, role == DefUse::Def));
                }
            });
            list.into()
        })
        .collect()
}

impl Wgmma {
    /// The registers of A, if it is in registers.
    pub fn a_registers(&self) -> &[u32] {
        match &self.a {
            WgmmaA::Registers(regs) => regs,
            WgmmaA::Descriptor(_) => &[],
        }
    }

    /// The registers of the accumulators, and of A if it is in registers.
    fn registers(&self) -> impl Iterator<Item = u32> {
        self.d.iter().chain(self.a_registers()).copied()
    }
}
