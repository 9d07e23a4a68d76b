//! `wmma` of m8n8: f64 (k4), 4 bits (k32) and single bits (k128); PTX ISA, "WMMA Data types and shapes", "Sub-byte Operations".
//!
//! Fragments are those of `mma.sync` of the same shape, one block each: lane `4 g + t` holds element t, or packed word
//! t, of A's row g and of B's column g; and columns 2 t and 2 t + 1 of C's row g. Recorded: wmma_layout_more.csv.
use super::mma::{formats_of, integer};
use super::{Lowering, Result};
use crate::op::{Address, Class, LoadStore, MatrixOp, Mma, Order};
use crate::ptx::{Instr, Operand};
use crate::tensor::{Arithmetic, BitOp};
use crate::{MatrixProduct, Space};

/// Elements of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Double,
    /// Factors of this many bits, packed in words.
    Packed(u32),
    /// `.s32` sums.
    Word,
}

/// A fragment in memory.
#[derive(Clone, Copy, Debug)]
struct Fragment {
    is_sum: bool,
    element: Element,
    /// Whether the elements of a lane are contiguous in memory: A and C by rows, B by columns.
    straight: bool,
    /// The default number of elements from one row of memory to the next.
    stride: u32,
    space: Space,
}

impl Fragment {
    /// `.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE` after `wmma.load.a` and similar opcodes.
    fn parse(matrix: &str, parts: &[&str]) -> Option<Self> {
        let [
            "sync",
            "aligned",
            layout @ ("row" | "col"),
            shape,
            rest @ ..,
        ] = parts
        else {
            return None;
        };
        let (space, ty) = match rest {
            [ty] => (Space::Generic, *ty),
            ["global", ty] => (Space::Global, *ty),
            ["shared" | "shared::cta", ty] => (Space::Shared, *ty),
            _ => return None,
        };
        let is_sum = matches!(matrix, "c" | "d");
        let (element, depth) = match (*shape, ty, is_sum) {
            ("m8n8k4", "f64", _) => (Element::Double, 4),
            ("m8n8k32", "s4" | "u4", false) => (Element::Packed(4), 32),
            ("m8n8k128", "b1", false) => (Element::Packed(1), 128),
            ("m8n8k32" | "m8n8k128", "s32", true) => (Element::Word, 0),
            _ => return None,
        };
        let straight = (*layout == "row") == (matrix != "b");
        // PTX ISA: packed factors are row-major for A and column-major for B.
        if matches!(element, Element::Packed(_)) && !straight {
            return None;
        }
        Some(Self {
            is_sum,
            element,
            straight,
            stride: if is_sum || !straight { 8 } else { depth },
            space,
        })
    }

    fn bytes(self) -> u32 {
        match self.element {
            Element::Double => 8,
            Element::Packed(_) | Element::Word => 4,
        }
    }

    fn class(self) -> Class {
        match self.element {
            Element::Double => Class::B64,
            Element::Packed(_) | Element::Word => Class::B32,
        }
    }
}

