//! `--expect`: compares a buffer with its expected contents.
use harness::table::plural;
use serde::Serialize;

use super::element::Value;
use super::launch::Tolerance;
use super::npy::Array;

/// The most differing elements that are shown.
const SHOWN: usize = 8;

/// The result of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Number of the argument.
    pub argument: usize,
    pub elements: usize,
    pub different: usize,
    /// The largest difference, among elements that are numbers on both sides.
    pub largest: f64,
    pub first: Vec<Difference>,
}

/// An element that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub index: Vec<u64>,
    pub is: String,
    pub expected: String,
}

/// Compares element by element; NaN equals NaN.
///
/// # Errors
/// If their lengths differ.
pub fn compare(
    argument: usize,
    is: &Array,
    expected: &Array,
    tolerance: Tolerance,
) -> Result<Comparison, String> {
    let (found, wanted) = (
        is.element.values(&is.bytes),
        expected.element.values(&expected.bytes),
    );
    if found.len() != wanted.len() {
        return Err(format!(
            "argument {argument} has {}, not {}",
            plural(found.len() as u64, "element"),
            wanted.len()
        ));
    }
    let mut comparison = Comparison {
        argument,
        elements: found.len(),
        different: 0,
        largest: 0.0,
        first: Vec::new(),
    };
    for (at, (is_value, expected)) in found.zip(wanted).enumerate() {
        let (difference, same) = differs(is_value, expected, tolerance);
        if difference.is_finite() {
            comparison.largest = comparison.largest.max(difference);
        }
        if same {
            continue;
        }
        comparison.different += 1;
        if comparison.first.len() < SHOWN {
            comparison.first.push(Difference {
                index: index(at as u64, &is.shape),
                is: is_value.to_string(),
                expected: expected.to_string(),
            });
        }
    }
    Ok(comparison)
}

/// The distance of two values, and whether it is within the tolerance.
fn differs(is: Value, expected: Value, tolerance: Tolerance) -> (f64, bool) {
    if let (Value::Int(is), Value::Int(expected)) = (is, expected) {
        let difference = (is - expected).unsigned_abs() as f64;
        let near = tolerance.absolute + tolerance.relative * expected.unsigned_abs() as f64;
        return (difference, difference <= near);
    }
    let (is, expected) = (is.as_f64(), expected.as_f64());
    if is == expected || is.is_nan() && expected.is_nan() {
        return (0.0, true);
    }
    let difference = (is - expected).abs();
    let near = tolerance.absolute + tolerance.relative * expected.abs();
    (difference, near.is_finite() && difference <= near)
}

/// The index of an element in an array of this shape.
pub fn index(mut at: u64, shape: &[u64]) -> Vec<u64> {
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&side| {
            let side = side.max(1);
            let i = at % side;
            at /= side;
            i
        })
        .collect();
    index.reverse();
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::element::Element;

    fn array(element: Element, values: &[f64], shape: &[u64]) -> Array {
        let bytes = values
            .iter()
            .flat_map(|&value| element.of_f64(value))
            .collect();
        Array {
            element,
            shape: shape.to_vec(),
            bytes,
        }
    }

    #[test]
    fn the_first_that_differ_are_named() {
        let is = array(
            Element::F32,
            &[1.0, 2.0, f64::NAN, 4.0, 5.0, f64::INFINITY],
            &[2, 3],
        );
        let expected = array(
            Element::F64,
            &[1.0, 2.5, f64::NAN, 4.0, f64::NAN, f64::INFINITY],
            &[6],
        );
        let exact = compare(1, &is, &expected, Tolerance::default()).expect("as many");
        assert_eq!((exact.different, exact.largest), (2, 0.5));
        assert_eq!(
            exact.first[0],
            Difference {
                index: vec![0, 1],
                is: "2".into(),
                expected: "2.5".into()
            }
        );
        assert_eq!(exact.first[1].index, [1, 1]);
        let loose = Tolerance {
            relative: 0.2,
            absolute: 0.0,
        };
        assert_eq!(
            compare(1, &is, &expected, loose)
                .expect("as many")
                .different,
            1
        );
        let few = array(Element::F32, &[1.0], &[1]);
        assert_eq!(
            compare(1, &few, &expected, loose),
            Err("argument 1 has 1 element, not 6".into())
        );
    }

    #[test]
    fn integers_are_compared_in_full() {
        let of = |value: i128| Array {
            element: Element::U64,
            shape: vec![1],
            bytes: Element::U64.of_int(value),
        };
        let (one, other) = (of(u64::MAX.into()), of(i128::from(u64::MAX) - 1));
        let found = compare(0, &one, &other, Tolerance::default()).expect("as many");
        assert_eq!((found.different, found.largest), (1, 1.0));
        let near = Tolerance {
            relative: 0.0,
            absolute: 1.0,
        };
        assert_eq!(
            compare(0, &one, &other, near).expect("as many").different,
            0
        );
        assert_eq!(
            (index(7, &[2, 3, 4]), index(0, &[])),
            (vec![0, 1, 3], vec![])
        );
    }
}
