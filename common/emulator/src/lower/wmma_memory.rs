//! Loads and stores of `wmma` fragments, with the accesses that ptxas 13.0 generates for sm_90a.
//!
//! A fragment consists of blocks of 8 rows: rows of A, columns of B, rows of C (columns for m8n32). A lane's share of a
//! block is contiguous along K, or along the other dimension of C: lane 4 g + t has row g, 4 bytes from 4 t on, or 2
//! sums from 2 t on. If memory is contiguous along the same dimension, that is one access. Otherwise 16-bit elements
//! are loaded in their order in memory and transposed in the warp (`movmatrix`), and all others are loaded one by one.
//! Factors in shared memory are loaded by `ldmatrix` if elements have 16 bits or need no transposition.
use super::wmma::{Element, Fragment, Matrix};
use super::{Lowering, Result};
use crate::Space;
use crate::op::{
    Address, B32Op, Class, ColdOp, LaneOp, LoadStore, MatrixMove, MatrixOp, Order, Reg,
};
use crate::program::{Fixed, Special};
use crate::ptx::{Instr, Operand};

/// A block of 8 rows that starts at `row`, and where its lanes' elements begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    row: u32,
    along: u32,
}

impl Element {
    fn bytes(self) -> u32 {
        match self {
            Self::Half(_) | Self::HalfSum => 2,
            Self::Tf32 | Self::WordSum => 4,
            Self::Byte => 1,
        }
    }

    /// Elements of a lane in a block.
    fn each(self) -> u32 {
        match self {
            Self::Half(_) | Self::HalfSum | Self::WordSum => 2,
            Self::Tf32 => 1,
            Self::Byte => 4,
        }
    }

    /// Registers of a block.
    fn registers(self) -> u32 {
        self.bytes() * self.each() / 4
    }
}

impl Fragment {
    /// Its rows take the role of A's rows in `mma.sync`.
    fn is_tall(&self) -> bool {
        (self.matrix == Matrix::A) != self.shape.is_transposed()
    }

    /// Rows of its blocks.
    fn rows(&self) -> u32 {
        let shape = self.shape;
        match self.matrix {
            Matrix::A => shape.m,
            Matrix::B => shape.n,
            Matrix::C => shape.m.max(shape.n),
        }
    }

    /// Whether memory is contiguous along the same dimension as a lane's elements.
    fn is_straight(&self) -> bool {
        match self.matrix {
            Matrix::A => self.row_major,
            Matrix::B => !self.row_major,
            Matrix::C => self.row_major != self.shape.is_transposed(),
        }
    }

    /// Its blocks in the order of their registers.
    fn blocks(&self) -> Vec<Block> {
        let rows = (0..self.rows()).step_by(8);
        // Elements of a block along its rows.
        let wide = 4 * self.element.each();
        let second = match self.matrix {
            Matrix::A | Matrix::B => (self.shape.k > wide).then_some(wide),
            Matrix::C => (self.shape.m == self.shape.n).then_some(8),
        };
        let block = |row, along| Block { row, along };
        let Some(second) = second else {
            return rows.map(|row| block(row, 0)).collect();
        };
        match self.matrix {
            Matrix::A | Matrix::B if self.is_tall() => (0..self.rows())
                .step_by(16)
                .flat_map(|row| [(row, 0), (row + 8, 0), (row, second), (row + 8, second)])
                .map(|(row, along)| block(row, along))
                .collect(),
            Matrix::A | Matrix::B => rows
                .flat_map(|row| [block(row, 0), block(row, second)])
                .collect(),
            // The accumulator of 16 x 16: the left half first.
            Matrix::C => [block(0, 0), block(8, 0), block(0, second), block(8, second)].into(),
        }
    }

    /// How many registers PTX names: f16 factors have 8, which repeat the same values.
    pub(super) fn registers(&self) -> usize {
        match self.element {
            Element::Half(crate::tensor::Factor::F16) => 8,
            _ => self.own_registers(),
        }
    }

    fn own_registers(&self) -> usize {
        self.blocks().len() * self.element.registers() as usize
    }

    /// The default distance between rows in memory.
    fn default_stride(&self) -> u32 {
        let shape = self.shape;
        match (self.matrix, self.row_major) {
            (Matrix::A, true) | (Matrix::B, false) => shape.k,
            (Matrix::A, false) | (Matrix::C, false) => shape.m,
            (Matrix::B, true) | (Matrix::C, true) => shape.n,
        }
    }
}

/// The parts of a fragment's addresses.
struct Place {
    /// 64 bits.
    base: Reg,
    offset: i64,
    /// Bytes from a row of memory to the next.
    stride: Reg,
}

