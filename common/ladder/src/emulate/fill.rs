//! The contents of a buffer before the launch.
use std::path::{Path, PathBuf};

use harness::splitmix64;

use super::element::{Element, float, integer};
use super::npy::{self, Array};

/// How a buffer is filled.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    Zeros,
    Ones,
    /// Roughly normal, with an optional seed.
    Normal(Option<u64>),
    /// Uniform between two numbers, with an optional seed.
    Uniform(Option<(String, String)>, Option<u64>),
    /// 0, 1, 2 …
    Iota,
    Nan,
    /// All bits set.
    Poison,
    /// One number for all elements, or a number for each.
    Values(Vec<String>),
    Npy(PathBuf),
}

impl Fill {
    /// `zeros`, `normal:7`, `uniform(-1, 1)`, `0.5`, `1, 2, 3`, `a.npy`
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if is_npy(text) {
            return Ok(Self::Npy(text.into()));
        }
        let (name, seed) = match text.split_once(':') {
            Some((name, seed)) => {
                let seed = seed.trim().parse();
                (
                    name.trim(),
                    Some(seed.map_err(|_| format!("`{text}` has no number as its seed"))?),
                )
            }
            None => (text, None),
        };
        let bounds = name
            .strip_prefix("uniform(")
            .and_then(|rest| rest.strip_suffix(')'));
        let bounds = bounds.and_then(|inside| inside.split_once(','));
        let fill = match (name, bounds) {
            ("normal", _) => return Ok(Self::Normal(seed)),
            ("uniform", _) => return Ok(Self::Uniform(None, seed)),
            (_, Some((low, high))) => {
                return Ok(Self::Uniform(
                    Some((low.trim().into(), high.trim().into())),
                    seed,
                ));
            }
            ("zeros", _) => Self::Zeros,
            ("ones", _) => Self::Ones,
            ("iota", _) => Self::Iota,
            ("nan", _) => Self::Nan,
            ("poison", _) => Self::Poison,
            _ => Self::Values(
                name.split(',')
                    .map(|value| value.trim().to_owned())
                    .collect(),
            ),
        };
        let numbers = |values: &[String]| {
            values
                .iter()
                .all(|value| float(value).is_some() || integer(value).is_some())
        };
        match &fill {
            _ if seed.is_some() => Err(format!("`{name}` takes no seed; normal and uniform do")),
            Self::Values(values) if !numbers(values) => Err(format!(
                "`{name}` is not a fill; use zeros, ones, normal, uniform, uniform(LOW,HIGH), iota, nan, poison, a number, as many numbers as \
                 there are elements, or a file.npy"
            )),
            _ => Ok(fill),
        }
    }

    /// The bytes of `count` elements. Random numbers whose fill has no seed use `seed`.
    ///
    /// # Errors
    /// If the type does not have such values.
    pub fn bytes(&self, element: Element, count: usize, seed: u64) -> Result<Vec<u8>, String> {
        let name = element.name();
        let repeated = |one: Vec<u8>| one.repeat(count);
        match self {
            Self::Zeros => Ok(vec![0; count * element.bytes()]),
            Self::Ones => Ok(repeated(element.of_int(1))),
            Self::Poison => Ok(vec![0xff; count * element.bytes()]),
            Self::Nan if element.is_float() => Ok(repeated(element.of_f64(f64::NAN))),
            Self::Nan => Err(format!(
                "{name} has no NaN; take poison, which sets every bit"
            )),
            Self::Iota => Ok((0..count).flat_map(|i| element.of_int(i as i128)).collect()),
            Self::Normal(own) if element.is_float() => {
                let numbers = random(own.unwrap_or(seed)).map(normal);
                Ok(numbers
                    .take(count)
                    .flat_map(|value| element.of_f64(value))
                    .collect())
            }
            Self::Normal(_) => Err(format!(
                "normal is for floats, and this is {name}; take uniform(LOW,HIGH)"
            )),
            Self::Uniform(bounds, own) => {
                let numbers = random(own.unwrap_or(seed)).take(count);
                let range = bounds
                    .as_ref()
                    .map(|(low, high)| (low.as_str(), high.as_str()));
                uniform(element, range, numbers)
            }
            Self::Values(values) => match &values[..] {
                [one] => Ok(repeated(element.read(one)?)),
                all if all.len() == count => {
                    let bytes = all.iter().map(|value| element.read(value));
                    Ok(bytes.collect::<Result<Vec<_>, _>>()?.concat())
                }
                all => Err(format!("{} values for {count} elements", all.len())),
            },
            Self::Npy(path) => Err(format!("{} is read elsewhere", path.display())),
        }
    }
}

/// Whether a word names a file of this kind.
pub fn is_npy(text: &str) -> bool {
    Path::new(text)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("npy"))
}

/// Reads the array in a file.
///
/// # Errors
/// The file, and what is wrong with it.
pub fn read_npy(path: &Path) -> Result<Array, String> {
    let file =
        std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    npy::read(&file).map_err(|why| format!("{}: {why}", path.display()))
}

