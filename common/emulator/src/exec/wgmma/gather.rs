//! The operands of a `wgmma` in shared memory, read and converted once for its four warps.
use super::ROWS;
use crate::descriptor::{Descriptor, K, UNIT};
use crate::exec::mma::{halves_of, place_of_column};
use crate::exec::warpgroup::{Descriptors, Operands, WARPS};
use crate::op::Wgmma;
use crate::tensor::{Arithmetic, Columns, Rows};

/// The mask that flips the signs of the elements in 32 bits of an operand.
pub(super) fn sign(wgmma: &Wgmma, operand: usize) -> u32 {
    match (wgmma.negate[operand], wgmma.arithmetic) {
        (false, _) => 0,
        (true, Arithmetic::Half(..)) => 0x8000_8000,
        (true, Arithmetic::Tf32) => 0x8000_0000,
        (true, Arithmetic::E4m3 | Arithmetic::Unpacked(..)) => 0x8080_8080,
        // These formats have no `imm-scale`.
        (true, Arithmetic::Integer { .. } | Arithmetic::Bits(_)) => 0,
    }
}

/// The first element (mn, k) of each 16 bytes of an operand.
pub(super) fn units(mn: u32, transposed: bool) -> impl Iterator<Item = (u32, u32)> {
    let (step_mn, step_k) = if transposed { (UNIT, 1) } else { (1, UNIT) };
    let rows = mn / step_mn;
    (0..K / step_k * rows).map(move |i| (i % rows * step_mn, i / rows * step_k))
}

/// Reads the operands from shared memory; `check_operands` has checked the addresses.
pub(super) fn gather(
    wgmma: &Wgmma,
    descriptors: &Descriptors,
    shared: &[u32],
    to: &mut Operands,
) -> Option<()> {
    let ([a_transposed, b_transposed], format) = (wgmma.transposed, wgmma.arithmetic.half());
    if let Some(bits) = descriptors.a {
        to.a.resize_with(WARPS, || Rows::ZERO);
        let a = Descriptor::decode(bits).ok()?;
        gather_a(&a, a_transposed, sign(wgmma, 0), shared, &mut to.a)?;
        if let Some(format) = format {
            to.a.iter_mut().for_each(|rows| rows.convert(format));
        }
    }
    let b = Descriptor::decode(descriptors.b).ok()?;
    to.b.resize_with(wgmma.product.n as usize / 8, || Columns::ZERO);
    let signs = sign(wgmma, 1);
    for (columns, first) in to.b.iter_mut().zip((0..).step_by(8)) {
        gather_b(&b, b_transposed, signs, shared, first, columns)?;
        if let Some(format) = format {
            columns.convert(format);
        }
    }
    Some(())
}

fn gather_a(
    a: &Descriptor,
    transposed: bool,
    signs: u32,
    shared: &[u32],
    to: &mut [Rows],
) -> Option<()> {
    if !transposed {
        let rows = to
            .iter_mut()
            .flat_map(|rows| rows.bits.as_chunks_mut::<16>().0);
        for (row, to) in (0..).zip(rows) {
            let words = read_row(a, row, signs, shared)?;
            for (to, words) in to.as_chunks_mut().0.iter_mut().zip(words.as_chunks().0) {
                *to = halves_of(*words);
            }
        }
        return Some(());
    }
    for (row, k) in units(ROWS, true) {
        let unit = read_unit(a, true, (row, k), shared)?.map(|word| word ^ signs);
        let (row, k) = (row as usize, k as usize);
        let bits = to.get_mut(row / 16)?.bits.iter_mut();
        let places = bits.skip(row % 16 * 16 + k).step_by(16);
        for (to, value) in places.zip(halves_of(unit)) {
            *to = value;
        }
    }
    Some(())
}

fn gather_b(
    b: &Descriptor,
    transposed: bool,
    signs: u32,
    shared: &[u32],
    first: u32,
    to: &mut Columns,
) -> Option<()> {
    if transposed {
        for (k, words) in (0..K).step_by(2).zip(&mut to.words) {
            let low = read_unit(b, true, (first, k), shared)?;
            let high = read_unit(b, true, (first, k + 1), shared)?;
            *words = by_k(low, high);
            for word in words {
                *word ^= signs;
            }
        }
    } else {
        for column in 0..8 {
            let row = read_row(b, first + column, signs, shared)?;
            to.words[place_of_column(column as usize)] = row;
        }
        to.transpose();
    }
    Some(())
}

/// The 16 elements along K of a row or column that is not transposed.
#[inline(always)]
fn read_row(descriptor: &Descriptor, mn: u32, signs: u32, shared: &[u32]) -> Option<[u32; 8]> {
    let mut row = [0; 8];
    // Loops, since a closure that `map` calls might not be inlined.
    for (k, to) in [0, UNIT].into_iter().zip(row.as_chunks_mut().0) {
        *to = read_unit(descriptor, false, (mn, k), shared)?;
    }
    for word in &mut row {
        *word ^= signs;
    }
    Some(row)
}

/// The 16-byte unit that begins with element (mn, k); `None` if it is outside shared memory.
#[inline(always)]
fn read_unit(
    descriptor: &Descriptor,
    transposed: bool,
    (mn, k): (u32, u32),
    shared: &[u32],
) -> Option<[u32; 4]> {
    let at = descriptor.unit(transposed, mn, k) as usize / 4;
    shared.get(at..)?.first_chunk().copied()
}

/// Eight columns at k and at k + 1, as words of both, even columns before odd ones.
#[inline(always)]
fn by_k(low: [u32; 4], high: [u32; 4]) -> [u32; 8] {
    std::array::from_fn(|place| match place {
        0..4 => low[place] & 0xffff | high[place] << 16,
        _ => low[place - 4] >> 16 | high[place - 4] & 0xffff_0000,
    })
}
