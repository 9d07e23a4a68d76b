//! Vectors of eight 32-bit numbers, as this CPU has them: what it has decides the speed, never the bits.
use super::N;
use super::factors::K;

/// Something to be computed in vectors.
pub(super) trait Work {
    fn compute<V: Eight>(self, v: V) -> Option<()>;
}

pub(super) fn run(work: impl Work) -> Option<()> {
    match pulp::Arch::new() {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(v3) => v3.vectorize(On(v3, work)),
        // Eight words fill the vectors of AVX2; a CPU with AVX-512 has those too.
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(v4) => v4.vectorize(On(*v4, work)),
        _ => work.compute(Plain),
    }
}

/// The work, to be done with these vectors.
#[cfg(target_arch = "x86_64")]
struct On<W>(pulp::x86::V3, W);

#[cfg(target_arch = "x86_64")]
impl<W: Work> pulp::NullaryFnOnce for On<W> {
    type Output = Option<()>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        self.1.compute(self.0)
    }
}

/// Arithmetic on eight 32-bit numbers, wrapping.
pub(super) trait Eight: Copy {
    type Word: Copy;
    fn load(self, from: &[i32; N]) -> Self::Word;
    fn store(self, word: Self::Word) -> [i32; N];
    fn splat(self, value: i32) -> Self::Word;
    fn add(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn sub(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn mul(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn max(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn min(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Zeros move in; 0 from 32 bits on.
    fn shift_right(self, a: Self::Word, bits: Self::Word) -> Self::Word;
    /// a b c, each the bits of an f32, as a whole number, what is behind the point dropped; below 2^31.
    fn whole_product(self, a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word;
    /// For four rows of A and eight columns of B, the largest sum of their exponents over K, where a sum below -128 is that.
    fn largest_sums(self, a: &[i8; 4 * K], b: &[i8; K * N]) -> [[i8; N]; 4];
}

/// On any CPU.
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
    fn min(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n].min(b[n]))
    }
    fn xor(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n] ^ b[n])
    }
    fn shift_right(self, a: [i32; N], bits: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| (a[n] as u32).unbounded_shr(bits[n] as u32) as i32)
    }
    fn whole_product(self, a: [i32; N], b: [i32; N], c: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| {
            let [a, b, c] = [a[n], b[n], c[n]].map(|bits| f32::from_bits(bits as u32));
            (a * b * c) as i32
        })
    }
    fn largest_sums(self, a: &[i8; 4 * K], b: &[i8; K * N]) -> [[i8; N]; 4] {
        let mut top = [[i8::MIN; N]; 4];
        for (row, a) in top.iter_mut().zip(a.as_chunks::<K>().0) {
            for (a, b) in a.iter().zip(b.as_chunks::<N>().0) {
                for (top, b) in row.iter_mut().zip(b) {
                    *top = a.saturating_add(*b).max(*top);
                }
            }
        }
        top
    }
}

#[cfg(target_arch = "x86_64")]
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
    fn min(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_min_epi32(a, b)
    }
    #[inline(always)]
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_xor_si256(a, b)
    }
    #[inline(always)]
    fn shift_right(self, a: Self::Word, bits: Self::Word) -> Self::Word {
        self.avx2._mm256_srlv_epi32(a, bits)
    }
    #[inline(always)]
    fn whole_product(self, a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word {
        let [a, b, c] = [a, b, c].map(|word| self.avx._mm256_castsi256_ps(word));
        let product = self.avx._mm256_mul_ps(self.avx._mm256_mul_ps(a, b), c);
        self.avx._mm256_cvttps_epi32(product)
    }
    #[inline(always)]
    fn largest_sums(self, a: &[i8; 4 * K], b: &[i8; K * N]) -> [[i8; N]; 4] {
        let rows: [std::arch::x86_64::__m256i; 2] = pulp::cast(*a);
        // The first eight of K of rows 0, 2, 1 and 3, and the others.
        let halves = [
            self.avx2._mm256_unpacklo_epi64(rows[0], rows[1]),
            self.avx2._mm256_unpackhi_epi64(rows[0], rows[1]),
        ];
        let mut top = self.avx._mm256_set1_epi8(i8::MIN);
        for (k, b) in b.as_chunks::<N>().0.iter().enumerate() {
            let element = pulp::cast(ELEMENTS[k % 8]);
            let a = self.avx2._mm256_shuffle_epi8(halves[k / 8], element);
            let b = self.avx._mm256_set1_epi64x(pulp::cast(*b));
            top = self
                .avx2
                ._mm256_max_epi8(top, self.avx2._mm256_adds_epi8(a, b));
        }
        let [first, third, second, fourth] = pulp::cast(top);
        [first, second, third, fourth]
    }
}

/// For a shuffle of two times 16 bytes: byte k of each eight, eight times.
#[cfg(target_arch = "x86_64")]
const ELEMENTS: [[u8; 32]; 8] = {
    let mut all = [[0; 32]; 8];
    let mut i = 0;
    while i < 8 * 32 {
        all[i / 32][i % 32] = (i / 32 + i % 16 / 8 * 8) as u8;
        i += 1;
    }
    all
};