fn random(seed: u64) -> impl Iterator<Item = u64> {
    (0..).map(move |index| splitmix64(splitmix64(seed) ^ splitmix64(index)))
}

/// Roughly normal with variance 1: the sum of twelve uniform numbers minus its mean. This uses no function whose last
/// bit depends on the machine.
fn normal(bits: u64) -> f64 {
    let sum: u64 = (1..=12).map(|i| splitmix64(bits ^ i) >> 32).sum();
    (sum as f64) / 2f64.powi(32) - 6.0
}

/// Without bounds, from 0 up to 1 for floats and from 0 up to 100 for integers.
fn uniform(
    element: Element,
    bounds: Option<(&str, &str)>,
    numbers: impl Iterator<Item = u64>,
) -> Result<Vec<u8>, String> {
    if element.is_float() {
        let (low, high) = bounds.unwrap_or(("0", "1"));
        let number = |text| {
            float(text)
                .filter(|value| value.is_finite())
                .ok_or_else(|| format!("`{text}` is not a number"))
        };
        let (low, high) = (number(low)?, number(high)?);
        let unit = |bits: u64| (bits >> 11) as f64 / 2f64.powi(53);
        let values = numbers.map(|bits| low + (high - low) * unit(bits));
        return Ok(values.flat_map(|value| element.of_f64(value)).collect());
    }
    let (low, high) = bounds.unwrap_or(("0", "100"));
    let number = |text| {
        element.read(text)?;
        integer(text).ok_or_else(|| format!("`{text}` is not an integer"))
    };
    let (low, high) = (number(low)?, number(high)?);
    if low >= high {
        return Err(format!(
            "there is no integer from {low} up to {high}, which is not among them"
        ));
    }
    let values = numbers.map(|bits| low + i128::from(bits) % (high - low));
    Ok(values.flat_map(|value| element.of_int(value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(element: Element, text: &str, count: usize) -> Result<Vec<f64>, String> {
        let bytes = Fill::parse(text)?.bytes(element, count, 1)?;
        Ok(element.values(&bytes).map(|value| value.as_f64()).collect())
    }

    #[test]
    fn every_fill() {
        let of = |text| filled(Element::F32, text, 3).expect(text);
        assert_eq!(of("zeros"), [0.0; 3]);
        assert_eq!(of("ones"), [1.0; 3]);
        assert_eq!(of("iota"), [0.0, 1.0, 2.0]);
        assert_eq!(of("-0.5"), [-0.5; 3]);
        assert_eq!(of("1, 2,3.5"), [1.0, 2.0, 3.5]);
        assert!(
            of("nan").iter().all(|value| value.is_nan())
                && of("poison").iter().all(|value| value.is_nan())
        );
        assert_ne!(of("normal"), of("normal:2"));
        assert_eq!(of("normal"), of("normal:1"));
        assert_eq!(filled(Element::I32, "poison", 1), Ok(vec![-1.0]));
        assert_eq!(filled(Element::U8, "0xff", 1), Ok(vec![255.0]));
        assert_eq!(Fill::parse("a/b.npy"), Ok(Fill::Npy("a/b.npy".into())));
    }

    #[test]
    fn random_numbers_have_their_distribution() {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let normal = filled(Element::F64, "normal", 100_000).expect("floats");
        let squares: Vec<f64> = normal.iter().map(|value| value * value).collect();
        assert!(mean(&normal).abs() < 0.02 && (mean(&squares) - 1.0).abs() < 0.02);
        let uniform = filled(Element::F32, "uniform(-1,3):9", 100_000).expect("floats");
        assert!(
            (mean(&uniform) - 1.0).abs() < 0.02
                && uniform.iter().all(|value| (-1.0..=3.0).contains(value))
        );
        let ints = filled(Element::I8, "uniform(-3, 3)", 1000).expect("integers");
        assert!((-3..3).all(|value| ints.contains(&f64::from(value))) && !ints.contains(&3.0));
    }

    #[test]
    fn an_unknown_fill_lists_the_known_ones() {
        let error = |element, text| filled(element, text, 3).expect_err(text);
        assert!(error(Element::F32, "random").contains("is not a fill; use zeros"));
        assert!(error(Element::F32, "").contains("is not a fill"));
        assert!(error(Element::F32, "1,2").contains("2 values for 3 elements"));
        assert!(error(Element::F32, "zeros:3").contains("takes no seed"));
        assert!(error(Element::F32, "normal:x").contains("no number as its seed"));
        assert!(error(Element::I32, "nan").contains("take poison"));
        assert!(error(Element::I32, "normal").contains("take uniform"));
        assert!(error(Element::I32, "uniform(5,5)").contains("no integer"));
        assert!(error(Element::U8, "uniform(-1,5)").contains("-1 is out of range for u8"));
        assert!(error(Element::I32, "0.5").contains("is not an integer"));
    }
}
