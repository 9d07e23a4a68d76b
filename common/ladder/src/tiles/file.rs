//! tiles.csv: every tile of every kernel that has several, size by size.
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::choice::Choices;
use crate::record::{self, Run};
use crate::table::{head, markdown_table, percent};

/// In a record's folder.
pub const FILE: &str = "tiles.csv";

/// One tile at one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub rung: String,
    pub arch: String,
    pub size: String,
    pub tile: String,
    /// None if C was wrong, as is the next.
    pub tflops: Option<f64>,
    /// Speed as a fraction of cuBLAS's f16 GEMM, by turns.
    pub of_cublas_f16: Option<f64>,
    /// Whether the host took it of its own accord: `yes` or `no`.
    pub chosen: String,
    pub rounds: Option<u64>,
    pub gpu: String,
    pub multiprocessors: u32,
    pub sm_mhz_median: Option<f64>,
    pub power_watts_median: Option<f64>,
    pub commit: Option<String>,
    pub date: String,
}

impl Row {
    /// What was measured with a tile, beside the tile that the host takes.
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
            gpu: provenance.gpu.clone(),
            multiprocessors: choices.multiprocessors,
            sm_mhz_median: median(provenance.sm_mhz),
            power_watts_median: median(provenance.power_watts),
            commit: provenance.commit.clone(),
            date: provenance.date.clone(),
        }
    }

    /// Whether another is of the same kernel at the same size.
    pub fn competes_with(&self, other: &Self) -> bool {
        let key = |row: &Self| {
            (
                row.rung.clone(),
                row.arch.clone(),
                row.size.clone(),
                row.multiprocessors,
            )
        };
        key(self) == key(other)
    }

    /// The speed of the fastest tile at its size, as a fraction of cuBLAS.
    pub fn best(&self, rows: &[Self]) -> Option<f64> {
        let others = rows.iter().filter(|row| row.competes_with(self));
        others.filter_map(|row| row.of_cublas_f16).reduce(f64::max)
    }
}

/// Reads a tiles.csv.
///
/// # Errors
/// If it is missing or something else; the message names it and the remedy.
pub fn read(file: &Path) -> Result<Vec<Row>> {
    let rows = || parse(std::fs::File::open(file)?);
    rows().with_context(|| {
        let file = file.display();
        format!("{file} cannot be used; `cargo ladder tiles` makes one on a GPU")
    })
}

/// The rows of one, at least one.
pub fn parse(csv: impl std::io::Read) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for row in csv::Reader::from_reader(csv).deserialize() {
        let row: Row = row?;
        row.size
            .parse::<harness::Size>()
            .map_err(anyhow::Error::msg)?;
        let speeds = [row.tflops, row.of_cublas_f16];
        let usable = |speed: f64| speed.is_finite() && speed > 0.0;
        anyhow::ensure!(
            speeds.into_iter().flatten().all(usable) && row.multiprocessors > 0,
            "{} at {}: a speed or the number of multiprocessors is not above 0",
            row.tile,
            row.size
        );
        rows.push(row);
    }
    anyhow::ensure!(!rows.is_empty(), "it has no rows");
    Ok(rows)
}

/// Writes one.
pub fn write(file: &Path, rows: &[Row]) -> Result<()> {
    let mut table = csv::Writer::from_writer(Vec::new());
    for row in rows {
        table.serialize(row)?;
    }
    record::write(file, &record::csv_text(table)?)
}

