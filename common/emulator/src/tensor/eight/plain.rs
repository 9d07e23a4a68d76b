//! Scalar code for any CPU.
use super::{Eight, N};

#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Eight for Plain {
    type Word = [i32; N];
    fn load(self, from: &[i32; N]) -> [i32; N] {
        *from
    }
    fn store(self, word: [i32; N]) -> [i32; N] {
        word
    }
    fn twice(self, &[a, b, c, d]: &[i32; 4]) -> [i32; N] {
        [a, b, c, d, a, b, c, d]
    }
    fn splat(self, value: i32) -> [i32; N] {
        [value; N]
    }
    fn add(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n].wrapping_add(b[n]))
    }
    fn sub(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n].wrapping_sub(b[n]))
    }
    fn mul(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n].wrapping_mul(b[n]))
    }
    fn max(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n].max(b[n]))
    }
    fn abs(self, a: [i32; N]) -> [i32; N] {
        a.map(i32::wrapping_abs)
    }
    fn and(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n] & b[n])
    }
    fn or(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n] | b[n])
    }
    fn xor(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n] ^ b[n])
    }
    fn greater(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| -i32::from(a[n] > b[n]))
    }
    fn shift_right(self, a: [i32; N], bits: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| (a[n] as u32).unbounded_shr(bits[n] as u32) as i32)
    }
    fn shift_left<const BITS: i32>(self, a: [i32; N]) -> [i32; N] {
        a.map(|word| word << BITS)
    }
    fn add_bytes(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        bytes(a, b, i8::saturating_add)
    }
    fn max_bytes(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        bytes(a, b, i8::max)
    }
    fn min_bytes(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        bytes(a, b, i8::min)
    }
    fn product(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        let float = |bits: i32| f32::from_bits(bits as u32);
        std::array::from_fn(|n| (float(a[n]) * float(b[n])).to_bits() as i32)
    }
    fn truncate(self, a: [i32; N]) -> [i32; N] {
        a.map(|bits| f32::from_bits(bits as u32) as i32)
    }
    fn nearest(self, a: [i32; N]) -> [i32; N] {
        a.map(|value| (value as f32).to_bits() as i32)
    }
}

/// Applies an operation to each two bytes.
fn bytes(a: [i32; N], b: [i32; N], f: fn(i8, i8) -> i8) -> [i32; N] {
    let of = |(a, b): (i32, i32)| {
        let (a, b) = (a.to_ne_bytes(), b.to_ne_bytes());
        let byte = |i: usize| f(a[i].cast_signed(), b[i].cast_signed()).cast_unsigned();
        i32::from_ne_bytes(std::array::from_fn(byte))
    };
    std::array::from_fn(|n| of((a[n], b[n])))
}
