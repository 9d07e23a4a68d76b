//! tiles.csv: every tile of every kernel that has several, size by size.
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::check::Choices;
use crate::record::{self, Run};
use harness::table::{head, markdown_table, percent};

/// The file's name in a record's folder.
pub const FILE: &str = "tiles.csv";

/// One tile at one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TileTiming {
    pub rung: String,
    pub arch: String,
    pub size: String,
    pub tile: String,
    /// `None` if C was wrong; so is the next field.
    pub tflops: Option<f64>,
    /// Speed as a fraction of cuBLAS's f16 GEMM, interleaved.
    pub of_cublas_f16: Option<f64>,
    /// Whether it is the host's choice: `yes` or `no`.
    pub chosen: String,
    pub rounds: Option<u64>,
    pub gpu: String,
    pub multiprocessors: u32,
    pub sm_mhz_median: Option<f64>,
    pub power_watts_median: Option<f64>,
    pub commit: Option<String>,
    pub date: String,
}

impl TileTiming {
    /// The measurement of a tile, with the tile that the host takes.
    pub fn new(rung: &str, tile: &str, run: &Run, choices: &Choices) -> Self {
        let size = run.size.to_string();
        let taken = choices.at(&size) == Some(tile);
        let provenance = &run.provenance;
        let median = |sensor: Option<[f64; 3]>| sensor.map(|[_, median, _]| median);
        Self {
            rung: rung.into(),
            arch: choices.arch.clone(),
            size,
            tile: tile.into(),
            tflops: run.time.as_ref().map(|time| time.tflops),
            of_cublas_f16: run.of_cublas(),
            chosen: if taken { "yes" } else { "no" }.into(),
            rounds: run.time.as_ref().map(|time| time.rounds),
            gpu: provenance.gpu.name.clone(),
            multiprocessors: choices.multiprocessors,
            sm_mhz_median: median(provenance.gpu.sm_mhz),
            power_watts_median: median(provenance.gpu.power_watts),
            commit: provenance.commit.clone(),
            date: provenance.date.clone(),
        }
    }

    /// The key that competing tiles share: the kernel, the size and the card.
    fn contest(&self) -> (&str, &str, &str, u32) {
        (&self.rung, &self.arch, &self.size, self.multiprocessors)
    }

    /// The speed of the fastest tile at its size, as a fraction of cuBLAS.
    pub fn best(&self, rows: &[Self]) -> Option<f64> {
        let others = rows.iter().filter(|row| row.contest() == self.contest());
        others.filter_map(|row| row.of_cublas_f16).reduce(f64::max)
    }
}

/// Reads a tiles.csv.
///
/// # Errors
/// If it is missing or malformed; the message names the file and the remedy.
pub fn read(file: &Path) -> Result<Vec<TileTiming>> {
    let rows = || parse(std::fs::File::open(file)?);
    rows().with_context(|| {
        let file = file.display();
        format!("{file} cannot be used; `cargo ladder tiles` makes one on a GPU")
    })
}

/// Parses a tiles.csv with at least one row.
pub fn parse(csv: impl std::io::Read) -> Result<Vec<TileTiming>> {
    let mut rows = Vec::new();
    for row in csv::Reader::from_reader(csv).deserialize() {
        let row: TileTiming = row?;
        row.size
            .parse::<harness::Size>()
            .map_err(anyhow::Error::msg)?;
        let speeds = [row.tflops, row.of_cublas_f16];
        let usable = |speed: f64| speed.is_finite() && speed > 0.0;
        anyhow::ensure!(
            speeds.into_iter().flatten().all(usable) && row.multiprocessors > 0,
            "{} at {}: a speed or the number of SMs is not above 0",
            row.tile,
            row.size
        );
        rows.push(row);
    }
    anyhow::ensure!(!rows.is_empty(), "it has no rows of a tiles.csv");
    Ok(rows)
}

/// The rows of `part`, and those of `whole` for other kernels and sizes, sorted by rung.
pub fn over(mut whole: Vec<TileTiming>, part: Vec<TileTiming>) -> Vec<TileTiming> {
    whole.retain(|old| part.iter().all(|new| new.contest() != old.contest()));
    whole.extend(part);
    whole.sort_by(|a, b| (&a.rung, &a.arch).cmp(&(&b.rung, &b.arch)));
    whole
}

/// Writes a tiles.csv.
pub fn write(file: &Path, rows: &[TileTiming]) -> Result<()> {
    let mut table = csv::Writer::from_writer(Vec::new());
    for row in rows {
        table.serialize(row)?;
    }
    record::write(file, &record::csv_text(table)?)
}

/// As a table for a terminal: one line for each tile.
pub fn table(rows: &[TileTiming]) -> String {
    let names = "rung | size | tile | TFLOP/s | of cuBLAS f16 | of the best | taken";
    let mut lines = vec![head(names.split(" | "))];
    lines.extend(rows.iter().map(|row| {
        let speeds = row.of_cublas_f16.zip(row.best(rows));
        let of_best = speeds.map(|(speed, best)| speed / best);
        let tflops = row.tflops.map(|tflops| format!("{tflops:.1}"));
        let cell = |ratio: Option<f64>| ratio.map_or(String::new(), percent);
        vec![
            format!("{} {}", row.rung, row.arch),
            row.size.clone(),
            row.tile.clone(),
            tflops.unwrap_or("WRONG".into()),
            cell(row.of_cublas_f16),
            cell(of_best),
            if row.chosen == "yes" { "*" } else { "" }.into(),
        ]
    }));
    markdown_table(&lines)
}

#[cfg(test)]
pub mod tests;
