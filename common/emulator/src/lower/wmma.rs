//! `wmma`: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions". Its fragments are opaque in PTX; the emulator
//! uses those of an H100 (recorded: wmma_layout.csv). Each instruction is lowered as ptxas 13.0 compiles it for sm_90a:
//! `wmma.mma` to two `mma.sync` (four for tf32), loads and stores as in `wmma_memory.rs`.
use super::mma::formats_of;
use super::{Lowering, Result};
use crate::op::{Class, ColdOp, LaneOp, MatrixOp, Mma, Reg};
use crate::ptx::Instr;
use crate::tensor::{Arithmetic, Factor, Sums};
use crate::{MatrixProduct, Space};

/// A shape of `wmma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub m: u32,
    pub n: u32,
    pub k: u32,
}

impl Shape {
    fn parse(part: &str) -> Option<Self> {
        let (m, n, k) = match part {
            "m16n16k16" => (16, 16, 16),
            "m32n8k16" => (32, 8, 16),
            "m8n32k16" => (8, 32, 16),
            "m16n16k8" => (16, 16, 8),
            _ => return None,
        };
        Some(Self { m, n, k })
    }

    /// m8n32 is computed as the transposed product: B's columns take the role of A's rows.
    pub fn is_transposed(self) -> bool {
        self.m < self.n
    }
}

/// The matrix of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matrix {
    A,
    B,
    /// C or D.
    C,
}

/// Format of a fragment's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// `.f16` and `.bf16` factors.
    Half(Factor),
    Tf32,
    /// `.s8`, `.u8`
    Byte,
    /// `.f16` sums.
    HalfSum,
    /// `.f32`, `.s32` sums.
    WordSum,
}

/// A fragment in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub matrix: Matrix,
    pub shape: Shape,
    pub element: Element,
    /// `.row`, otherwise `.col`.
    pub row_major: bool,
    pub space: Space,
}

impl Fragment {
    /// `.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE` after `wmma.load.a` and similar opcodes.
    fn parse(matrix: Matrix, parts: &[&str]) -> Option<Self> {
        let (layout, shape, space, ty) = match parts {
            ["sync", "aligned", layout, shape, ty] => (layout, shape, Space::Generic, ty),
            ["sync", "aligned", layout, shape, "global", ty] => (layout, shape, Space::Global, ty),
            [
                "sync",
                "aligned",
                layout,
                shape,
                "shared" | "shared::cta",
                ty,
            ] => (layout, shape, Space::Shared, ty),
            _ => return None,
        };
        let shape = Shape::parse(shape)?;
        let element = match (matrix, *ty) {
            (Matrix::A | Matrix::B, "f16") => Element::Half(Factor::F16),
            (Matrix::A | Matrix::B, "bf16") => Element::Half(Factor::Bf16),
            (Matrix::A | Matrix::B, "tf32") => Element::Tf32,
            (Matrix::A | Matrix::B, "s8" | "u8") => Element::Byte,
            (Matrix::C, "f16") => Element::HalfSum,
            (Matrix::C, "f32" | "s32") => Element::WordSum,
            _ => return None,
        };
        let is_short = shape.k == 8;
        let fits = match element {
            Element::Tf32 => is_short,
            // With tf32 factors, sums are f32.
            Element::WordSum => !is_short || *ty == "f32",
            Element::Half(_) | Element::Byte | Element::HalfSum => !is_short,
        };
        fits.then_some(Self {
            matrix,
            shape,
            element,
            row_major: match *layout {
                "row" => true,
                "col" => false,
                _ => return None,
            },
            space,
        })
    }
}