/// For a terminal: a line a tile.
pub fn table(rows: &[Row]) -> String {
    let mut lines = vec![head(&[
        "rung",
        "size",
        "tile",
        "TFLOP/s",
        "of cuBLAS f16",
        "of the best",
        "taken",
    ])];
    lines.extend(rows.iter().map(|row| {
        let of_best = row
            .of_cublas_f16
            .zip(row.best(rows))
            .map(|(speed, best)| speed / best);
        let cell = |ratio: Option<f64>| ratio.map_or(String::new(), percent);
        vec![
            format!("{} {}", row.rung, row.arch),
            row.size.clone(),
            row.tile.clone(),
            row.tflops
                .map_or("WRONG".into(), |tflops| format!("{tflops:.1}")),
            cell(row.of_cublas_f16),
            cell(of_best),
            if row.chosen == "yes" { "*" } else { "" }.into(),
        ]
    }));
    markdown_table(&lines)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::record::Record;
    use crate::record::example::{bench, right, wrong};
    use crate::tiles::choice::Choice;

    /// A tile at a size, as a fraction of cuBLAS.
    pub fn row(size: &str, tile: &str, of_cublas: f64) -> Row {
        let run = if of_cublas > 0.0 {
            right(size, tile, [100.0, 100.0 * of_cublas])
        } else {
            wrong(size)
        };
        let record = Record::new(vec![bench("06_pipeline", vec![run])]).expect("a record");
        let (rung, run) = record.runs().next().expect("one");
        let choices = Choices {
            arch: "sm_90a".into(),
            multiprocessors: 132,
            choices: vec![Choice {
                size: size.into(),
                tile: Some("128x256".into()),
            }],
        };
        Row::new(rung, tile, run, &choices)
    }

    #[test]
    fn speeds_that_are_none_are_refused() {
        let of = |change: fn(&mut Row)| {
            let mut row = row("512x512x512", "64x128", 0.9);
            change(&mut row);
            let mut table = csv::Writer::from_writer(Vec::new());
            table.serialize(row).expect("plain");
            parse(&table.into_inner().expect("memory")[..])
        };
        assert!(of(|_| ()).is_ok());
        let bad: [fn(&mut Row); 4] = [
            |row| row.of_cublas_f16 = Some(f64::NAN),
            |row| row.of_cublas_f16 = Some(-1.0),
            |row| row.tflops = Some(f64::INFINITY),
            |row| row.multiprocessors = 0,
        ];
        for change in bad {
            let error = of(change).expect_err("not usable").to_string();
            assert!(error.contains("64x128 at 512x512x512"), "{error}");
        }
    }

    #[test]
    fn what_was_written_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let file = folder.path().join(FILE);
        let rows = [
            row("512x512x512", "64x128", 0.9),
            row("512x512x512", "128x256", 0.0),
        ];
        write(&file, &rows).expect("writable");
        assert_eq!(read(&file).expect("what was written"), rows);
        let text = std::fs::read_to_string(&file).expect("it was written");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "rung,arch,size,tile,tflops,of_cublas_f16,chosen,rounds,gpu,multiprocessors,sm_mhz_median,power_watts_median,commit,date"
        );
        assert_eq!(
            lines[2],
            "06_pipeline,sm_90a,512x512x512,128x256,,,yes,,NVIDIA H100 80GB HBM3,132,1400.0,,abc1234,2026-11-21T09:30:00Z"
        );
    }

    #[test]
    fn what_is_no_such_file_is_named_with_the_remedy() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let file = folder.path().join(FILE);
        let head = "rung,arch,size,tile,tflops,of_cublas_f16,chosen,rounds,gpu,multiprocessors,sm_mhz_median,power_watts_median,commit,date";
        let bad_size = format!("{head}\n06,sm_90a,5x5,64x64,1,1,yes,30,H100,132,,,,\n");
        let bad_number = format!("{head}\n06,sm_90a,5x5x5,64x64,fast,1,yes,30,H100,132,,,,\n");
        for text in [
            None,
            Some(""),
            Some("rung\n06\n"),
            Some(&bad_size),
            Some(&bad_number),
        ] {
            if let Some(text) = text {
                std::fs::write(&file, text).expect("writable");
            }
            let error = format!("{:#}", read(&file).expect_err("an error"));
            assert!(
                error.contains(FILE) && error.contains("cargo ladder tiles"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_table_shows_what_is_lost_to_the_best() {
        let rows = [
            row("8x8x8", "128x256", 0.9),
            row("8x8x8", "64x128", 1.0),
            row("9x9x9", "64x128", 0.0),
        ];
        assert_eq!(
            table(&rows),
            "| rung               | size  |    tile | TFLOP/s | of cuBLAS f16 | of the best | taken |\n\
             | ------------------ | ----- | ------: | ------: | ------------: | ----------: | ----: |\n\
             | 06_pipeline sm_90a | 8x8x8 | 128x256 |     0.0 |         90.0% |       90.0% |     * |\n\
             | 06_pipeline sm_90a | 8x8x8 |  64x128 |     0.0 |        100.0% |      100.0% |       |\n\
             | 06_pipeline sm_90a | 9x9x9 |  64x128 |   WRONG |               |             |       |\n"
        );
    }
}