impl Lowering<'_> {
    /// Lowers the instruction if it is one of this file; returns whether it is.
    pub(super) fn wmma_small(&mut self, instr: &Instr) -> Result<bool> {
        let parts: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        match parts[..] {
            ["load", matrix @ ("a" | "b" | "c"), ref rest @ ..] => {
                let Some(fragment) = Fragment::parse(matrix, rest) else {
                    return Ok(false);
                };
                let [d, address @ ..] = &instr.operands[..] else {
                    return Err(instr.wrong_count());
                };
                self.small_accesses(instr, fragment, d, address, false)?;
            }
            ["store", "d", ref rest @ ..] => {
                let Some(fragment) = Fragment::parse("d", rest) else {
                    return Ok(false);
                };
                let [address, a, stride @ ..] = &instr.operands[..] else {
                    return Err(instr.wrong_count());
                };
                let place: Vec<Operand> = [address].into_iter().chain(stride).cloned().collect();
                self.small_accesses(instr, fragment, a, &place, true)?;
            }
            [
                "mma",
                "sync",
                "aligned",
                "row" | "col",
                "row" | "col",
                "m8n8k4",
                ref formats @ ..,
            ] => match formats {
                ["f64", "f64", "f64", "f64"]
                | ["rn", "f64", "f64", "f64", "f64"]
                | ["f64", "f64", "f64", "f64", "rn"] => {
                    self.mma_f64(instr, 8, 4)?;
                }
                _ => return Ok(false),
            },
            [
                "mma",
                "sync",
                "aligned",
                "row",
                "col",
                "m8n8k32",
                "s32",
                a,
                b,
                "s32",
                ref rest @ ..,
            ] => {
                let factors = [integer(a), integer(b)];
                let ([Some(a), Some(b)], [] | ["satfinite"]) = (factors, rest) else {
                    return Ok(false);
                };
                if a.bits != 4 || a != b {
                    return Ok(false);
                }
                let arithmetic = Arithmetic::Integer {
                    factors: [a, b],
                    saturate: !rest.is_empty(),
                };
                self.small_product(instr, arithmetic, 32)?;
            }
            [
                "mma",
                op @ ("and" | "xor"),
                "popc",
                "sync",
                "aligned",
                "row",
                "col",
                "m8n8k128",
                "s32",
                "b1",
                "b1",
                "s32",
            ] => {
                let op = if op == "and" { BitOp::And } else { BitOp::Xor };
                self.small_product(instr, Arithmetic::Bits(op), 128)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn small_product(&mut self, instr: &Instr, arithmetic: Arithmetic, k: u32) -> Result<()> {
        let (factors, sums) = formats_of(arithmetic);
        let [d, a, b, c] = self.operands::<4>(instr)?;
        let mut mma = Mma {
            arithmetic,
            product: MatrixProduct {
                m: 8,
                n: 8,
                k,
                factors,
                sums,
            },
            rows: 8,
            row: 16,
            d: [0; 4],
            a: [0; 4],
            b: [0; 2],
            c: [0; 4],
        };
        mma.d = self.b32_array(instr, d, 2, true)?;
        mma.a = self.b32_array(instr, a, 1, false)?;
        mma.b = self.b32_array(instr, b, 1, false)?;
        mma.c = self.b32_array(instr, c, 2, false)?;
        self.push(MatrixOp::Mma(Box::new(mma)));
        Ok(())
    }

    /// The loads or stores of a fragment: one if a lane's elements are contiguous, otherwise one for each element.
    fn small_accesses(
        &mut self,
        instr: &Instr,
        fragment: Fragment,
        registers: &Operand,
        place: &[Operand],
        store: bool,
    ) -> Result<()> {
        let (address, stride) = match place {
            [address] => (address, None),
            [address, stride] => (address, Some(stride)),
            _ => return Err(instr.wrong_count()),
        };
        let count = if fragment.is_sum { 2 } else { 1 };
        let regs = self.list_of(instr, registers, fragment.class(), count)?;
        let Address { base, offset } = self.address(instr, address)?;
        let base = self.widen(instr, base, Class::B64)?;
        let elements = match stride {
            Some(stride) => self.source(instr, stride, Class::B32)?,
            None => self.constant(Class::B32, fragment.stride.into()),
        };
        let bytes = fragment.bytes();
        // A separate register, because the loads may overwrite the operand's.
        let stride = match fragment.element {
            // This is a whole number of bytes, because the stride is a multiple of 32 or 128 elements.
            Element::Packed(bits) => self.shifted_right(elements, (8 / bits).ilog2()),
            Element::Double | Element::Word => self.multiplied(elements, bytes),
        };
        if fragment.space != Space::Global {
            self.program.grain = self.program.grain.min(bytes);
        }
        let [g, t] = self.lane_parts();
        let t = self.multiplied(t, count);
        let (row, column) = if fragment.straight { (g, t) } else { (t, g) };
        let column = self.multiplied(column, bytes);
        let at = self.mad_wide(row, stride, base);
        let one = self.constant(Class::B32, 1);
        let mut at = self.mad_wide(column, one, at);
        let each = if fragment.straight { count as usize } else { 1 };
        for regs in regs.chunks(each) {
            let mut list = [0; 4];
            list[..regs.len()].copy_from_slice(regs);
            let access = Box::new(LoadStore {
                space: fragment.space,
                address: Address { base: at, offset },
                bytes,
                count: regs.len() as u32,
                signed: false,
                class: fragment.class(),
                regs: list,
                slot: self.slot(),
                order: Order::default(),
            });
            match store {
                true => self.push(crate::op::LaneOp::Store(access)),
                false => self.push(crate::op::LaneOp::Load(access)),
            }
            at = self.mad_wide(stride, one, at);
        }
        Ok(())
    }

    /// A list of `count` registers of a class.
    fn list_of(
        &mut self,
        instr: &Instr,
        operand: &Operand,
        class: Class,
        count: u32,
    ) -> Result<Vec<u32>> {
        let elements = operand.elements();
        if elements.len() != count as usize {
            let given = elements.len();
            return Err(instr.wrong(format!("names {given} registers where it needs {count}")));
        }
        let register = |one: &Operand| match one {
            Operand::Register(id) if self.reg(*id).class == class => Ok(self.reg(*id).index),
            _ => Err(super::operand::wrong_registers(instr)),
        };
        elements.iter().map(register).collect()
    }
}
