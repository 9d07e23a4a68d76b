//! Evaluates the samples of a kernel and its baselines.
use gpu::{Contestant, Samples};
use serde::{Deserialize, Serialize};

use crate::Size;

/// The kernel.
pub const KERNEL: &str = "kernel";
/// The baseline for the ratio.
pub const CUBLAS: &str = "cuBLAS f16";
/// The fastest algorithm of cuBLASLt. Several are timed, numbered after this name.
pub const CUBLAS_LT: &str = "cuBLASLt f16";
/// The same two for bf16 with both operands K-major.
pub const CUBLAS_BF16_TN: &str = "cuBLAS bf16 TN";
/// See [`CUBLAS_BF16_TN`].
pub const CUBLAS_LT_BF16_TN: &str = "cuBLASLt bf16 TN";
/// cuBLAS without tensor cores.
pub const CUBLAS_F32: &str = "cuBLAS f32";

/// One contestant.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Contest {
    /// `kernel`, `cuBLAS f16`, `cuBLASLt f16` or `cuBLAS f32`; for bf16 `cuBLAS bf16 TN` or `cuBLASLt bf16 TN`.
    pub name: String,
    /// The library kernels that it launches, joined by ` + `; absent for `kernel`, if the driver does not report names
    /// (before CUDA 12.3), and in older records.
    #[serde(default)]
    pub kernel: Option<String>,
    /// The median of all samples.
    pub median_ms: f64,
    /// The 10th percentile of all samples.
    pub p10_ms: f64,
    /// The 90th percentile of all samples.
    pub p90_ms: f64,
    /// At the median.
    pub tflops: f64,
    /// The kernel's speed as a fraction of this one's: the median over the rounds.
    pub kernel_speed: f64,
    /// The SM clock during its samples in MHz, as counted by the SMs: the median; absent in older records.
    #[serde(default)]
    pub sm_mhz: Option<f64>,
    /// All samples in the order of the rounds, to a tenth of a nanosecond; for cuBLASLt, those of every other round.
    pub samples_ms: Vec<f64>,
}

/// The name of one of cuBLASLt's algorithms; `name` is [`CUBLAS_LT`] or [`CUBLAS_LT_BF16_TN`].
pub fn lt_name(name: &str, number: usize) -> String {
    format!("{name} {number}")
}

/// The name without the number, if it is one of cuBLASLt's algorithms.
pub(super) fn lt_without_number(name: &str) -> Option<&'static str> {
    [CUBLAS_LT, CUBLAS_LT_BF16_TN]
        .into_iter()
        .find(|lt| name.starts_with(lt))
}

/// The kernels that each contestant launches, for [`Contest::kernel`]. All contestants have run before, since a library
/// may load kernels in its first run.
pub(super) fn kernels(gpu: &gpu::Context, contestants: &[Contestant<'_>]) -> Vec<Option<String>> {
    let of = |one: &Contestant<'_>| {
        if one.name == KERNEL {
            return None;
        }
        // A timing is useful even without names.
        let names = gpu::kernels_of(gpu, || (one.enqueue)(0)).unwrap_or_default();
        (!names.is_empty()).then(|| names.join(" + "))
    };
    contestants.iter().map(of).collect()
}

/// The kernel's samples come first; `kernels` has what each contestant launches. Of cuBLASLt's algorithms, the fastest
/// in the even rounds is reported, by its odd rounds only: if the same samples selected and reported it, the luckiest
/// would win.
pub fn contests(samples: &[Samples], kernels: &[Option<String>], size: Size) -> Vec<Contest> {
    let Some(kernel) = samples.first() else {
        return Vec::new();
    };
    let is_lt = |one: &&Samples| lt_without_number(&one.name).is_some();
    let best = samples
        .iter()
        .filter(is_lt)
        .min_by(|a, b| {
            every_other(a, 0)
                .median()
                .total_cmp(&every_other(b, 0).median())
        })
        .map(|one| one.name.as_str());
    let reported = |one: &Samples| match lt_without_number(&one.name) {
        None => Some(contest(one, kernel, size)),
        Some(name) if Some(one.name.as_str()) == best => {
            let odd = Samples {
                name: name.into(),
                ..every_other(one, 1)
            };
            Some(contest(&odd, &every_other(kernel, 1), size))
        }
        Some(_) => None,
    };
    let named = |(place, one): (usize, &Samples)| {
        Some(Contest {
            kernel: kernels.get(place).cloned().flatten(),
            ..reported(one)?
        })
    };
    samples.iter().enumerate().filter_map(named).collect()
}

