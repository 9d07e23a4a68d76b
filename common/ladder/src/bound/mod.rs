//! `cargo ladder bound`: what limits every rung, beside what was measured.
mod counters;

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::calibrate;
use crate::record::Record;
use crate::rungs::{self, Variant};
use crate::table::{head, markdown_table, percent};

#[derive(clap::Args)]
pub struct Arguments {
    /// A record of `cargo ladder bench`, with its bench.json [default: that of the ceilings]
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// Show what loads and stores asked the memory for, emulated and as an H100 counted it, beside bound and time
    #[arg(long)]
    counters: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let record = match &arguments.against {
        Some(folder) => folder.clone(),
        None => rungs::root()
            .context("the record is not here; name one with `--against DIR`")?
            .join(harness::ceilings::RECORD)
            .with_file_name(""),
    };
    let measured = Record::read(&record)?;
    let rungs = rungs::all()?;
    rungs::build(&rungs)?;
    let lines = Variant::all(&rungs)?
        .iter()
        .map(|variant| Line::new(variant, &measured))
        .collect::<Result<Vec<_>>>()?;
    if arguments.counters {
        let counted = lines.iter().map(|line| calibrate::counters(&line.kernel()));
        let counted = counted.collect::<Result<Vec<_>>>()?;
        anstream::print!("{}", counters::table(&lines, &counted));
        let size = calibrate::SIZE_OF_COUNTERS;
        anstream::println!("counters are those of loads and stores at {size}");
        return Ok(counted.iter().flatten().all(|[emulated, measured]| {
            emulated.wavefronts == measured.wavefronts && emulated.sectors == measured.sectors
        }));
    }
    anstream::print!("{}", table(&lines));
    let beaten: Vec<_> = lines.iter().filter(|line| line.is_beaten()).collect();
    for line in &beaten {
        anstream::println!(
            "{} is faster than its bound: a ceiling is too low",
            line.rung
        );
    }
    Ok(beaten.is_empty())
}

/// A rung's prediction, and what the record says of it.
struct Line {
    rung: String,
    folder: String,
    arch: String,
    /// That which the host takes at this size.
    tile: String,
    /// M, N and K.
    size: String,
    limited_by: String,
    /// TFLOP/s, and as a fraction of cuBLAS.
    predicted: (f64, f64),
    measured: Option<(f64, f64)>,
}

impl Line {
    fn new(variant: &Variant, record: &Record) -> Result<Self> {
        let mut profile = profile(variant)?;
        let bound = profile["bound"].take();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let number = |key: &str| {
            bound[key]
                .as_f64()
                .with_context(|| format!("{} has no bound", variant.label()))
        };
        Ok(Self {
            rung: variant.label(),
            folder: variant.rung.name.clone(),
            arch: text(&profile["arch"]),
            tile: text(&bound["tile"]),
            size: text(&bound["size"]),
            limited_by: text(&bound["limited_by"]),
            predicted: (number("tflops")?, number("of_cublas")?),
            measured: bound["size"]
                .as_str()
                .and_then(|size| measured(record, &variant.label(), size)),
        })
    }

    /// As recordings name it.
    fn kernel(&self) -> [&str; 3] {
        [&self.folder, &self.arch, &self.tile]
    }

    fn is_beaten(&self) -> bool {
        self.measured
            .is_some_and(|(tflops, _)| tflops > self.predicted.0)
    }
}

/// A rung's `profile --json`, on the emulator.
fn profile(variant: &Variant) -> Result<Value> {
    let output = variant
        .command()?
        .args(["profile", "--json", "--device", "emulator"])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", variant.label()))?;
    match serde_json::from_slice::<Value>(&output.stdout) {
        Ok(profile) => Ok(profile),
        Err(_) => bail!(
            "{} could not be profiled; its message stands above",
            variant.label()
        ),
    }
}

/// TFLOP/s of a rung at a size, and as a fraction of cuBLAS f16 by turns.
fn measured(record: &Record, rung: &str, size: &str) -> Option<(f64, f64)> {
    let run = record.run(rung, size.parse().ok()?)?;
    Some((run.time.as_ref()?.tflops, run.of_cublas()?))
}

