//! `mma.sync`: PTX ISA, "Matrix multiply-accumulate operation using mma instruction".
use super::operand::wrong_registers;
use super::{Lowering, Result};
use crate::op::{Class, MatrixOp, Mma, MmaF64};
use crate::ptx::{Instr, Operand};
use crate::tensor::{Arithmetic, BitOp, Factor, Fp8, Integer, Sums};
use crate::{FactorFormat, MatrixProduct, SumFormat};

impl Lowering<'_> {
    /// `mma.sync.aligned.SHAPE.row.col{.satfinite}.D.A.B.C{.OP.popc}`
    pub(super) fn mma(&mut self, instr: &Instr) -> Result<()> {
        let parts: Vec<&str> = instr.opcode.iter().map(String::as_str).collect();
        let ["mma", "sync", "aligned", shape, "row", "col", formats @ ..] = &parts[..] else {
            return Err(instr.unsupported());
        };
        if let ["f64", "f64", "f64", "f64"] = formats {
            let [rows, depth] = match *shape {
                "m8n8k4" => [8, 4],
                "m16n8k4" => [16, 4],
                "m16n8k8" => [16, 8],
                "m16n8k16" => [16, 16],
                _ => return Err(instr.unsupported()),
            };
            return self.mma_f64(instr, rows, depth);
        }
        let arithmetic = arithmetic(formats).ok_or_else(|| instr.unsupported())?;
        let (factors, sums) = formats_of(arithmetic);
        let product = product(shape, factors, sums);
        let product = product.ok_or_else(|| instr.unsupported())?;
        let mut mma = Mma {
            arithmetic,
            product,
            rows: product.m,
            row: product.k * bits_of(factors) / 8,
            d: [0; 4],
            a: [0; 4],
            b: [0; 2],
            c: [0; 4],
        };
        let [d, a, b, c] = self.operands::<4>(instr)?;
        let [a_count, b_count, c_count] = mma.counts();
        mma.d = self.b32_array(instr, d, c_count, true)?;
        mma.a = self.b32_array(instr, a, a_count, false)?;
        mma.b = self.b32_array(instr, b, b_count, false)?;
        mma.c = self.b32_array(instr, c, c_count, false)?;
        self.push(MatrixOp::Mma(Box::new(mma)));
        Ok(())
    }

    /// An f64 product: a lane holds one element of A or B in each register.
    pub(super) fn mma_f64(&mut self, instr: &Instr, rows: u32, depth: u32) -> Result<()> {
        let [d, a, b, c] = self.operands::<4>(instr)?;
        let register = |operand: &Operand| match operand {
            Operand::Register(id) if self.reg(*id).class == Class::B64 => Ok(self.reg(*id).index),
            _ => Err(wrong_registers(instr)),
        };
        let counts = [rows / 4, rows * depth / 32, depth / 4, rows / 4];
        let mut lists: [Box<[u32]>; 4] = Default::default();
        for ((list, operand), count) in lists.iter_mut().zip([d, a, b, c]).zip(counts) {
            let elements = operand.elements();
            if elements.len() != count as usize {
                let [d, a, b, c] = counts;
                return Err(instr.wrong(format!("takes {d}, {a}, {b} and {c} registers")));
            }
            *list = elements.iter().map(register).collect::<Result<_>>()?;
        }
        let [d, a, b, c] = lists;
        let mma = MmaF64 {
            rows,
            depth,
            a,
            b,
            c,
            d,
        };
        self.push(MatrixOp::MmaF64(Box::new(mma)));
        Ok(())
    }
}