impl Lowering<'_> {
    pub(super) fn wmma(&mut self, instr: &Instr) -> Result<()> {
        if self.wmma_small(instr)? {
            return Ok(());
        }
        let parts: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        let unsupported = || instr.unsupported();
        match parts[..] {
            [
                "mma",
                "sync",
                "aligned",
                "row" | "col",
                "row" | "col",
                shape,
                ref formats @ ..,
            ] => {
                let shape = Shape::parse(shape).ok_or_else(unsupported)?;
                let formats = Formats::parse(shape, formats).ok_or_else(unsupported)?;
                self.wmma_product(instr, shape, formats)
            }
            ["load", matrix @ ("a" | "b" | "c"), ref rest @ ..] => {
                let matrix = match matrix {
                    "a" => Matrix::A,
                    "b" => Matrix::B,
                    _ => Matrix::C,
                };
                let fragment = Fragment::parse(matrix, rest).ok_or_else(unsupported)?;
                self.wmma_load(instr, fragment)
            }
            ["store", "d", ref rest @ ..] => {
                let fragment = Fragment::parse(Matrix::C, rest).ok_or_else(unsupported)?;
                self.wmma_store(instr, fragment)
            }
            _ => Err(unsupported()),
        }
    }

    fn wmma_product(&mut self, instr: &Instr, shape: Shape, formats: Formats) -> Result<()> {
        let Formats {
            arithmetic,
            element,
            d,
            c,
        } = formats;
        let [d_operand, a, b, c_operand] = self.operands::<4>(instr)?;
        let fragment = |matrix, element| Fragment {
            matrix,
            shape,
            element,
            row_major: true,
            space: Space::Generic,
        };
        let count = |matrix, element| fragment(matrix, element).registers();
        let d_regs = self.b32_list(instr, d_operand, count(Matrix::C, d), true)?;
        let a = self.b32_list(instr, a, count(Matrix::A, element), false)?;
        let b = self.b32_list(instr, b, count(Matrix::B, element), false)?;
        let c_regs = self.b32_list(instr, c_operand, count(Matrix::C, c), false)?;
        // An f16 addend of f32 sums and an f16 result of them need separate conversions.
        let c_regs = match c == Element::HalfSum && !arithmetic.is_packed() {
            true => self.widened(&c_regs),
            false => c_regs,
        };
        let narrows = d == Element::HalfSum && !arithmetic.is_packed();
        // An earlier step must not overwrite what a later one reads.
        let overlaps = d_regs.iter().enumerate().any(|(i, d)| {
            let c = c_regs.iter().position(|c| c == d);
            a.contains(d) || b.contains(d) || c.is_some_and(|at| at != i)
        });
        let sums: Vec<u32> = match narrows || overlaps {
            true => {
                let count = if arithmetic.is_packed() { 4 } else { 8 };
                (0..count).map(|_| self.temp(Class::B32).index).collect()
            }
            false => d_regs.clone(),
        };
        let (tall, wide) = match shape.is_transposed() {
            true => (&b, &a),
            false => (&a, &b),
        };
        for step in steps(shape, arithmetic) {
            // Later steps add to the results of the first ones.
            let addend = if step.first { &c_regs } else { &sums };
            let mma = self.part_of(arithmetic, shape, &step, [tall, wide, addend, &sums]);
            self.push(MatrixOp::Mma(Box::new(mma)));
        }
        if narrows {
            for (d, pair) in d_regs.iter().zip(sums.chunks_exact(2)) {
                self.pack_f16(*d, pair);
            }
        } else if overlaps {
            for (&d, &sum) in d_regs.iter().zip(&sums) {
                self.push(LaneOp::MoveB32([d, sum]));
            }
        }
        Ok(())
    }

    /// One `mma.sync` of a `wmma.mma`.
    fn part_of(
        &self,
        arithmetic: Arithmetic,
        shape: Shape,
        step: &Step,
        [tall, wide, c, d]: [&[u32]; 4],
    ) -> Mma {
        let (factors, sums) = formats_of(arithmetic);
        let mut mma = Mma {
            arithmetic,
            product: MatrixProduct {
                m: shape.m,
                n: shape.n,
                k: shape.k,
                factors,
                sums,
            },
            rows: 16,
            row: step.row,
            d: [0; 4],
            a: [0; 4],
            b: [0; 2],
            c: [0; 4],
        };
        let [a_count, b_count, c_count] = mma.counts();
        let copy = |to: &mut [u32], from: &[u32], at: usize| {
            for (to, from) in to.iter_mut().zip(from.iter().skip(at)) {
                *to = *from;
            }
        };
        copy(&mut mma.a[..a_count], tall, step.tall);
        copy(&mut mma.b[..b_count], wide, step.wide);
        copy(&mut mma.c[..c_count], c, step.half * c_count);
        copy(&mut mma.d[..c_count], d, step.half * c_count);
        mma
    }

    /// Converts packed f16 pairs to f32.
    fn widened(&mut self, pairs: &[u32]) -> Vec<u32> {
        let mut widened = Vec::new();
        for &pair in pairs {
            let halves = [self.temp(Class::B32), self.temp(Class::B32)];
            self.push_always(ColdOp::Unpack(16, halves.into(), b32(pair)));
            for half in halves {
                self.push_always(LaneOp::F16ToF32([half.index, half.index]));
                widened.push(half.index);
            }
        }
        widened
    }

    /// Converts two f32 to f16 packed in one register.
    fn pack_f16(&mut self, d: u32, pair: &[u32]) {
        for &half in pair {
            self.push_always(LaneOp::F32ToF16([half, half]));
        }
        let halves = pair.iter().copied().map(b32).collect();
        self.push(ColdOp::Pack(16, b32(d), halves));
    }
}

