//! Whether the sums are right and one step after them is wrong: a factor, or another conversion.
use harness::Launched;

use super::diagnosis::{Cause, CauseKind};
use super::misplaced::{ENOUGH, Product};

/// The anchor on the book's page of mistakes.
const MISTAKE: &str = "wrong-epilogue";

/// Only sums of at least this many tolerances determine the factor.
const LARGE: f64 = 64.0;

/// Factors that are searched for. Others make most elements infinite or subnormal in f16.
const FACTORS: std::ops::Range<f64> = 1e-3..1e3;

/// The cause, if all wrong elements agree.
pub fn of(wrong: &Launched) -> Option<Cause> {
    let product = Product::of(wrong);
    let all: Vec<Element> = product
        .wrong()
        .into_iter()
        .map(|(row, column)| Element::of(&product, row, column))
        .collect();
    if all.len() < ENOUGH {
        return None;
    }
    by_bits(&all).or_else(|| by_a_factor(&all))
}

/// A wrong element of C.
#[derive(Clone, Copy)]
struct Element {
    got: f64,
    want: f64,
    bound: f64,
}

impl Element {
    fn of(product: &Product, row: usize, column: usize) -> Self {
        let (want, bound) = product.wanted(row, column);
        let got = product.got(row, column);
        Self { got, want, bound }
    }

    /// Whether it is this multiple of what it should be.
    fn is_times(&self, times: f64) -> bool {
        (self.got - times * self.want).abs() <= 2.0 * (times * self.bound).abs()
    }
}

/// The upper half of an f32 is a bf16.
fn by_bits(all: &[Element]) -> Option<Cause> {
    let as_bf16 = |got: f64| f32::from_bits(u32::from(half::f16::from_f64(got).to_bits()) << 16);
    let is_one = |one: &Element| {
        (f64::from(as_bf16(one.got)) - one.want).abs() <= one.want.abs() / 64.0 + one.bound
    };
    all.iter().all(is_one).then(|| Cause {
        what: "the bits of each wrong element are those of the right sum as bf16, the upper half of an f32".into(),
        hint: "C is f16: which instruction converts a sum, and which format does its name say?"
            .into(),
        kind: CauseKind::Other(MISTAKE),
    })
}

/// The same factor for all.
fn by_a_factor(all: &[Element]) -> Option<Cause> {
    let is_large = |one: &&Element| one.want.abs() > LARGE * one.bound && one.got.is_finite();
    let large = all.iter().filter(is_large);
    let (products, squares) = large.clone().fold((0.0, 0.0), |(products, squares), one| {
        (products + one.got * one.want, squares + one.want * one.want)
    });
    let times = products / squares;
    // What is nearly 1 is rounding.
    let is_known = FACTORS.contains(&times.abs()) && (times - 1.0).abs() > 0.03;
    let agree = large.count() >= ENOUGH && all.iter().all(|one| one.is_times(times));
    (is_known && agree).then(|| {
        let shown = format!("{times:.3}");
        let shown = shown.trim_end_matches('0').trim_end_matches('.');
        Cause {
            what: format!("each wrong element is {shown} times what it should be"),
            hint: "where is this factor: is a sum multiplied, or converted otherwise, before it is stored, was an element of A or B before it \
                   was multiplied, or is each product added more than once?"
                .into(),
            kind: CauseKind::Other(MISTAKE),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements whose values are this function of what they should be.
    fn elements(value: impl Fn(f64) -> f64) -> Vec<Element> {
        let all = (1..40).map(|i| f64::from(i * i % 37) - 18.25);
        let rounded = |value: f64| half::f16::from_f64(value).to_f64();
        let element = |want: f64| Element {
            got: rounded(value(want)),
            want,
            bound: want.abs() / 1024.0 + 0.01,
        };
        all.map(element).collect()
    }

    #[test]
    fn a_factor_is_one_number_for_all() {
        let said = |value: &dyn Fn(f64) -> f64| by_a_factor(&elements(value)).map(|one| one.what);
        let times = |number| format!("each wrong element is {number} times what it should be");
        assert_eq!(said(&|want| want / 2.0), Some(times("0.5")));
        assert_eq!(said(&|want| -want), Some(times("-1")));
        assert_eq!(said(&|want| 3.0 * want), Some(times("3")));
        assert_eq!(said(&|want| want), None, "rounding");
        assert_eq!(said(&|_| 0.0), None, "nothing is stored");
        assert_eq!(said(&f64::abs), None, "some are right");
        assert_eq!(said(&|want| 2.0 * want + 1.0), None);
        assert_eq!(said(&|_| f64::NAN), None);
    }

    #[test]
    fn the_upper_half_of_a_float_is_known() {
        let bits =
            |want: f64| half::f16::from_bits(((want as f32).to_bits() >> 16) as u16).to_f64();
        assert!(by_bits(&elements(bits)).is_some());
        assert!(by_bits(&elements(|want| want)).is_none());
        assert!(by_bits(&elements(|_| 0.0)).is_none());
    }
}