/// The arithmetic for the formats of D, A, B and C; whether the shape supports them is checked elsewhere.
fn arithmetic(formats: &[&str]) -> Option<Arithmetic> {
    let (saturate, formats) = match formats {
        ["satfinite", rest @ ..] => (true, rest),
        all => (false, all),
    };
    let arithmetic = match formats {
        [d @ ("f32" | "f16"), a, b, c] if d == c => {
            let sums = if *d == "f16" { Sums::F16 } else { Sums::F32 };
            match (*a, *b, sums) {
                ("f16", "f16", _) => Arithmetic::Half(Factor::F16, sums),
                ("bf16", "bf16", Sums::F32) => Arithmetic::Half(Factor::Bf16, sums),
                ("tf32", "tf32", Sums::F32) => Arithmetic::Tf32,
                (a, b, _) => Arithmetic::Unpacked([fp8(a)?, fp8(b)?], sums),
            }
        }
        ["s32", "b1", "b1", "s32", op @ ("and" | "xor"), "popc"] => Arithmetic::Bits(match *op {
            "xor" => BitOp::Xor,
            _ => BitOp::And,
        }),
        ["s32", a, b, "s32"] => {
            let factors = [integer(a)?, integer(b)?];
            if factors[0].bits != factors[1].bits {
                return None;
            }
            Arithmetic::Integer { factors, saturate }
        }
        _ => return None,
    };
    // ptxas compiles 4-bit products to several products without C, and one saturating sum of these and C (recorded).
    let may_saturate = matches!(arithmetic, Arithmetic::Integer { .. });
    (may_saturate || !saturate).then_some(arithmetic)
}

fn fp8(format: &str) -> Option<Fp8> {
    match format {
        "e4m3" => Some(Fp8::E4m3),
        "e5m2" => Some(Fp8::E5m2),
        _ => None,
    }
}

/// An integer format.
pub(super) fn integer(format: &str) -> Option<Integer> {
    let (bits, signed) = match format {
        "s8" => (8, true),
        "u8" => (8, false),
        "s4" => (4, true),
        "u4" => (4, false),
        _ => return None,
    };
    Some(Integer { bits, signed })
}

/// The formats by name.
pub(super) fn formats_of(arithmetic: Arithmetic) -> (FactorFormat, SumFormat) {
    let named = |sums| match sums {
        Sums::F16 => SumFormat::F16,
        Sums::F32 => SumFormat::F32,
    };
    match arithmetic {
        Arithmetic::Half(Factor::F16, sums) => (FactorFormat::F16, named(sums)),
        Arithmetic::Half(Factor::Bf16, sums) => (FactorFormat::Bf16, named(sums)),
        Arithmetic::Tf32 => (FactorFormat::Tf32, SumFormat::F32),
        Arithmetic::Unpacked(_, sums) => (FactorFormat::Fp8, named(sums)),
        Arithmetic::E4m3 => (FactorFormat::Fp8, SumFormat::F32),
        Arithmetic::Integer { factors, .. } if factors[0].bits == 4 => {
            (FactorFormat::Int4, SumFormat::Int32)
        }
        Arithmetic::Integer { .. } => (FactorFormat::Int8, SumFormat::Int32),
        Arithmetic::Bits(_) => (FactorFormat::Bit, SumFormat::Int32),
    }
}

/// Bits of an element in its register.
pub(super) fn bits_of(factors: FactorFormat) -> u32 {
    match factors {
        FactorFormat::F16 | FactorFormat::Bf16 => 16,
        FactorFormat::Tf32 => 32,
        FactorFormat::Fp8 | FactorFormat::Int8 => 8,
        FactorFormat::F64 => 64,
        FactorFormat::Int4 => 4,
        FactorFormat::Bit => 1,
    }
}

/// The shapes for these factors (PTX ISA, "Matrix Shape").
fn product(shape: &str, factors: FactorFormat, sums: SumFormat) -> Option<MatrixProduct> {
    use FactorFormat::*;
    let (m, k) = match (factors, shape) {
        (F16 | Bf16 | Tf32, "m16n8k8") => (16, 8),
        (F16 | Bf16 | Int8 | Fp8, "m16n8k16") => (16, 16),
        (Tf32, "m16n8k4") => (16, 4),
        (Int8, "m8n8k16") => (8, 16),
        (Int8 | Fp8 | Int4, "m16n8k32") => (16, 32),
        (Int4, "m8n8k32") => (8, 32),
        (Int4, "m16n8k64") => (16, 64),
        (Bit, "m8n8k128") => (8, 128),
        (Bit, "m16n8k128") => (16, 128),
        (Bit, "m16n8k256") => (16, 256),
        _ => return None,
    };
    Some(MatrixProduct {
        m,
        n: 8,
        k,
        factors,
        sums,
    })
}
