//! `cargo ladder clock`: the predicted time of every rung, compared with a card's.
pub mod experiments;
mod kernels;
mod stalls;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::draw::{self, Ink, Points};
use crate::record::{self, Record, Run};
use crate::timing::printed;
use harness::Size;
use harness::records::{Errors, Predicted};
use harness::rungs::{self, Variant};
use harness::table::{head, markdown_table, thousands};

/// The record that `--record` writes.
const CSV: &str = "clock.csv";

#[derive(clap::Args)]
pub struct Arguments {
    /// The rungs, by number or name [default: all]
    rungs: Vec<String>,
    /// The sizes, each of them M, N and K
    #[arg(long, value_delimiter = ',', default_values_t = [1024, 2048, 4096, 8192])]
    sizes: Vec<u32>,
    /// A record of `cargo ladder bench` on a card whose SMs counted their clocks [default: results/h200]
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// Instead of rungs, use rungs with one change: stages, a barrier's scope, a tile. Needs NVRTC
    #[arg(long, conflicts_with_all = ["rungs", "sizes"])]
    experiments: bool,
    /// Instead of rungs, use the kernels in the subfolders of this folder, each of which states its launch as for
    /// `cargo ladder emulate`. Needs NVRTC
    #[arg(long, value_name = "DIR", conflicts_with_all = ["rungs", "sizes", "experiments"])]
    kernels: Option<PathBuf>,
    /// Write predictions to clock.csv beside the record, from which the model's error is reported; with --kernels or
    /// --experiments to their own record
    #[arg(long, conflicts_with_all = ["rungs", "sizes"])]
    record: bool,
    /// Show recorded predictions without predicting again
    #[arg(long, conflicts_with_all = ["rungs", "sizes", "record", "device"])]
    recorded: bool,
    /// Time the experiments or the kernels on a GPU, gpu or gpu:N, and record them
    #[arg(long, conflicts_with_all = ["against", "rungs", "sizes", "record"])]
    device: Option<String>,
    /// The folder that has or will have the records [default: results/ in the workspace]
    #[arg(long, value_name = "DIR", requires = "device")]
    out: Option<PathBuf>,
}

/// A rung at one size.
struct Line {
    rung: String,
    size: Size,
    /// As in the record; absent in older ones.
    tile: Option<String>,
    /// Predicted and measured clocks per SM.
    predicted: Result<Guess, String>,
    /// The same from list-scheduled PTX, as on a machine without ptxas.
    from_ptx: Result<Guess, String>,
    measured: f64,
    /// The SM clock of both, as the SMs counted it.
    sm_mhz: f64,
    /// The stall reason that ncu sampled most often, if it was recorded.
    sampled: Option<String>,
}

/// The prediction for a kernel.
struct Guess {
    clocks: f64,
    /// The stall reason with most warp clocks.
    reason: String,
}

impl Line {
    /// A row of the record.
    fn recorded(row: &Predicted) -> Result<Self> {
        let guess = |clocks: u64| Guess {
            clocks: clocks as f64,
            reason: row.reason.clone(),
        };
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(Self {
            rung: row.rung.clone(),
            size: row.size.parse().map_err(anyhow::Error::msg)?,
            tile: some(&row.tile),
            predicted: Ok(guess(row.predicted)),
            from_ptx: row.from_ptx.map(guess).ok_or_else(|| "not recorded".into()),
            measured: row.measured as f64,
            sm_mhz: row.sm_mhz,
            sampled: some(&row.sampled),
        })
    }

    /// The relative error of the prediction.
    fn error(&self) -> Option<f64> {
        let predicted = self.predicted.as_ref().ok()?;
        Some(predicted.clocks / self.measured - 1.0)
    }

    /// The relative error of the prediction from list-scheduled PTX.
    fn error_from_ptx(&self) -> Option<f64> {
        let predicted = self.from_ptx.as_ref().ok()?;
        Some(predicted.clocks / self.measured - 1.0)
    }
}