fn b32(index: u32) -> Reg {
    Reg {
        class: Class::B32,
        index,
    }
}

/// Formats of a `wmma.mma`.
struct Formats {
    arithmetic: Arithmetic,
    element: Element,
    d: Element,
    c: Element,
}

impl Formats {
    /// `D.C` for f16, `D.A.B.C` for all others.
    fn parse(shape: Shape, formats: &[&str]) -> Option<Self> {
        let sum = |name: &str| match name {
            "f16" => Some(Element::HalfSum),
            "f32" => Some(Element::WordSum),
            _ => None,
        };
        let is_short = shape.k == 8;
        match formats {
            [d, c] if !is_short => {
                let (d, c) = (sum(d)?, sum(c)?);
                let sums = match (d, c) {
                    (Element::HalfSum, Element::HalfSum) => Sums::F16,
                    _ => Sums::F32,
                };
                Some(Self {
                    arithmetic: Arithmetic::Half(Factor::F16, sums),
                    element: Element::Half(Factor::F16),
                    d,
                    c,
                })
            }
            ["f32", "bf16", "bf16", "f32"] if !is_short => {
                let arithmetic = Arithmetic::Half(Factor::Bf16, Sums::F32);
                Some(Self::words(arithmetic, Element::Half(Factor::Bf16)))
            }
            ["f32", "tf32", "tf32", "f32"] if is_short => {
                Some(Self::words(Arithmetic::Tf32, Element::Tf32))
            }
            ["s32", a, b, "s32", rest @ ..] if !is_short && a == b => {
                let factor = super::mma::integer(a).filter(|factor| factor.bits == 8)?;
                let saturate = match rest {
                    [] => false,
                    ["satfinite"] => true,
                    _ => return None,
                };
                let arithmetic = Arithmetic::Integer {
                    factors: [factor; 2],
                    saturate,
                };
                Some(Self::words(arithmetic, Element::Byte))
            }
            _ => None,
        }
    }

    fn words(arithmetic: Arithmetic, element: Element) -> Self {
        Self {
            arithmetic,
            element,
            d: Element::WordSum,
            c: Element::WordSum,
        }
    }
}

/// One `mma.sync`, and where its registers begin in the fragments.
struct Step {
    /// Bytes of a row.
    row: u32,
    tall: usize,
    wide: usize,
    /// Which half of the sums it computes.
    half: usize,
    /// Whether it adds to C.
    first: bool,
}

/// All steps of a `wmma.mma`, in order.
fn steps(shape: Shape, arithmetic: Arithmetic) -> Vec<Step> {
    let (row, tall, wide) = match arithmetic {
        // K is split into two halves of four: k 0 to 3 first.
        Arithmetic::Tf32 => {
            let step = |i: usize| Step {
                row: 16,
                tall: i / 2 * 2,
                wide: i % 2 * 2 + i / 2,
                half: i % 2,
                first: i < 2,
            };
            return (0..4).map(step).collect();
        }
        Arithmetic::Integer { .. } => (16, 2, 1),
        Arithmetic::Half(..)
        | Arithmetic::Unpacked(..)
        | Arithmetic::E4m3
        | Arithmetic::Bits(_) => (32, 4, 2),
    };
    // There are two blocks either of columns or of rows.
    let square = shape.m == shape.n;
    let step = |half: usize| Step {
        row,
        tall: if square { 0 } else { half * tall },
        wide: if square { half * wide } else { 0 },
        half,
        first: true,
    };
    (0..2).map(step).collect()
}
