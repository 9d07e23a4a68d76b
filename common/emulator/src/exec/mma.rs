//! `mma.sync`: the layout of its fragments (PTX ISA, "Matrix Fragments for mma.m16n8k16" and the following sections).
//!
//! In bytes they are the same for every format. With g = lane / 4 and t = lane % 4, register r of A holds row `g + 8 (r
//! % 2)`, starting at byte `4 t + 16 (r / 2)`; register r of B column g, starting at byte `4 t + 16 r`; register r of C
//! row `g + 8 (r / 2)`, column `2 t + r % 2`, or if it holds two f16, row `g + 8 r`, columns `2 t` and `2 t + 1`.
use super::warp::Warp;
use crate::banks::LANES;
use crate::op::{Mma, MmaF64};
use crate::tensor::{self, Arithmetic, M, N, Sums};
use crate::{Card, lower};

impl Warp {
    #[inline(always)]
    pub(super) fn mma(&mut self, mma: &Mma, card: Card) {
        self.products += 1;
        match (mma.arithmetic, mma.row) {
            (Arithmetic::Half(_, Sums::F32), 16) => self.mma_of::<8, 128, 64, true>(mma, card),
            (Arithmetic::Half(_, Sums::F32), _) => self.mma_of::<16, 256, 128, true>(mma, card),
            (_, 16) => self.mma_of::<8, 128, 64, false>(mma, card),
            _ => self.mma_of::<16, 256, 128, false>(mma, card),
        }
    }

    /// K counts units of 16 bits. `PLAIN`: C is 16 x 8 with one sum per register, the most common case, as a
    /// compile-time constant.
    #[inline(always)]
    fn mma_of<const K: usize, const A: usize, const B: usize, const PLAIN: bool>(
        &mut self,
        mma: &Mma,
        card: Card,
    ) {
        let (mut a, mut b) = ([0u16; A], [0u16; B]);
        let ([a_count, _, c_count], packed) = match PLAIN {
            true => ([K / 4, K / 8, 4], false),
            false => (mma.counts(), mma.arithmetic.is_packed()),
        };
        // Four neighboring lanes hold 16 bytes of a row.
        for (r, &reg) in mma.a.iter().enumerate().take(a_count) {
            let lanes = &self.b32[reg as usize].0;
            for (g, words) in lanes.as_chunks::<4>().0.iter().enumerate() {
                let at = (g + 8 * (r % 2)) * K + 8 * (r / 2);
                if let Some(row) = a.get_mut(at..at + 8) {
                    row.copy_from_slice(&halves_of(*words));
                }
            }
        }
        for r in 0..K / 8 {
            let values = &self.b32[mma.b[r] as usize].0;
            for lane in 0..LANES {
                let at = (2 * (lane % 4) + 8 * r) * 8 + place_of_column(lane / 4);
                (b[at], b[at + 8]) = (values[lane] as u16, (values[lane] >> 16) as u16);
            }
        }
        let mut sums = self.sums(packed, &mma.c[..c_count]);
        tensor::multiply::<K, A, B>(card, mma.arithmetic, &a, &b, &mut sums);
        self.put_sums(packed, &mma.d[..c_count], &sums);
    }

    /// A matrix of sums from its registers, one in each word, columns in the order of [`place_of_column`]; rows that an
    /// instruction lacks are zero.
    #[inline(always)]
    pub(super) fn sums(&self, packed: bool, regs: &[u32]) -> [u32; M * N] {
        let mut sums = [0; M * N];
        let eights = sums.as_chunks_mut::<64>().0;
        if packed {
            for (sums, &reg) in eights.iter_mut().zip(regs) {
                let words = self.b32[reg as usize].0.as_chunks::<4>().0;
                for ([low, high], words) in sums
                    .as_chunks_mut::<4>()
                    .0
                    .as_chunks_mut()
                    .0
                    .iter_mut()
                    .zip(words)
                {
                    (*low, *high) = (
                        words.map(|word| word & 0xffff),
                        words.map(|word| word >> 16),
                    );
                }
            }
            return sums;
        }
        for (sums, &pair) in eights.iter_mut().zip(regs.as_chunks::<2>().0) {
            for (i, reg) in pair.into_iter().enumerate() {
                let words = self.b32[reg as usize].0.as_chunks::<4>().0;
                for (both, words) in sums
                    .as_chunks_mut::<4>()
                    .0
                    .as_chunks_mut::<2>()
                    .0
                    .iter_mut()
                    .zip(words)
                {
                    both[i] = *words;
                }
            }
        }
        sums
    }

    /// Writes a matrix of sums to its registers.
    #[inline(always)]
    pub(super) fn put_sums(&mut self, packed: bool, regs: &[u32], sums: &[u32; M * N]) {
        let eights = sums.as_chunks::<64>().0;
        if packed {
            for (sums, &reg) in eights.iter().zip(regs) {
                let to = self.b32[reg as usize].0.as_chunks_mut::<4>().0;
                for (to, [low, high]) in to.iter_mut().zip(sums.as_chunks::<4>().0.as_chunks().0) {
                    *to = std::array::from_fn(|i| low[i] & 0xffff | high[i] << 16);
                }
            }
            return;
        }
        for (sums, &pair) in eights.iter().zip(regs.as_chunks::<2>().0) {
            for (i, reg) in pair.into_iter().enumerate() {
                let to = self.b32[reg as usize].0.as_chunks_mut::<4>().0;
                for (to, both) in to
                    .iter_mut()
                    .zip(sums.as_chunks::<4>().0.as_chunks::<2>().0)
                {
                    *to = both[i];
                }
            }
        }
    }

    /// f64 (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f64", and those of m16n8k4, k8 and k16): in lane `4 g + t`,
    /// register r of A holds row `g + 8 (r % 2)`, k `t + 4 (r / 2)` (row g if A has 8 rows); register r of B k `t + 4
    /// r`, column g; register r of C row `g + 8 (r / 2)`, column `2 t + r % 2`.
    ///
    /// Each product is added by an `fma` of its own, k 0 first (recorded).
    pub(super) fn mma_f64(&mut self, mma: &MmaF64) {
        self.products += 1;
        let tall = mma.rows as usize / 8;
        let lanes = |reg: &u32| self.b64[*reg as usize].0;
        let [a, b, c] =
            [&mma.a, &mma.b, &mma.c].map(|regs| regs.iter().map(lanes).collect::<Vec<_>>());
        for (i, &reg) in mma.d.iter().enumerate() {
            let to = &mut self.b64[reg as usize].0;
            for (lane, d) in to.iter_mut().enumerate() {
                let (row, column) = (lane / 4, 2 * (lane % 4) + i % 2);
                *d = (0..mma.depth as usize).fold(c[i][lane], |sum, k| {
                    let a = a[i / 2 + tall * (k / 4)][4 * row + k % 4];
                    lower::fma_f64(a, b[k / 4][4 * column + k % 4], sum)
                });
            }
        }
    }
}

/// Where a column of C is, and the same column of B, among the eight of a matrix: the even ones come before the odd ones,
/// as they are in two registers.
pub(super) const fn place_of_column(column: usize) -> usize {
    column / 2 + 4 * (column % 2)
}

/// The low and the high half of each word.
#[inline(always)]
pub(super) fn halves_of(words: [u32; 4]) -> [u16; 8] {
    std::array::from_fn(|i| (words[i / 2] >> (16 * (i % 2))) as u16)
}