/// # Errors
/// If there is no such rung or record, or a rung cannot be built.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(device) = &arguments.device {
        let out = arguments.out.clone().unwrap_or_else(record::results);
        return match &arguments.kernels {
            Some(folder) => kernels::measure(folder, device, &out),
            None if arguments.experiments => experiments::measure(device, &out),
            None => bail!(
                "--device times --experiments or --kernels DIR; rungs are timed by `cargo ladder bench`"
            ),
        };
    }
    let record = match &arguments.against {
        Some(folder) => folder.clone(),
        None => rungs::root()
            .context("the record is not here; name one with `--against DIR`")?
            .join("results/h200"),
    };
    if arguments.experiments {
        return experiments::compare(&record, arguments.recorded, arguments.record);
    }
    if arguments.kernels.is_some() && arguments.recorded {
        kernels::show(&record)?;
        return Ok(true);
    }
    if arguments.recorded {
        let rows = predictions(&record)?;
        let lines: Vec<Line> = rows.iter().map(Line::recorded).collect::<Result<_>>()?;
        harness::print!("{}", table(&lines));
        return Ok(true);
    }
    if let Some(folder) = &arguments.kernels {
        return kernels::compare(folder, &record, arguments.record);
    }
    let folder = record;
    let record = Record::read(&folder)?;
    let samples = stalls::recorded(&folder)?;
    let chosen = match arguments.rungs.as_slice() {
        [] => rungs::all()?,
        names => (names.iter())
            .map(|name| rungs::find(name))
            .collect::<Result<Vec<_>>>()?,
    };
    rungs::build(&chosen)?;
    let mut lines = Vec::new();
    for variant in Variant::all(&chosen)? {
        for &side in &arguments.sizes {
            let size = Size::cube(side);
            if let Some(run) = record.run(&variant.label(), size)
                && let Some((measured, sm_mhz)) = clocks(run)
            {
                let predict = |from_ptx| {
                    predicted(
                        &variant,
                        size,
                        run.tile.as_deref(),
                        None,
                        from_ptx,
                        Some(sm_mhz),
                    )
                };
                lines.push(Line {
                    rung: variant.label(),
                    size,
                    tile: run.tile.clone(),
                    predicted: predict(false),
                    from_ptx: predict(true),
                    measured,
                    sm_mhz,
                    sampled: samples.reason(&variant.rung.name, run.tile.as_deref(), size),
                });
            }
        }
    }
    ensure!(
        !lines.is_empty(),
        "{} has no times of these rungs at these sizes: its bench.csv lists those that it has",
        folder.display()
    );
    harness::print!("{}", table(&lines));
    if arguments.record {
        write(&folder, &lines)?;
    }
    Ok(lines.iter().all(|line| line.predicted.is_ok()))
}

/// Reads the record of `--record` in a card's folder.
fn predictions(folder: &Path) -> Result<Vec<Predicted>> {
    let file = folder.join(CSV);
    csv::Reader::from_path(&file)
        .with_context(|| format!("cannot read {}", file.display()))?
        .deserialize()
        .collect::<Result<_, _>>()
        .with_context(|| format!("{} is not a record of the clock", file.display()))
}

/// The plot of predictions that `cargo ladder plot` makes.
pub const PLOT: &str = "clock.svg";

/// Predicted and measured clocks from the records in a card's folder; none if there are none.
///
/// # Errors
/// If a record cannot be read.
pub fn scatter(folder: &Path) -> Result<Option<String>> {
    if !folder.join(CSV).is_file() {
        return Ok(None);
    }
    let rows = predictions(folder)?;
    let points = [
        Points {
            name: "rungs",
            ink: Ink::Kernel,
            clocks: (rows.iter())
                .map(|row| (row.measured as f64, row.predicted as f64))
                .collect(),
        },
        Points {
            name: "rungs, from list-scheduled PTX",
            ink: Ink::Older,
            clocks: (rows.iter())
                .filter_map(|row| Some((row.measured as f64, row.from_ptx? as f64)))
                .collect(),
        },
        Points {
            name: "kernels of tests/kernels",
            ink: Ink::Cublas,
            clocks: kernels::pairs(folder)?,
        },
    ];
    let gpu = Record::read(folder)?;
    let gpu = gpu.runs().next();
    let gpu = gpu.map_or("GPU", |(_, run)| run.provenance.gpu.name.as_str());
    draw::clock(&points, gpu).map(Some)
}

