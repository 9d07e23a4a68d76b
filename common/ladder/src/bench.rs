//! `cargo ladder bench`: times every rung on the GPU; the result is recorded in results/ or compared with a record.
use std::path::PathBuf;

use anyhow::{Result, bail};
use harness::Size;
use serde_json::Value;

use crate::compare;
use crate::record::{self, Record};
use crate::timing::{self, Timed, Timing};
use harness::rungs::{self, Variant};

#[derive(clap::Args)]
pub struct Arguments {
    /// The sizes [default: 512 to 16384 by powers of two; the last rung also at sizes between them, at some that are not
    /// square, and at those of layers of language models]
    #[arg(long, value_name = "N|MxNxK,...", value_delimiter = ',')]
    sizes: Vec<Size>,
    /// Only these rungs, by number or name [default: all]
    #[arg(long, value_name = "RUNG,...", value_delimiter = ',')]
    rungs: Vec<String>,
    /// Of rungs with kernels for several architectures, time only those for this one
    #[arg(long, value_name = "SM")]
    arch: Option<String>,
    /// Where the record's folder is made [default: results/ in the workspace; with `--against`, nowhere]. With
    /// `--sizes`, `--rungs` or `--arch`, a record of the same GPU keeps what is not timed again
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Compare with this record, at its sizes: exit code 1 if a rung is slower relative to cuBLAS than it was
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// Which GPU: gpu or gpu:N
    #[arg(long, default_value = "gpu")]
    device: String,
}

/// A short K, few columns, and sides that are not multiples of any tile.
pub fn other_sizes() -> [Size; 3] {
    let sizes = [[4096, 4096, 1024], [8192, 1024, 8192], [4000, 3000, 2000]];
    sizes.map(|[m, n, k]| Size { m, n, k })
}

/// Sizes between the powers of two, with other partial last waves.
const BETWEEN: [u32; 3] = [5120, 6144, 12288];

/// N and K of the layers of language models: a hidden size of 4096, with 1024 columns of keys or values, 6144 of
/// queries, keys and values together, and 14336 of a feed-forward layer or 28672 of two. M is the number of tokens.
const LAYERS: [[u32; 2]; 10] = [
    [1024, 4096],
    [6144, 4096],
    [14336, 4096],
    [28672, 4096],
    [4096, 6144],
    [4096, 14336],
    [4096, 28672],
    [14336, 1024],
    [6144, 6144],
    [14336, 14336],
];
const TOKENS: u32 = 4096;

/// Additional sizes for the last rung, the one that is compared with cuBLAS.
fn sizes_of_the_last() -> impl Iterator<Item = Size> {
    let layers = LAYERS.map(|[n, k]| Size { m: TOKENS, n, k });
    let between = BETWEEN.map(Size::cube);
    other_sizes().into_iter().chain(between).chain(layers)
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    // Checked first, so that no time is wasted.
    let old = arguments.against.as_deref().map(Record::read).transpose()?;
    let rungs = rungs::named(&arguments.rungs)?;
    rungs::build(&rungs)?;
    let last = rungs::all()?.pop();
    let mut timings = Vec::new();
    let wanted = |variant: &Variant| match (&variant.arch, &arguments.arch) {
        (Some(arch), Some(wanted)) => arch == wanted,
        _ => true,
    };
    for variant in Variant::all(&rungs)?.into_iter().filter(wanted) {
        let is_last = last.as_ref() == Some(&variant.rung);
        let sizes = sizes(&arguments.sizes, old.as_ref(), &variant.label(), is_last);
        timings.extend(sizes.into_iter().map(|size| Timing {
            variant: variant.clone(),
            tile: None,
            kernel: None,
            size,
            quick: false,
        }));
    }
    if timings.is_empty() {
        bail!(
            "no kernel of these rungs is for that architecture at these sizes; omit --arch, or name sm_80 or sm_90a"
        );
    }
    let timed = timing::all(&timings, &arguments.device)?;
    let record = Record::new(benches(&timings, &timed))?;
    harness::print!("{}", record.table());
    let usual = || old.is_none().then(record::results);
    let out = arguments.out.clone().or_else(usual);
    let right = record.runs().all(|(_, run)| run.verify.ok);
    let as_fast = match old {
        Some(old) => {
            let as_fast = compare::print(&old, &record)?;
            harness::println!();
            as_fast
        }
        None => true,
    };
    if let Some(out) = out {
        let whole =
            arguments.sizes.is_empty() && arguments.rungs.is_empty() && arguments.arch.is_none();
        let record = match whole {
            true => record,
            false => record.merged_with(&out)?,
        };
        harness::println!("\nwritten to {}", record.write(&out)?.display());
    }
    timed.complete()?;
    Ok(right && as_fast)
}