/// One line a rung; each step is the quotient by the line above.
fn table(lines: &[Line]) -> String {
    let mut rows = vec![head(&[
        "rung",
        "limited by",
        "TFLOP/s at most",
        "of cuBLAS",
        "step",
        "measured",
        "of cuBLAS",
        "step",
        "of the bound",
    ])];
    let mut before: Option<&Line> = None;
    for line in lines {
        let step = |now: Option<f64>, then: Option<f64>| match (now, then) {
            (Some(now), Some(then)) => format!("{:.2}x", now / then),
            _ => String::new(),
        };
        let tflops = |pair: Option<(f64, f64)>| pair.map(|(tflops, _)| tflops);
        let cell = |text: Option<String>| text.unwrap_or_default();
        rows.push(vec![
            line.rung.clone(),
            line.limited_by.clone(),
            format!("{:.1}", line.predicted.0),
            percent(line.predicted.1),
            step(
                Some(line.predicted.0),
                before.map(|before| before.predicted.0),
            ),
            cell(tflops(line.measured).map(|tflops| format!("{tflops:.1}"))),
            cell(line.measured.map(|(_, ratio)| percent(ratio))),
            step(
                tflops(line.measured),
                before.and_then(|before| tflops(before.measured)),
            ),
            cell(tflops(line.measured).map(|tflops| percent(tflops / line.predicted.0))),
        ]);
        before = Some(line);
    }
    markdown_table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::Counts;
    use crate::record::example::{bench, right, wrong};

    fn line(rung: &str, predicted: f64, measured: Option<f64>) -> Line {
        Line {
            rung: rung.into(),
            folder: rung.into(),
            arch: "sm_80".into(),
            tile: "128x128".into(),
            size: "64x64x64".into(),
            limited_by: "L1 data pipe".into(),
            predicted: (predicted, predicted / 1000.0),
            measured: measured.map(|tflops| (tflops, tflops / 800.0)),
        }
    }

    #[test]
    fn what_was_measured_is_found_by_rung_and_size() {
        let sizes = vec![right("64x64x64", "", [2.0, 0.25]), wrong("32x32x32")];
        let record = Record::new(vec![bench("04_mma", sizes)]).expect("a record");
        let of = |rung, size| measured(&record, rung, size);
        assert_eq!(of("04_mma", "64x64x64"), Some((0.262144, 0.125)));
        assert_eq!(of("04_mma", "32x32x32"), None);
        assert_eq!(of("05_swizzle", "64x64x64"), None);
    }

    #[test]
    fn counters_stand_beside_bound_and_time() {
        let counts = |wavefronts, sectors| Counts {
            wavefronts,
            sectors,
            ..Counts::default()
        };
        let lines = [
            line("04_mma", 125.0, Some(100.0)),
            line("06_pipeline", 800.0, None),
        ];
        let counted = [Some([counts(35072, 4096), counts(35073, 4096)]), None];
        assert_eq!(
            counters::table(&lines, &counted),
            "| rung        | limited by   | TFLOP/s at most | measured | time | shared wavefronts, emulated | on the H100 | global sectors, emulated | on the H100 |\n\
             | ----------- | ------------ | --------------: | -------: | ---: | --------------------------: | ----------: | -----------------------: | ----------: |\n\
             | 04_mma      | L1 data pipe |           125.0 |    100.0 | 5 ns |                      35,072 |      35,073 |                    4,096 |       4,096 |\n\
             | 06_pipeline | L1 data pipe |           800.0 |          |      |                             |             |                          |             |\n"
        );
    }

    #[test]
    fn the_table_sets_measured_beside_predicted() {
        let lines = [
            line("04_mma", 125.0, Some(100.0)),
            line("05_swizzle", 500.0, Some(300.0)),
            line("06_pipeline", 800.0, None),
        ];
        assert_eq!(
            table(&lines),
            "| rung        | limited by   | TFLOP/s at most | of cuBLAS |  step | measured | of cuBLAS |  step | of the bound |\n\
             | ----------- | ------------ | --------------: | --------: | ----: | -------: | --------: | ----: | -----------: |\n\
             | 04_mma      | L1 data pipe |           125.0 |     12.5% |       |    100.0 |     12.5% |       |        80.0% |\n\
             | 05_swizzle  | L1 data pipe |           500.0 |     50.0% | 4.00x |    300.0 |     37.5% | 3.00x |        60.0% |\n\
             | 06_pipeline | L1 data pipe |           800.0 |     80.0% | 1.60x |          |           |       |              |\n"
        );
        assert!(lines.iter().all(|line| !line.is_beaten()));
        assert!(line("04_mma", 125.0, Some(126.0)).is_beaten());
    }
}