/// Writes predictions and measurements to the record's folder.
fn write(folder: &Path, lines: &[Line]) -> Result<()> {
    let mut table = csv::Writer::from_writer(Vec::new());
    for line in lines {
        if let Ok(guess) = &line.predicted {
            table.serialize(Predicted {
                rung: line.rung.clone(),
                size: line.size.to_string(),
                tile: line.tile.clone().unwrap_or_default(),
                predicted: guess.clocks.round() as u64,
                from_ptx: line
                    .from_ptx
                    .as_ref()
                    .ok()
                    .map(|guess| guess.clocks.round() as u64),
                measured: line.measured.round() as u64,
                sm_mhz: line.sm_mhz.round(),
                reason: guess.reason.clone(),
                sampled: line.sampled.clone().unwrap_or_default(),
            })?;
        }
    }
    let to = folder.join(CSV);
    record::write(&to, &record::csv_text(table)?)?;
    harness::println!("written to {}", to.display());
    Ok(())
}

/// Clocks of an SM: the median time by the clock that the SMs counted; and that clock.
fn clocks(run: &Run) -> Option<(f64, f64)> {
    let kernel = run.time.as_ref()?.contestants.first()?;
    let sm_mhz = kernel.sm_mhz?;
    Some((kernel.median_ms * sm_mhz * 1e3, sm_mhz))
}

/// `time --json` of the rung, for its own kernel or another.
fn predicted(
    variant: &Variant,
    size: Size,
    tile: Option<&str>,
    kernel: Option<&Path>,
    from_ptx: bool,
    sm_mhz: Option<f64>,
) -> Result<Guess, String> {
    let size = size.to_string();
    let mut flags = vec!["time", "--json", "--device", "emulator", "--size", &size];
    if from_ptx {
        flags.push("--from-ptx");
    }
    let clock = sm_mhz.map(|mhz| format!("mhz={mhz:.0}"));
    flags.extend(clock.iter().flat_map(|clock| ["--set", clock]));
    // Only a kernel with several tiles takes one.
    let tiles = variant.rung.kernels().map_err(|error| error.to_string())?;
    if let Some(tile) = tile.filter(|_| tiles.len() > 1) {
        flags.extend(["--tile", tile]);
    }
    let kernel = kernel.map(|path| path.display().to_string());
    flags.extend(kernel.iter().flat_map(|path| ["--kernel", path]));
    let printed = printed(variant, &flags).map_err(|error| error.to_string())?;
    let answer: Value = serde_json::from_slice(&printed)
        .map_err(|_| "not predicted; its message is above".to_owned())?;
    let clocks = answer["clocks"].as_f64().ok_or("no clocks".to_owned())?;
    let reasons = answer["stalls"].as_array().into_iter().flatten();
    let reasons =
        reasons.filter_map(|one| Some((one["name"].as_str()?, one["per_issue"].as_f64()?)));
    let reason = stalls::most(reasons).unwrap_or_default().to_owned();
    Ok(Guess { clocks, reason })
}

