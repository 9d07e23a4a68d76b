//! Records the factors of matrix products ([`MatrixFactors`]).
use super::block::Execution;
use super::mma::place_of_column;
use super::warp::Warp;
use super::warpgroup::Operands;
use crate::banks::LANES;
use crate::op::{Mma, Wgmma, WgmmaA};
use crate::{FactorFormat, MatrixFactors};

/// The most products recorded in a launch; the option is meant for small launches.
const MOST: usize = 1 << 16;

/// K, the elements of A and those of B.
pub(super) type Factors = (u32, Vec<u16>, Vec<u16>);

impl Warp {
    /// The factors of an f16 `mma.sync`.
    #[inline(never)]
    pub(super) fn mma_factors(&self, mma: &Mma) -> Option<Factors> {
        if mma.product.factors != FactorFormat::F16 {
            return None;
        }
        let k = mma.row as usize / 2;
        let (mut a, mut b) = (vec![0; mma.rows as usize * k], vec![0; 8 * k]);
        let [a_registers, b_registers, _] = mma.counts();
        for lane in 0..LANES {
            let (group, pair) = (lane / 4, lane % 4 * 2);
            for (r, &register) in mma.a.iter().enumerate().take(a_registers) {
                // With 8 rows, A has only the registers of the upper half.
                let halves = mma.rows as usize / 8;
                let (row, column) = (group + 8 * (r % halves), pair + 8 * (r / halves));
                put_pair(
                    &mut a,
                    row * k + column,
                    1,
                    self.b32[register as usize].0[lane],
                );
            }
            for (r, &register) in mma.b.iter().enumerate().take(b_registers) {
                let row = pair + 8 * r;
                put_pair(
                    &mut b,
                    row * 8 + group,
                    8,
                    self.b32[register as usize].0[lane],
                );
            }
        }
        Some((k as u32, a, b))
    }

    /// The factors of a warp's rows of an f16 `wgmma`.
    #[inline(never)]
    pub(super) fn wgmma_factors(&self, wgmma: &Wgmma, operands: &Operands) -> Option<Factors> {
        if wgmma.product.factors != FactorFormat::F16 {
            return None;
        }
        let a = match (&wgmma.a, &operands.a) {
            (WgmmaA::Registers(registers), _) => {
                let mut own = vec![0; 256];
                for (r, &register) in registers.iter().enumerate() {
                    for lane in 0..LANES {
                        let (row, column) = (lane / 4 + 8 * (r % 2), lane % 4 * 2 + 8 * (r / 2));
                        let pair = self.b32[register as usize].0[lane];
                        put_pair(&mut own, 16 * row + column, 1, pair);
                    }
                }
                own
            }
            (WgmmaA::Descriptor(_), a) => a[self.index % super::warpgroup::WARPS].bits.to_vec(),
        };
        let columns = 8 * operands.b.len();
        let mut b = vec![0; 16 * columns];
        for (panel, elements) in operands.b.iter().enumerate() {
            for (row, elements) in elements.bits().chunks_exact(8).enumerate() {
                for (column, to) in b[row * columns + 8 * panel..]
                    .iter_mut()
                    .take(8)
                    .enumerate()
                {
                    *to = elements[place_of_column(column)];
                }
            }
        }
        Some((16, a, b))
    }

    pub(super) fn keep_factors(&self, op: usize, (k, a, b): Factors, cx: &mut Execution<'_>) {
        let instruction = cx.machine.program.ops[op].instruction as usize;
        let block = cx.block.index;
        if let Some(factors) = &mut cx.profiler.factors
            && factors.len() < MOST
        {
            factors.push(MatrixFactors {
                instruction,
                block,
                warp: self.index as u32,
                k,
                a,
                b,
            });
        }
    }
}

/// Two elements of a register, `step` apart.
fn put_pair(to: &mut [u16], at: usize, step: usize, pair: u32) {
    for (i, value) in [pair as u16, (pair >> 16) as u16].into_iter().enumerate() {
        if let Some(element) = to.get_mut(at + i * step) {
            *element = value;
        }
    }
}