/// The sizes at which to time a rung: those of the command line, those of the record, or the default ones.
fn sizes(asked: &[Size], old: Option<&Record>, label: &str, is_last: bool) -> Vec<Size> {
    match (asked, old) {
        ([], Some(old)) => {
            let runs = old.runs().filter(|(rung, _)| *rung == label);
            runs.map(|(_, run)| run.size).collect()
        }
        ([], None) => {
            let others = sizes_of_the_last().filter(|_| is_last);
            harness::SIZES.into_iter().chain(others).collect()
        }
        (asked, _) => asked.to_vec(),
    }
}

/// The timings, one object for each rung, as its `bench --json` prints them for several sizes.
fn benches(timings: &[Timing], timed: &Timed) -> Vec<Value> {
    let mut benches: Vec<Value> = Vec::new();
    for (index, one) in &timed.made {
        let label = timings[*index].variant.label();
        match benches.last_mut() {
            Some(bench) if bench["rung"] == label.as_str() => {
                if let (Some(sizes), Some(more)) =
                    (bench["sizes"].as_array_mut(), one["sizes"].as_array())
                {
                    sizes.extend(more.iter().cloned());
                }
            }
            _ => {
                let mut bench = one.clone();
                bench["rung"] = label.into();
                benches.push(bench);
            }
        }
    }
    benches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::for_tests::{bench, right};
    use harness::rungs::Rung;

    #[test]
    fn the_last_rung_is_timed_at_more_sizes() {
        let of = |is_last| sizes(&[], None, "06_pipeline sm_80", is_last);
        assert_eq!(of(false), harness::SIZES);
        assert_eq!(of(true)[..6], harness::SIZES);
        assert_eq!(of(true)[6..], sizes_of_the_last().collect::<Vec<_>>());
        assert_eq!(of(true).len(), 6 + 3 + 3 + 10);
    }

    #[test]
    fn a_comparison_is_at_the_sizes_of_the_record() {
        let sizes_of = |names: [&str; 2]| names.map(|size| right(size, "", [1.0, 1.0])).to_vec();
        let old = vec![
            bench("01", sizes_of(["64x64x64", "1x2x3"])),
            bench("02", sizes_of(["8x8x8", "9x9x9"])),
        ];
        let old = Record::new(old).expect("a record");
        let names = |asked: &[Size], label| {
            let sizes = sizes(asked, Some(&old), label, true);
            sizes.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(names(&[], "01"), ["64x64x64", "1x2x3"]);
        assert_eq!(names(&[Size::cube(7)], "01"), ["7x7x7"]);
        assert!(names(&[], "03").is_empty());
    }

    #[test]
    fn sizes_of_a_rung_are_gathered() {
        let timing = |name: &str, arch: Option<&str>, size| Timing {
            variant: Variant {
                rung: Rung {
                    name: name.into(),
                    folder: None,
                },
                arch: arch.map(Into::into),
            },
            tile: None,
            kernel: None,
            size: Size::cube(size),
            quick: false,
        };
        let timings = [
            timing("05", None, 8),
            timing("06", Some("sm_80"), 8),
            timing("06", Some("sm_80"), 9),
            timing("06", Some("sm_90a"), 8),
        ];
        let one = |size: &str| bench("", vec![right(size, "", [1.0, 1.0])]);
        // The first of rung 06 could not be timed.
        let made = vec![(0, one("8x8x8")), (2, one("9x9x9")), (3, one("8x8x8"))];
        let found = Record::new(benches(&timings, &Timed { made, failed: 1 })).expect("a record");
        let found: Vec<_> = found
            .runs()
            .map(|(rung, run)| format!("{rung} {}", run.size))
            .collect();
        assert_eq!(found, ["05 8x8x8", "06 sm_80 9x9x9", "06 sm_90a 8x8x8"]);
    }
}
