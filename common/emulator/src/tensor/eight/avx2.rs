//! AVX2's vectors of 256 bits.
use super::{Eight, N};

impl Eight for pulp::x86::V3 {
    type Word = std::arch::x86_64::__m256i;
    #[inline(always)]
    fn load(self, from: &[i32; N]) -> Self::Word {
        pulp::cast(*from)
    }
    #[inline(always)]
    fn store(self, word: Self::Word) -> [i32; N] {
        pulp::cast(word)
    }
    #[inline(always)]
    fn twice(self, from: &[i32; 4]) -> Self::Word {
        self.avx2._mm256_broadcastsi128_si256(pulp::cast(*from))
    }
    #[inline(always)]
    fn splat(self, value: i32) -> Self::Word {
        self.avx._mm256_set1_epi32(value)
    }
    #[inline(always)]
    fn add(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_add_epi32(a, b)
    }
    #[inline(always)]
    fn sub(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_sub_epi32(a, b)
    }
    #[inline(always)]
    fn mul(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_mullo_epi32(a, b)
    }
    #[inline(always)]
    fn max(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_max_epi32(a, b)
    }
    #[inline(always)]
    fn abs(self, a: Self::Word) -> Self::Word {
        self.avx2._mm256_abs_epi32(a)
    }
    #[inline(always)]
    fn and(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_and_si256(a, b)
    }
    #[inline(always)]
    fn or(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_or_si256(a, b)
    }
    #[inline(always)]
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_xor_si256(a, b)
    }
    #[inline(always)]
    fn greater(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_cmpgt_epi32(a, b)
    }
    #[inline(always)]
    fn shift_right(self, a: Self::Word, bits: Self::Word) -> Self::Word {
        self.avx2._mm256_srlv_epi32(a, bits)
    }
    #[inline(always)]
    fn shift_left<const BITS: i32>(self, a: Self::Word) -> Self::Word {
        self.avx2._mm256_slli_epi32::<BITS>(a)
    }
    #[inline(always)]
    fn add_bytes(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_adds_epi8(a, b)
    }
    #[inline(always)]
    fn max_bytes(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_max_epi8(a, b)
    }
    #[inline(always)]
    fn min_bytes(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_min_epi8(a, b)
    }
    #[inline(always)]
    fn product(self, a: Self::Word, b: Self::Word) -> Self::Word {
        let [a, b] = [a, b].map(|word| self.avx._mm256_castsi256_ps(word));
        self.avx._mm256_castps_si256(self.avx._mm256_mul_ps(a, b))
    }
    #[inline(always)]
    fn truncate(self, a: Self::Word) -> Self::Word {
        self.avx
            ._mm256_cvttps_epi32(self.avx._mm256_castsi256_ps(a))
    }
    #[inline(always)]
    fn nearest(self, a: Self::Word) -> Self::Word {
        self.avx._mm256_castps_si256(self.avx._mm256_cvtepi32_ps(a))
    }
    #[inline(always)]
    fn spread(self, [a, b]: [Self::Word; 2]) -> [Self::Word; N] {
        let low = self.avx2._mm256_permute2x128_si256::<0x20>(a, b);
        let high = self.avx2._mm256_permute2x128_si256::<0x31>(a, b);
        [
            self.avx2._mm256_shuffle_epi32::<0b00_00_00_00>(low),
            self.avx2._mm256_shuffle_epi32::<0b01_01_01_01>(low),
            self.avx2._mm256_shuffle_epi32::<0b10_10_10_10>(low),
            self.avx2._mm256_shuffle_epi32::<0b11_11_11_11>(low),
            self.avx2._mm256_shuffle_epi32::<0b00_00_00_00>(high),
            self.avx2._mm256_shuffle_epi32::<0b01_01_01_01>(high),
            self.avx2._mm256_shuffle_epi32::<0b10_10_10_10>(high),
            self.avx2._mm256_shuffle_epi32::<0b11_11_11_11>(high),
        ]
    }
    #[inline(always)]
    fn transpose(self, rows: [Self::Word; N]) -> [Self::Word; N] {
        // Interleaves words of two rows, then pairs of words, then halves. Loops, since closures might not be inlined.
        let [mut words, mut pairs, mut out] = [rows; 3];
        for i in 0..4 {
            let [a, b] = [rows[2 * i], rows[2 * i + 1]];
            words[2 * i] = self.avx2._mm256_unpacklo_epi32(a, b);
            words[2 * i + 1] = self.avx2._mm256_unpackhi_epi32(a, b);
        }
        for i in 0..4 {
            let at = 4 * (i / 2) + i % 2;
            let [a, b] = [words[at], words[at + 2]];
            pairs[4 * (i / 2) + 2 * (i % 2)] = self.avx2._mm256_unpacklo_epi64(a, b);
            pairs[4 * (i / 2) + 2 * (i % 2) + 1] = self.avx2._mm256_unpackhi_epi64(a, b);
        }
        for i in 0..4 {
            let [a, b] = [pairs[i], pairs[i + 4]];
            out[i] = self.avx2._mm256_permute2x128_si256::<0x20>(a, b);
            out[i + 4] = self.avx2._mm256_permute2x128_si256::<0x31>(a, b);
        }
        out
    }
}
