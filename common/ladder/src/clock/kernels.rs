//! `cargo ladder clock --kernels DIR`: kernels outside the ladder, predicted and measured, family by family.
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::emulate;
use crate::record;
use harness::records::Errors;
use harness::table::{head, markdown_table, thousands};
use harness::{Provenance, Wanted};

/// The record of these kernels, in a card's folder of `results/`.
const FILE: &str = "kernels.csv";

/// A row of the record.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Row {
    /// `f32/naive`, for `f32/naive.cu`.
    kernel: String,
    /// Median, in milliseconds.
    ms: f64,
    /// The SM clock, as counted by the SMs.
    sm_mhz: f64,
    gpu: String,
    commit: String,
    date: String,
    /// Predicted clocks per SM, from machine code and from list-scheduled PTX (`--record`).
    predicted: Option<u64>,
    from_ptx: Option<u64>,
}

impl Row {
    fn clocks(&self) -> f64 {
        self.ms * self.sm_mhz * 1e3
    }
}

/// A family of kernels, which is a folder, and its files sorted by name.
struct Family {
    name: String,
    /// For each file, its name without extension, and its path.
    kernels: Vec<(String, PathBuf)>,
}

/// The folders in this folder that contain kernels.
fn families(folder: &Path) -> Result<Vec<Family>> {
    let below = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder)
            .with_context(|| format!("cannot read the folder {}", folder.display()))?;
        let mut paths = (entries.map(|entry| Ok(entry?.path()))).collect::<Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    };
    let mut families = Vec::new();
    for family in below(folder)?.into_iter().filter(|path| path.is_dir()) {
        let named = |path: PathBuf| {
            let is_kernel = path.extension().is_some_and(|ending| ending == "cu");
            let name = path.file_stem()?.to_str()?.to_owned();
            is_kernel.then_some((name, path))
        };
        families.push(Family {
            name: family
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into(),
            kernels: below(&family)?.into_iter().filter_map(named).collect(),
        });
    }
    families.retain(|family| !family.kernels.is_empty());
    ensure!(
        !families.is_empty(),
        "{} has no folder with .cu files: a family of kernels is a folder",
        folder.display()
    );
    Ok(families)
}

/// Times all kernels on a GPU and writes them to the card's folder in `out`.
///
/// # Errors
/// If there is no GPU or no compiler, or a file does not state its launch.
pub fn measure(folder: &Path, device: &str, out: &Path) -> Result<bool> {
    let wanted: Wanted = device.parse().map_err(anyhow::Error::msg)?;
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut card = None;
    for family in families(folder)? {
        for (name, path) in &family.kernels {
            let measured = emulate::measure(path, wanted)
                .with_context(|| format!("{} cannot be timed", path.display()))?;
            let now = Provenance::of(name.clone(), String::new());
            table.serialize(Row {
                kernel: format!("{}/{name}", family.name),
                ms: measured.milliseconds,
                sm_mhz: measured.sm_mhz.context("the SMs' clock was not counted")?,
                gpu: measured.gpu.clone(),
                commit: now.commit.unwrap_or_default(),
                date: now.date,
                predicted: None,
                from_ptx: None,
            })?;
            card.get_or_insert(measured.gpu);
        }
    }
    let to = out.join(record::folder_of(&card.context("nothing was timed")?));
    record::make(&to)?;
    record::write(&to.join(FILE), &record::csv_text(table)?)?;
    harness::println!("written to {}", to.join(FILE).display());
    Ok(true)
}

/// Reads the record in a card's folder.
fn recorded(folder: &Path) -> Result<Vec<Row>> {
    let file = folder.join(FILE);
    csv::Reader::from_path(&file)
        .with_context(|| format!("cannot read {}", file.display()))?
        .deserialize()
        .collect::<Result<_, _>>()
        .with_context(|| format!("{} is not a record of kernels", file.display()))
}

/// Recorded measured and predicted clocks; none if there is no record.
///
/// # Errors
/// If the record cannot be read.
pub fn pairs(folder: &Path) -> Result<Vec<(f64, f64)>> {
    if !folder.join(FILE).is_file() {
        return Ok(Vec::new());
    }
    let rows = recorded(folder)?;
    let pair = |row: &Row| Some((row.clocks(), row.predicted? as f64));
    Ok(rows.iter().filter_map(pair).collect())
}

/// A row of the table: clocks per SM, or why there are none.
struct Line {
    kernel: String,
    predicted: Result<f64, String>,
    from_ptx: Result<f64, String>,
    measured: Option<f64>,
}

impl Line {
    fn recorded(row: &Row) -> Self {
        let clocks =
            |clocks: Option<u64>| clocks.map(|it| it as f64).ok_or("not recorded".to_owned());
        Self {
            kernel: row.kernel.clone(),
            predicted: clocks(row.predicted),
            from_ptx: clocks(row.from_ptx),
            measured: Some(row.clocks()),
        }
    }

    /// Predicted and measured clocks.
    fn pair(&self, predicted: &Result<f64, String>) -> Option<(f64, f64)> {
        predicted.as_ref().ok().copied().zip(self.measured)
    }

    fn family(&self) -> &str {
        self.kernel.split('/').next().unwrap_or_default()
    }
}

