//! Pseudo-random numbers that are the same on every machine: a hash of the seed and a counter.
use crate::grade::plan::number_of;

pub struct SeededRandom {
    seed: u64,
    drawn: u32,
}

impl SeededRandom {
    pub fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        let number = number_of(&[&self.seed.to_le_bytes()], self.drawn, "exam");
        self.drawn = self.drawn.wrapping_add(1);
        (number % u64::from(end.max(1))) as u32
    }

    /// An element of a non-empty list.
    pub fn pick<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len() as u32) as usize]
    }

    /// Shuffles a list (Fisher and Yates).
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            let other = self.below(last as u32 + 1) as usize;
            all.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_and_every_number_come_up() {
        let mut draw = SeededRandom::new(1);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let mut three = [0, 1, 2];
            draw.shuffle(&mut three);
            seen.insert(three);
        }
        assert_eq!(seen.len(), 6);
        assert_ne!(
            [0; 8].map(|_| SeededRandom::new(1).below(1000)),
            [0; 8].map(|_| draw.below(1000))
        );
    }
}
