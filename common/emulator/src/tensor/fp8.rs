//! fp8 factors. On Hopper, tensor cores support them in `wgmma` but not in `mma.sync`.
//!
//! `mma.sync`: ptxas unpacks the factors to f16 (`F2FP.F16.E4M3.UNPACK_B`), first the two low elements of each
//! register, then the two high ones, and generates two chained f16 products, the first added to 0; an ordinary addition
//! (`FADD`, `HADD2`) adds C. Source: machine code of ptxas 13.0 for sm_90a; for e4m3 the results are also recorded.
//!
//! `wgmma` with e4m3 and f32 sums, recorded: the rule of the parent module, with 13 bits kept below E and a result
//! mantissa of 13 bits, the others zero.
use super::format::{Format, Sums};
use super::{M, N, cut_sum};
use crate::lower::{F16, Rounding, f16_to_f64, narrow};

/// Bits kept below E, and mantissa bits of the result.
const KEPT: i32 = 13;

/// An 8-bit floating-point format of `mma.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fp8 {
    E4m3,
    /// The upper half of an f16.
    E5m2,
}

impl Fp8 {
    /// Converts to f16, which represents every fp8 number.
    pub fn to_f16(self, bits: u8) -> u16 {
        let bits = u16::from(bits);
        match self {
            Self::E5m2 if bits & 0x7f > 0x7c => 0x7fff,
            Self::E5m2 => bits << 8,
            Self::E4m3 => {
                let (sign, magnitude) = (bits >> 7 << 15, bits & 0x7f);
                match magnitude {
                    0x7f => 0x7fff,
                    // Subnormal: eighths of 2^-6.
                    0..8 => {
                        sign | half::f16::from_f32_const(f32::from(magnitude) / 512.0).to_bits()
                    }
                    _ => sign | ((magnitude << 7) + (8 << 10)),
                }
            }
        }
    }
}

/// The f16 factors of one of the two products: the low or the high two bytes of each word. A row of A or a column of B
/// is given as 16-bit halves of words.
pub(super) fn unpacked(format: Fp8, part: usize, halves: &[u16; 16]) -> [u16; 16] {
    std::array::from_fn(|i| {
        let pair = halves[i / 2 * 2 + part].to_le_bytes();
        format.to_f16(pair[i % 2])
    })
}

/// Adds C by an ordinary instruction.
pub(super) fn add(sums: Sums, product: u32, c: u32) -> u32 {
    match sums {
        Sums::F32 => {
            let sum = f32::from_bits(product) + f32::from_bits(c);
            if sum.is_nan() {
                sums.nan()
            } else {
                sum.to_bits()
            }
        }
        // The sum of two f16 is exact in f64.
        Sums::F16 => {
            let [a, b] = [product, c].map(|bits| f16_to_f64(bits.into()));
            narrow(a + b, F16, Rounding::Rn)
        }
    }
}

/// `wgmma`: 32 products of e4m3 for each output. A is given by rows, B by columns.
pub(super) fn wide(a: &[[u8; 32]; M], b: &[[u8; 32]; N], c: &[u32; M * N]) -> [u32; M * N] {
    std::array::from_fn(|i| {
        let products = a[i / N].iter().zip(&b[i % N]);
        let products = products.map(|(&a, &b)| (a.into(), b.into()));
        let bits = cut_sum(KEPT, Format::E4m3, Sums::F32, products, c[i]);
        match f32::from_bits(bits) {
            d if d.is_finite() => bits & (u32::MAX << (23 - KEPT)),
            _ => bits,
        }
    })
}
