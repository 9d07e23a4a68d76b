//! WebAssembly's vectors of 128 bits, with which the module is compiled.
use std::arch::wasm32::{
    f32x4_convert_i32x4, f32x4_mul, i8x16_add_sat, i8x16_max, i8x16_min, i32x4, i32x4_abs,
    i32x4_add, i32x4_extract_lane, i32x4_gt, i32x4_max, i32x4_mul, i32x4_shl, i32x4_splat,
    i32x4_sub, i32x4_trunc_sat_f32x4, v128, v128_and, v128_or, v128_xor,
};

use super::{Eight, N};

#[derive(Clone, Copy)]
pub(super) struct Simd128;

// A function of a target feature is not an `Fn`: closures call it.

#[inline(always)]
fn both([a, c]: [v128; 2], [b, d]: [v128; 2], f: impl Fn(v128, v128) -> v128) -> [v128; 2] {
    [f(a, b), f(c, d)]
}

impl Eight for Simd128 {
    type Word = [v128; 2];
    #[inline(always)]
    fn load(self, &[a, b, c, d, e, f, g, h]: &[i32; N]) -> Self::Word {
        [i32x4(a, b, c, d), i32x4(e, f, g, h)]
    }
    #[inline(always)]
    fn store(self, [low, high]: Self::Word) -> [i32; N] {
        [
            i32x4_extract_lane::<0>(low),
            i32x4_extract_lane::<1>(low),
            i32x4_extract_lane::<2>(low),
            i32x4_extract_lane::<3>(low),
            i32x4_extract_lane::<0>(high),
            i32x4_extract_lane::<1>(high),
            i32x4_extract_lane::<2>(high),
            i32x4_extract_lane::<3>(high),
        ]
    }
    #[inline(always)]
    fn twice(self, &[a, b, c, d]: &[i32; 4]) -> Self::Word {
        [i32x4(a, b, c, d); 2]
    }
    #[inline(always)]
    fn splat(self, value: i32) -> Self::Word {
        [i32x4_splat(value); 2]
    }
    #[inline(always)]
    fn add(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| i32x4_add(a, b))
    }
    #[inline(always)]
    fn sub(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| i32x4_sub(a, b))
    }
    #[inline(always)]
    fn mul(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| i32x4_mul(a, b))
    }
    #[inline(always)]
    fn max(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| i32x4_max(a, b))
    }
    #[inline(always)]
    fn abs(self, a: Self::Word) -> Self::Word {
        a.map(|word| i32x4_abs(word))
    }
    #[inline(always)]
    fn and(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| v128_and(a, b))
    }
    #[inline(always)]
    fn or(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| v128_or(a, b))
    }
    #[inline(always)]
    fn greater(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| i32x4_gt(a, b))
    }
    #[inline(always)]
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| v128_xor(a, b))
    }
    /// WebAssembly shifts all numbers of a vector by the same bits.
    #[inline(always)]
    fn shift_right(self, a: Self::Word, bits: Self::Word) -> Self::Word {
        let (a, bits) = (self.store(a), self.store(bits));
        let shifted = |n| (a[n] as u32).unbounded_shr(bits[n] as u32) as i32;
        self.load(&std::array::from_fn(shifted))
    }
    #[inline(always)]
    fn shift_left<const BITS: i32>(self, a: Self::Word) -> Self::Word {
        a.map(|word| i32x4_shl(word, BITS as u32))
    }
    #[inline(always)]
    fn add_bytes(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| i8x16_add_sat(a, b))
    }
    #[inline(always)]
    fn max_bytes(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| i8x16_max(a, b))
    }
    #[inline(always)]
    fn min_bytes(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| i8x16_min(a, b))
    }
    #[inline(always)]
    fn product(self, a: Self::Word, b: Self::Word) -> Self::Word {
        both(a, b, |a, b| f32x4_mul(a, b))
    }
    #[inline(always)]
    fn truncate(self, a: Self::Word) -> Self::Word {
        a.map(|word| i32x4_trunc_sat_f32x4(word))
    }
    #[inline(always)]
    fn nearest(self, a: Self::Word) -> Self::Word {
        a.map(|word| f32x4_convert_i32x4(word))
    }
}
