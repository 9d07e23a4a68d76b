//! The operands of a `wgmma` in shared memory, read and converted once for its four warps.
use super::ROWS;
use crate::descriptor::{Descriptor, K, UNIT};
use crate::exec::mma::{even_and_odd, halves_of, place_of_column};
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
        let (signs, step) = (sign(wgmma, 0), if a_transposed { 16 } else { 1 });
        read_units(bits, ROWS, a_transposed, signs, shared, |row, k, unit| {
            place(&mut to.a[row / 16].bits, row % 16 * 16 + k, step, unit);
        })?;
        if let Some(format) = format {
            to.a.iter_mut().for_each(|rows| rows.convert(format));
        }
    }
    let (bits, n, signs) = (descriptors.b, wgmma.product.n, sign(wgmma, 1));
    to.b.resize_with(n as usize / 8, || Columns::ZERO);
    read_units(bits, n, b_transposed, signs, shared, |column, k, unit| {
        let bits = &mut to.b[column / 8].bits;
        match b_transposed {
            false => place(bits, 8 * k + place_of_column(column % 8), 8, unit),
            true => place(bits, 8 * k, 1, even_and_odd(unit)),
        }
    })?;
    if let Some(format) = format {
        (to.b.iter_mut()).for_each(|columns| columns.convert(format));
    }
    Some(())
}

/// Passes on the 16-byte units of an operand: row or column, k, and eight elements, in the direction in which they are
/// contiguous. `None` if one is outside shared memory.
#[inline(always)]
fn read_units(
    bits: u64,
    mn: u32,
    transposed: bool,
    sign: u32,
    shared: &[u32],
    mut put: impl FnMut(usize, usize, [u16; 8]),
) -> Option<()> {
    let descriptor = Descriptor::decode(bits).ok()?;
    for (row, k) in units(mn, transposed) {
        let at = descriptor.unit(transposed, row, k) as usize / 4;
        let words = shared.get(at..)?.first_chunk::<4>()?;
        put(
            row as usize,
            k as usize,
            halves_of(words.map(|word| word ^ sign)),
        );
    }
    Some(())
}

/// Writes eight elements to every `stride`th place, from `at` on.
fn place(to: &mut [u16], at: usize, stride: usize, unit: [u16; 8]) {
    let places = to.iter_mut().skip(at).step_by(stride);
    for (to, value) in places.zip(unit) {
        *to = value;
    }
}