fn table(lines: &[Line]) -> String {
    let mut rows = vec![head(
        [
            "rung",
            "size",
            "tile",
            "clocks predicted",
            "measured",
            "error",
            "from PTX",
            "warps wait for",
            "ncu sampled",
        ]
        .into_iter(),
    )];
    for line in lines {
        let (predicted, error, reason) = match (&line.predicted, line.error()) {
            (Ok(guess), Some(error)) => (
                thousands(guess.clocks as u64),
                format!("{:+.1}%", 100.0 * error),
                guess.reason.clone(),
            ),
            (Err(why), _) => (why.clone(), String::new(), String::new()),
            (Ok(_), None) => Default::default(),
        };
        rows.push(vec![
            line.rung.clone(),
            line.size.to_string(),
            line.tile.clone().unwrap_or_default(),
            predicted,
            thousands(line.measured as u64),
            error,
            line.error_from_ptx()
                .map_or_else(String::new, |error| format!("{:+.1}%", 100.0 * error)),
            reason,
            line.sampled.clone().unwrap_or_default(),
        ]);
    }
    let mut text = markdown_table(&rows);
    if let Some(errors) = Errors::new(lines.iter().filter_map(Line::error)) {
        let (right, pairs) = ordered(lines);
        text += &format!(
            "\nerror: {:.1}% in the median, {:.1}% in the mean, {:.1}% at worst, over {} of {}\n\
             order: {right} of {pairs} pairs at a size that differ by more than 5% are in the measured order\n",
            100.0 * errors.median,
            100.0 * errors.mean,
            100.0 * errors.worst,
            errors.count,
            lines.len(),
        );
        if let Some(errors) = Errors::new(lines.iter().filter_map(Line::error_from_ptx)) {
            text += &format!(
                "error from list-scheduled PTX: {:.1}% in the median, {:.1}% in the mean, {:.1}% at worst, over {}\n",
                100.0 * errors.median,
                100.0 * errors.mean,
                100.0 * errors.worst,
                errors.count,
            );
        }
        let sampled = lines.iter().filter_map(|line| {
            let guess = line.predicted.as_ref().ok()?;
            Some(*line.sampled.as_ref()? == guess.reason)
        });
        let sampled: Vec<bool> = sampled.collect();
        if !sampled.is_empty() {
            text += &format!(
                "stall reasons: {} of {} as ncu sampled them\n",
                sampled.iter().filter(|same| **same).count(),
                sampled.len()
            );
        }
    }
    text
}

/// Of the pairs of rungs whose times at a size differ by more than 5%: how many are predicted in the right order, and how
/// many there are.
fn ordered(lines: &[Line]) -> (usize, usize) {
    let (mut right, mut pairs) = (0, 0);
    for (index, one) in lines.iter().enumerate() {
        for other in &lines[index + 1..] {
            let differ = (one.measured / other.measured).ln().abs() > 0.05;
            if one.size == other.size
                && differ
                && let (Ok(first), Ok(second)) = (&one.predicted, &other.predicted)
            {
                pairs += 1;
                right +=
                    usize::from((first.clocks < second.clocks) == (one.measured < other.measured));
            }
        }
    }
    (right, pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(predicted: f64, measured: f64) -> Line {
        Line {
            rung: "05_swizzle".into(),
            size: Size::cube(1024),
            tile: None,
            predicted: Ok(Guess {
                clocks: predicted,
                reason: "wait".into(),
            }),
            from_ptx: Err("no".into()),
            measured,
            sm_mhz: 1980.0,
            sampled: None,
        }
    }

    #[test]
    fn pairs_within_five_percent_have_no_order() {
        let lines = [line(100.0, 100.0), line(90.0, 104.0), line(80.0, 200.0)];
        assert_eq!(ordered(&lines), (0, 2));
        let lines = [line(100.0, 100.0), line(110.0, 150.0), line(180.0, 200.0)];
        assert_eq!(ordered(&lines), (3, 3));
    }

    #[test]
    fn the_table_ends_with_the_errors() {
        let text = table(&[line(90.0, 100.0), line(120.0, 100.0), line(100.0, 100.0)]);
        assert!(
            text.contains("error: 10.0% in the median, 10.0% in the mean, 20.0% at worst"),
            "{text}"
        );
    }
}
