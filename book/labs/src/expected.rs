//! The expected output of a launch, and the comparison with it.
use half::{bf16, f16};

/// The expected contents of a launch's first output.
#[derive(Clone, Debug)]
pub enum Expected {
    /// These 32-bit words, bit for bit.
    Words(Vec<u32>),
    /// f16 numbers near these, each with its index and its tolerance.
    Near(Vec<Near>),
    /// The same in bf16.
    NearBf16(Vec<Near>),
    /// The same in f32.
    NearF32(Vec<Near>),
}

/// A number with a tolerance for rounding.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// The index of the element in the output.
    pub place: usize,
    /// Its expected value, computed in f64.
    pub value: f64,
    /// Its tolerance.
    pub bound: f64,
}

/// The result of the comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Number of elements compared.
    pub checked: usize,
    /// Number of wrong elements.
    pub wrong: usize,
    /// The first wrong element: its index, its value, the expected value.
    pub first_wrong: Option<(usize, f64, f64)>,
    /// The largest error as a fraction of its tolerance.
    pub worst: f64,
}

impl Comparison {
    /// Whether every compared element is correct, and at least one was compared.
    pub fn ok(&self) -> bool {
        self.wrong == 0 && self.checked > 0
    }

    fn add_all<const BYTES: usize>(
        &mut self,
        output: &[u8],
        values: &[Near],
        read: fn([u8; BYTES]) -> f64,
    ) {
        for near in values {
            let got = element(output, near.place, read);
            self.add(near.place, got, near.value, near.bound);
        }
    }

    fn add(&mut self, place: usize, got: f64, want: f64, bound: f64) {
        self.checked += 1;
        let error = (got - want).abs();
        if bound > 0.0 && error.is_finite() {
            self.worst = self.worst.max(error / bound);
        }
        // NaN is never within a tolerance.
        let is_near = error <= bound;
        if !is_near {
            self.wrong += 1;
            self.first_wrong.get_or_insert((place, got, want));
        }
    }
}

impl Expected {
    /// Compares an output.
    pub fn check(&self, output: &[u8]) -> Comparison {
        let mut verdict = Comparison::default();
        match self {
            Self::Words(words) => {
                for (place, want) in words.iter().enumerate() {
                    let got = element(output, place, |word| u32::from_le_bytes(word).into());
                    verdict.add(place, got, f64::from(*want), 0.0);
                }
            }
            Self::Near(values) => {
                verdict.add_all(output, values, |half| f16::from_le_bytes(half).into());
            }
            Self::NearBf16(values) => {
                verdict.add_all(output, values, |half| bf16::from_le_bytes(half).into());
            }
            Self::NearF32(values) => {
                verdict.add_all(output, values, |word| f32::from_le_bytes(word).into());
            }
        }
        verdict
    }
}

/// An element of an output; NaN beyond its end.
fn element<const BYTES: usize>(output: &[u8], place: usize, read: fn([u8; BYTES]) -> f64) -> f64 {
    let (elements, _) = output.as_chunks();
    elements.get(place).copied().map_or(f64::NAN, read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_missing_or_nan_is_found() {
        let bytes = |words: &[u32]| {
            words
                .iter()
                .flat_map(|w| w.to_le_bytes())
                .collect::<Vec<_>>()
        };
        let expected = Expected::Words(vec![1, 2, 3]);
        assert!(expected.check(&bytes(&[1, 2, 3, 9])).ok());
        let wrong = expected.check(&bytes(&[1, 5]));
        assert_eq!((wrong.wrong, wrong.first_wrong), (2, Some((1, 5.0, 2.0))));
        assert!(!Expected::Words(Vec::new()).check(&[]).ok());

        let near = |value| {
            Expected::Near(vec![Near {
                place: 1,
                value,
                bound: 0.01,
            }])
        };
        let halves = |values: [f32; 2]| values.map(|v| f16::from_f32(v).to_le_bytes()).concat();
        assert!(near(0.5).check(&halves([9.0, 0.505])).ok());
        assert!(!near(0.5).check(&halves([9.0, 0.52])).ok());
        assert!(!near(0.5).check(&halves([9.0, f32::NAN])).ok());
        assert!(!near(0.5).check(&[]).ok());

        let Expected::Near(values) = near(0.5) else {
            unreachable!("as above")
        };
        let halves = |values: [f32; 2]| values.map(|v| bf16::from_f32(v).to_le_bytes()).concat();
        let near = Expected::NearBf16(values.clone());
        assert!(near.check(&halves([9.0, 0.505])).ok());
        assert!(!near.check(&halves([9.0, 0.52])).ok());
        let near = Expected::NearF32(values);
        let words = |values: [f32; 2]| values.map(f32::to_le_bytes).concat();
        assert!(near.check(&words([9.0, 0.505])).ok());
        assert!(!near.check(&words([9.0, 0.52])).ok());
    }
}