/// Prints predictions beside the measurements recorded in a card's folder; with `keep`, predictions are written there.
///
/// # Errors
/// If the record or a kernel cannot be read.
pub fn compare(folder: &Path, record: &Path, keep: bool) -> Result<bool> {
    let mut rows = recorded(record)?;
    let mut lines = Vec::new();
    for family in families(folder)? {
        for (name, path) in &family.kernels {
            let kernel = format!("{}/{name}", family.name);
            let row = rows.iter_mut().find(|row| row.kernel == kernel);
            let mhz = row.as_ref().map(|row| row.sm_mhz);
            let predict = |from_ptx| {
                emulate::predict(path, from_ptx, mhz)
                    .map(|prediction| prediction.estimate.clocks)
                    .map_err(|error| format!("{error:#}"))
            };
            let (predicted, from_ptx) = (predict(false), predict(true));
            let measured = row.as_ref().map(|row| row.clocks());
            if let Some(row) = row {
                let clocks =
                    |of: &Result<f64, String>| of.as_ref().ok().map(|it| it.round() as u64);
                (row.predicted, row.from_ptx) = (clocks(&predicted), clocks(&from_ptx));
            }
            lines.push(Line {
                kernel,
                predicted,
                from_ptx,
                measured,
            });
        }
    }
    harness::print!("{}", text(&lines));
    if keep {
        let mut kept = csv::Writer::from_writer(Vec::new());
        rows.iter().try_for_each(|row| kept.serialize(row))?;
        record::write(&record.join(FILE), &record::csv_text(kept)?)?;
        harness::println!("written to {}", record.join(FILE).display());
    }
    let all_predicted = |line: &Line| line.predicted.is_ok() && line.from_ptx.is_ok();
    Ok(lines.iter().all(all_predicted))
}

/// Prints recorded predictions beside recorded measurements.
///
/// # Errors
/// If the record cannot be read.
pub fn show(record: &Path) -> Result<()> {
    let lines: Vec<Line> = recorded(record)?.iter().map(Line::recorded).collect();
    harness::print!("{}", text(&lines));
    Ok(())
}

fn text(lines: &[Line]) -> String {
    let heads = [
        "kernel",
        "clocks predicted",
        "measured",
        "error",
        "from PTX",
    ];
    let mut table = vec![head(heads.into_iter())];
    for line in lines {
        let off = |predicted: &Result<f64, String>| match (predicted, line.pair(predicted)) {
            (Err(why), _) => why.clone(),
            (Ok(_), None) => String::new(),
            (Ok(_), Some((guess, clocks))) => format!("{:+.1}%", 100.0 * (guess / clocks - 1.0)),
        };
        table.push(vec![
            line.kernel.clone(),
            (line.predicted.as_ref()).map_or_else(Clone::clone, |clocks| thousands(*clocks as u64)),
            (line.measured)
                .map_or_else(|| "not recorded".into(), |clocks| thousands(clocks as u64)),
            if line.predicted.is_ok() {
                off(&line.predicted)
            } else {
                String::new()
            },
            off(&line.from_ptx),
        ]);
    }
    let mut text = markdown_table(&table) + "\n";
    let mut families: Vec<&str> = lines.iter().map(Line::family).collect();
    families.dedup();
    for family in families.into_iter().map(Some).chain([None]) {
        let own = || (lines.iter()).filter(|line| family.is_none_or(|name| line.family() == name));
        let name = family.unwrap_or("all");
        let pairs: Vec<_> = own()
            .filter_map(|line| line.pair(&line.predicted))
            .collect();
        let listed: Vec<_> = own().filter_map(|line| line.pair(&line.from_ptx)).collect();
        text += &summary(name, &pairs);
        text += &summary(&format!("{name}, from PTX"), &listed);
    }
    text
}

fn summary(name: &str, pairs: &[(f64, f64)]) -> String {
    let errors = pairs.iter().map(|(guess, clocks)| guess / clocks - 1.0);
    let Some(errors) = Errors::new(errors) else {
        return String::new();
    };
    format!(
        "{name}: error {:.1}% in the median, {:.1}% in the mean, {:.1}% at worst; rank correlation {:.2}, over {}\n",
        100.0 * errors.median,
        100.0 * errors.mean,
        100.0 * errors.worst,
        rank_correlation(pairs),
        errors.count,
    )
}

/// Spearman's: 1 if both orders are the same, -1 if one is the other's reverse.
fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let rank = |of: fn(&(f64, f64)) -> f64, value: f64| {
        pairs.iter().filter(|pair| of(pair) < value).count() as f64
    };
    let n = pairs.len() as f64;
    let apart: f64 = (pairs.iter())
        .map(|pair| (rank(|pair| pair.0, pair.0) - rank(|pair| pair.1, pair.1)).powi(2))
        .sum();
    1.0 - 6.0 * apart / (n * (n * n - 1.0)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_correlation_tells_an_order_from_its_reverse() {
        let of = |guesses: [f64; 4]| {
            let pairs: Vec<_> = guesses.into_iter().zip([1.0, 2.0, 3.0, 4.0]).collect();
            rank_correlation(&pairs)
        };
        assert_eq!(of([5.0, 6.0, 7.0, 70.0]), 1.0);
        assert_eq!(of([8.0, 7.0, 6.0, 5.0]), -1.0);
        assert!((of([5.0, 7.0, 6.0, 8.0]) - 0.8).abs() < 1e-12);
    }

    #[test]
    fn a_folder_without_kernels_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = families(folder.path())
            .err()
            .expect("no kernels")
            .to_string();
        assert!(error.contains("has no folder with .cu files"), "{error}");
    }
}