/// The samples of every other round, starting with the first or the second.
fn every_other(samples: &Samples, from: usize) -> Samples {
    let every_other = |all: &[f64]| all.iter().skip(from).step_by(2).copied().collect();
    Samples {
        name: samples.name.clone(),
        milliseconds: every_other(&samples.milliseconds),
        mhz: every_other(&samples.mhz),
    }
}

fn contest(theirs: &Samples, kernel: &Samples, size: Size) -> Contest {
    let rounds = theirs.milliseconds.iter().zip(&kernel.milliseconds);
    let ratios = Samples {
        name: String::new(),
        milliseconds: rounds.map(|(theirs, ours)| theirs / ours).collect(),
        mhz: Vec::new(),
    };
    Contest {
        name: theirs.name.clone(),
        kernel: None,
        median_ms: theirs.median(),
        p10_ms: theirs.percentile(10.0),
        p90_ms: theirs.percentile(90.0),
        tflops: size.flop() / theirs.median() / 1e9,
        kernel_speed: ratios.median(),
        sm_mhz: theirs.median_mhz(),
        samples_ms: theirs
            .milliseconds
            .iter()
            .map(|ms| (ms * 1e7).round() / 1e7)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(name: &str, milliseconds: &[f64]) -> Samples {
        Samples {
            name: name.into(),
            milliseconds: milliseconds.to_vec(),
            mhz: Vec::new(),
        }
    }

    #[test]
    fn the_ratio_is_the_median_over_the_rounds() {
        let found = contests(
            &[
                samples(KERNEL, &[2.0, 4.0, 8.0]),
                samples(CUBLAS, &[1.0, 1.0, 6.0]),
            ],
            &[],
            Size::cube(1000),
        );
        assert_eq!((found[0].kernel_speed, found[1].kernel_speed), (1.0, 0.5));
        assert_eq!((found[1].median_ms, found[0].tflops), (1.0, 0.5));
    }

    #[test]
    fn an_algorithm_is_chosen_by_other_rounds_than_it_is_reported_by() {
        // The first is fast in the even rounds, which choose it, and slow in the odd ones, which are reported.
        let found = contests(
            &[
                samples(KERNEL, &[1.0; 4]),
                samples(&lt_name(CUBLAS_LT, 0), &[1.0, 3.0, 1.0, 3.0]),
                samples(&lt_name(CUBLAS_LT, 1), &[2.0, 1.0, 2.0, 1.0]),
            ],
            &[None, Some("chosen".into()), Some("other".into())],
            Size::cube(1000),
        );
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[1].name.as_str(), found[1].median_ms),
            (CUBLAS_LT, 3.0)
        );
        assert_eq!(
            (found[0].kernel.as_deref(), found[1].kernel.as_deref()),
            (None, Some("chosen"))
        );
        assert_eq!((found[1].kernel_speed, found[1].samples_ms.len()), (3.0, 2));
    }

    #[test]
    fn a_record_without_names_is_read() {
        let contests = contests(&[samples(KERNEL, &[1.0])], &[], Size::cube(8));
        let mut json = serde_json::to_value(&contests[0]).expect("numbers and text");
        json.as_object_mut().expect("an object").remove("kernel");
        let older: Contest = serde_json::from_value(json).expect("a contest");
        assert_eq!(older.kernel, None);
    }
}
