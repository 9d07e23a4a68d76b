//! `cargo ladder bound`: what limits every rung, compared with measurements.
#[cfg(feature = "calibration")]
mod counters;

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::record::Record;
use crate::timing::printed;
use harness::rungs::{self, Variant};
use harness::table::{head, markdown_table, percent};

#[derive(clap::Args)]
pub struct Arguments {
    /// A record of `cargo ladder bench`, with its bench.json [default: the record of the ceilings' GPU]
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// Also show the counters of loads and stores, emulated and as an H200 counted them
    #[cfg(feature = "calibration")]
    #[arg(long)]
    counters: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let record = match &arguments.against {
        Some(folder) => folder.clone(),
        None => rungs::root()
            .context("the record is missing; name one with `--against DIR`")?
            .join(harness::ceilings::RECORD)
            .with_file_name(""),
    };
    let measured = Record::read(&record)?;
    let rungs = rungs::all()?;
    rungs::build(&rungs)?;
    let variants = Variant::all(&rungs)?;
    let lines = variants.iter().map(|one| Line::new(one, &measured));
    let lines = lines.collect::<Result<Vec<_>>>()?;
    #[cfg(feature = "calibration")]
    if arguments.counters {
        let counted = lines
            .iter()
            .map(|line| calibration::counters(line.kernel.each_ref().map(String::as_str)));
        let counted = counted.collect::<Result<Vec<_>>>()?;
        harness::print!("{}", counters::table(&lines, &counted));
        let size = calibration::SIZE_OF_COUNTERS;
        harness::println!("counters are those of loads and stores at {size}");
        return Ok(counted.iter().flatten().all(|[emulated, measured]| {
            emulated.wavefronts == measured.wavefronts && emulated.sectors == measured.sectors
        }));
    }
    harness::print!("{}", table(&lines));
    let beaten: Vec<_> = lines.iter().filter(|line| line.is_beaten()).collect();
    for Line { rung, .. } in &beaten {
        harness::println!("{rung} is faster than its bound: a ceiling is too low");
    }
    Ok(beaten.is_empty())
}

/// A rung's prediction, and the record's measurement.
struct Line {
    rung: String,
    /// The label that recordings use: folder, architecture, and the tile that the host takes at this size.
    #[cfg(feature = "calibration")]
    kernel: [String; 3],
    /// M, N and K.
    #[cfg(feature = "calibration")]
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
            let no_bound = || format!("{} has no bound", variant.label());
            bound[key].as_f64().with_context(no_bound)
        };
        let label = variant.label();
        let size = text(&bound["size"]);
        Ok(Self {
            #[cfg(feature = "calibration")]
            kernel: [
                variant.rung.name.clone(),
                text(&profile["arch"]),
                text(&bound["tile"]),
            ],
            #[cfg(feature = "calibration")]
            size: size.clone(),
            limited_by: text(&bound["limited_by"]),
            predicted: (number("tflops")?, number("of_cublas")?),
            measured: measured(record, &label, &size),
            rung: label,
        })
    }

    fn is_beaten(&self) -> bool {
        self.measured
            .is_some_and(|(tflops, _)| tflops > self.predicted.0)
    }
}

/// The output of a rung's `profile --json`, on the emulator.
fn profile(variant: &Variant) -> Result<Value> {
    let printed = printed(variant, &["profile", "--json", "--device", "emulator"])?;
    serde_json::from_slice(&printed).ok().with_context(|| {
        let label = variant.label();
        format!("{label} could not be profiled; see its message above")
    })
}

/// TFLOP/s of a rung at a size, and its fraction of cuBLAS f16, timed interleaved.
fn measured(record: &Record, rung: &str, size: &str) -> Option<(f64, f64)> {
    let run = record.run(rung, size.parse().ok()?)?;
    Some((run.time.as_ref()?.tflops, run.of_cublas()?))
}

/// One line for each rung; each step is the quotient by the line above.
fn table(lines: &[Line]) -> String {
    let names = "rung | limited by | TFLOP/s at most | of cuBLAS | step | measured | of cuBLAS | step | of the bound";
    let mut rows = vec![head(names.split(" | "))];
    let mut before = None;
    for line in lines {
        let limited_by = line.limited_by.clone();
        let mut row = vec![line.rung.clone(), limited_by];
        let then: Option<&Line> = before.replace(line);
        let sides = [
            (Some(line.predicted), then.map(|then| then.predicted)),
            (line.measured, then.and_then(|then| then.measured)),
        ];
        for (now, then) in sides {
            let step = now.zip(then).map(|((now, _), (then, _))| now / then);
            row.extend([
                now.map_or(String::new(), |(tflops, _)| format!("{tflops:.1}")),
                now.map_or(String::new(), |(_, ratio)| percent(ratio)),
                step.map_or(String::new(), |step| format!("{step:.2}x")),
            ]);
        }
        let of_bound = line.measured.map(|(tflops, _)| tflops / line.predicted.0);
        row.push(of_bound.map_or(String::new(), percent));
        rows.push(row);
    }
    markdown_table(&rows)
}

#[cfg(all(test, feature = "calibration"))]
mod tests;