impl Lowering<'_> {
    pub(super) fn wmma_load(&mut self, instr: &Instr, fragment: Fragment) -> Result<()> {
        let [d, rest @ ..] = &instr.operands[..] else {
            return Err(instr.wrong_count());
        };
        let place = self.place(instr, &fragment, rest)?;
        let all = self.b32_list(instr, d, fragment.registers(), true)?;
        let (own, again) = all.split_at(fragment.own_registers());
        let matrices = match fragment.element {
            Element::Half(_) => true,
            Element::Byte => fragment.is_straight(),
            Element::Tf32 | Element::HalfSum | Element::WordSum => false,
        };
        match fragment.space {
            Space::Shared if matrices => self.load_matrices(&fragment, &place, own),
            _ => self.load_blocks(&fragment, &place, own),
        }
        for (&to, &from) in again.iter().zip(own.iter().cycle()) {
            self.push(LaneOp::MoveB32([to, from]));
        }
        Ok(())
    }

    pub(super) fn wmma_store(&mut self, instr: &Instr, fragment: Fragment) -> Result<()> {
        let [address, a, stride @ ..] = &instr.operands[..] else {
            return Err(instr.wrong_count());
        };
        let operands: Vec<Operand> = [address].into_iter().chain(stride).cloned().collect();
        let place = self.place(instr, &fragment, &operands)?;
        let regs = self.b32_list(instr, a, fragment.registers(), false)?;
        let each = fragment.element.registers() as usize;
        for (block, regs) in fragment.blocks().into_iter().zip(regs.chunks_exact(each)) {
            for (address, regs) in self.accesses(&fragment, &place, block, regs) {
                let mut regs = regs;
                if !fragment.is_straight() && fragment.element == Element::HalfSum {
                    let turned = self.temp(Class::B32).index;
                    self.push(MatrixOp::Transpose([turned, regs[0]]));
                    regs = vec![turned];
                }
                let access = self.access(&fragment, address, &regs);
                self.push(LaneOp::Store(access));
            }
        }
        Ok(())
    }

    fn place(&mut self, instr: &Instr, fragment: &Fragment, operands: &[Operand]) -> Result<Place> {
        let (address, stride) = match operands {
            [address] => (address, None),
            [address, stride] => (address, Some(stride)),
            _ => return Err(instr.wrong_count()),
        };
        let Address { base, offset } = self.address(instr, address)?;
        let base = self.widen(instr, base, Class::B64)?;
        let elements = match stride {
            Some(stride) => self.source(instr, stride, Class::B32)?,
            None => self.constant(Class::B32, fragment.default_stride().into()),
        };
        let bytes = fragment.element.bytes();
        // A separate register, because the loads may overwrite the operand's.
        let bytes_each = self.number(bytes);
        let stride = self.b32(B32Op::Mul, elements, bytes_each);
        if fragment.space != Space::Global {
            self.program.grain = self.program.grain.min(bytes);
        }
        Ok(Place {
            base,
            offset,
            stride,
        })
    }

    /// Loads factors by `ldmatrix`: rows of 16 bytes, whose addresses are in 8 lanes for each matrix.
    fn load_matrices(&mut self, fragment: &Fragment, place: &Place, own: &[u32]) {
        let straight = fragment.is_straight();
        // Loads two matrices of 8-bit elements at once, or four of 16-bit elements.
        let most = if fragment.element == Element::Byte {
            2
        } else {
            4
        };
        let blocks = fragment.blocks();
        for (blocks, regs) in blocks.chunks(most).zip(own.chunks(most)) {
            let [lane, seven, three] = [self.lane(), self.number(7), self.number(3)];
            let row = self.b32(B32Op::And, lane, seven);
            let matrix = self.b32(B32Op::ShrU, lane, three);
            // The positions of the blocks differ in one or two bits, which are bits of their matrix numbers.
            let rows = self.pick(matrix, blocks, |block| block.row);
            let along = self.pick(matrix, blocks, |block| block.along);
            let (rows, along) = if straight {
                (rows, along)
            } else {
                (along, rows)
            };
            let row = self.b32(B32Op::Add, row, rows);
            let along = self.times(along, fragment.element.bytes());
            let at = self.mad_wide(row, place.stride, place.base);
            let one = self.number(1);
            let at = self.mad_wide(along, one, at);
            let mut moved = [0; 4];
            moved[..regs.len()].copy_from_slice(regs);
            let access = MatrixMove {
                store: false,
                generic: false,
                transposed: !straight,
                address: Address {
                    base: at,
                    offset: place.offset,
                },
                count: regs.len() as u32,
                regs: moved,
                slot: self.slot(),
            };
            self.push(MatrixOp::Move(Box::new(access)));
        }
    }

    /// A property of a block, selected by the bits of its matrix number.
    fn pick(&mut self, matrix: Reg, blocks: &[Block], of: impl Fn(&Block) -> u32) -> Reg {
        let first = blocks.first().map_or(0, &of);
        let mut sum = self.number(first);
        for bit in 0..2u32 {
            let Some(block) = blocks.get(1 << bit) else {
                break;
            };
            let step = of(block) - first;
            if step == 0 {
                continue;
            }
            let [shift, one] = [self.number(bit), self.number(1)];
            let set = self.b32(B32Op::ShrU, matrix, shift);
            let set = self.b32(B32Op::And, set, one);
            let part = self.times(set, step);
            sum = self.b32(B32Op::Add, sum, part);
        }
        sum
    }

    fn load_blocks(&mut self, fragment: &Fragment, place: &Place, own: &[u32]) {
        let each = fragment.element.registers() as usize;
        for (block, regs) in fragment.blocks().into_iter().zip(own.chunks_exact(each)) {
            if fragment.element == Element::Byte && !fragment.is_straight() {
                // Four bytes, each loaded separately.
                let parts: Vec<Reg> = (0..4).map(|_| self.temp(Class::B32)).collect();
                let names: Vec<u32> = parts.iter().map(|part| part.index).collect();
                for (address, regs) in self.accesses(fragment, place, block, &names) {
                    let access = self.access(fragment, address, &regs);
                    self.push(LaneOp::Load(access));
                }
                let d = Reg {
                    class: Class::B32,
                    index: regs[0],
                };
                self.push(ColdOp::Pack(8, d, parts.into()));
                continue;
            }
            for (address, regs) in self.accesses(fragment, place, block, regs) {
                let access = self.access(fragment, address, &regs);
                self.push(LaneOp::Load(access));
                if !fragment.is_straight() && fragment.element.bytes() == 2 {
                    self.push(MatrixOp::Transpose([regs[0], regs[0]]));
                }
            }
        }
    }

    /// The accesses of a block: each lane's address, and the registers.
    fn accesses(
        &mut self,
        fragment: &Fragment,
        place: &Place,
        block: Block,
        regs: &[u32],
    ) -> Vec<(Address, Vec<u32>)> {
        let element = fragment.element;
        let (bytes, each) = (element.bytes(), element.each());
        let [g, t] = self.lane_parts();
        let t = self.times(t, each);
        let Block { row, along } = block;
        // Row and column in memory of the lane's first element, relative to the block.
        let (from, to, lane_row, lane_column) = match (fragment.is_straight(), bytes) {
            (true, _) => (row, along, g, t),
            // In the order of memory, to be transposed.
            (false, 2) => (along, row, g, t),
            (false, _) => (along, row, t, g),
        };
        let from = self.number(from);
        let lane_row = self.b32(B32Op::Add, lane_row, from);
        let lane_column = self.times(lane_column, bytes);
        let at = self.mad_wide(lane_row, place.stride, place.base);
        let one = self.number(1);
        let at = self.mad_wide(lane_column, one, at);
        let offset = place.offset + i64::from(to * bytes);
        let whole = fragment.is_straight() || bytes == 2 || each == 1;
        if whole {
            return vec![(Address { base: at, offset }, regs.to_vec())];
        }
        // One element at a time, each in its own row of memory.
        let mut accesses = Vec::new();
        for (i, &reg) in (0..).zip(regs) {
            let rows = self.number(i);
            let base = match i {
                0 => at,
                _ => self.mad_wide(rows, place.stride, at),
            };
            accesses.push((Address { base, offset }, vec![reg]));
        }
        accesses
    }

    /// One access to these registers, or to a byte.
    fn access(&mut self, fragment: &Fragment, address: Address, regs: &[u32]) -> Box<LoadStore> {
        let is_byte = fragment.element == Element::Byte && !fragment.is_straight();
        let mut list = [0; 4];
        list[..regs.len()].copy_from_slice(regs);
        Box::new(LoadStore {
            space: fragment.space,
            address,
            bytes: if is_byte { 1 } else { 4 },
            count: regs.len() as u32,
            signed: false,
            class: Class::B32,
            regs: list,
            slot: self.slot(),
            order: Order::default(),
        })
    }

    fn lane(&mut self) -> Reg {
        self.fixed(Class::B32, Fixed::Special(Special::Lane))
    }

    fn number(&mut self, value: u32) -> Reg {
        self.constant(Class::B32, value.into())
    }

    fn b32(&mut self, op: B32Op, a: Reg, b: Reg) -> Reg {
        let d = self.temp(Class::B32);
        self.push_always(LaneOp::B32(op, [d.index, a.index, b.index]));
        d
    }

    fn times(&mut self, a: Reg, factor: u32) -> Reg {
        match factor {
            1 => a,
            _ => {
                let factor = self.number(factor);
                self.b32(B32Op::Mul, a, factor)
            }
        }
    }

    /// g and t of lane 4 g + t.
    pub(super) fn lane_parts(&mut self) -> [Reg; 2] {
        let [lane, three, two] = [self.lane(), self.number(3), self.number(2)];
        [
            self.b32(B32Op::ShrU, lane, two),
            self.b32(B32Op::And, lane, three),
        ]
    }

    /// The result is in a new register.
    pub(super) fn multiplied(&mut self, a: Reg, factor: u32) -> Reg {
        let factor = self.number(factor);
        self.b32(B32Op::Mul, a, factor)
    }

    /// The result is in a new register.
    pub(super) fn shifted_right(&mut self, a: Reg, by: u32) -> Reg {
        let by = self.number(by);
        self.b32(B32Op::ShrU, a, by)
    }

    /// a b + c, in 64 bits.
    pub(super) fn mad_wide(&mut self, a: Reg, b: Reg, c: Reg) -> Reg {
        let d = self.temp(Class::B64);
        let regs = [d, a, b, c].map(|reg| reg.index);
        self.push_always(LaneOp::MadWide(false, regs));
        d
    }
}
