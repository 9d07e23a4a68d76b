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
        let signs = sign(wgmma, 0);
        let a = Descriptor::decode(bits).ok()?;
        for (row, k) in units(ROWS, a_transposed) {
            let unit = read_unit(&a, a_transposed, (row, k), shared)?.map(|word| word ^ signs);
            let (row, k) = (row as usize, k as usize);
            let (bits, at) = (&mut to.a[row / 16].bits, row % 16 * 16 + k);
            match a_transposed {
                true => place(bits, at, 16, halves_of(unit)),
                false => bits[at..at + 8].copy_from_slice(&halves_of(unit)),
            }
        }
        if let Some(format) = format {
            to.a.iter_mut().for_each(|rows| rows.convert(format));
        }
    }
    let (signs, n) = (sign(wgmma, 1), wgmma.product.n);
    let b = Descriptor::decode(descriptors.b).ok()?;
    to.b.resize_with(n as usize / 8, || Columns::ZERO);
    for (columns, first) in to.b.iter_mut().zip((0..n).step_by(8)) {
        let words = &mut columns.words;
        if b_transposed {
            for (k, words) in (0..K).step_by(2).zip(words) {
                let [low, high] = [k, k + 1].map(|k| read_unit(&b, true, (first, k), shared));
                *words = by_k(low?, high?).map(|word| word ^ signs);
            }
            continue;
        }
        for (column, k) in units(8, false) {
            let unit = read_unit(&b, false, (first + column, k), shared)?;
            let place = place_of_column(column as usize);
            let rows = words.iter_mut().skip(k as usize / 2);
            for (words, word) in rows.zip(unit) {
                words[place] = word ^ signs;
            }
        }
    }
    if let Some(format) = format {
        (to.b.iter_mut()).for_each(|columns| columns.convert(format));
    }
    Some(())
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
fn by_k(low: [u32; 4], high: [u32; 4]) -> [u32; 8] {
    std::array::from_fn(|place| match place {
        0..4 => low[place] & 0xffff | high[place] << 16,
        _ => low[place - 4] >> 16 | high[place - 4] & 0xffff_0000,
    })
}

/// Writes eight elements to every `stride`th place, from `at` on.
fn place(to: &mut [u16], at: usize, stride: usize, unit: [u16; 8]) {
    let places = to.iter_mut().skip(at).step_by(stride);
    for (to, value) in places.zip(unit) {
        *to = value;
    }
}
