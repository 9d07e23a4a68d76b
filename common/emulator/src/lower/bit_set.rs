//! A set of small numbers.

/// A set of numbers below a bound.
#[derive(Clone, PartialEq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub fn of(members: &[usize], len: usize) -> Self {
        let mut bits = vec![0; len.div_ceil(64)];
        for &i in members {
            bits[i / 64] |= 1 << (i % 64);
        }
        Self(bits)
    }
    pub fn contains(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }
    pub fn insert(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }
    pub fn remove(&mut self, i: usize) {
        self.0[i / 64] &= !(1 << (i % 64));
    }
    pub fn union(&mut self, other: &Bits) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            std::iter::successors((bits != 0).then_some(bits), |b| {
                Some(b & (b - 1)).filter(|&b| b != 0)
            })
            .map(move |b| word * 64 + b.trailing_zeros() as usize)
        })
    }
}
