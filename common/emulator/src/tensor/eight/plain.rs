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
