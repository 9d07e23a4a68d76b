//! The record that README.md shows.
use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::provenance::{self, Provenance};
use crate::directives::number::{grouped, rounded_to};
use crate::world::World;

/// Its folder and its bench.json.
pub struct Record {
    folder: String,
    benches: Vec<Bench>,
}

#[derive(Deserialize)]
struct Bench {
    /// Such as `16_stream_k`.
    rung: String,
    sizes: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    /// `MxNxK`.
    size: String,
    time: Option<Time>,
    provenance: Provenance,
}

#[derive(Deserialize)]
struct Time {
    tflops: f64,
    contestants: Vec<Contestant>,
}

#[derive(Deserialize)]
struct Contestant {
    name: String,
    median_ms: f64,
    /// As counted by the SMs; none for a run in which they did not count.
    sm_mhz: Option<f64>,
    kernel_speed: f64,
}

impl Record {
    /// The record of this repository.
    pub fn read(world: &World) -> Result<Self> {
        let readme = world.read("README.md")?;
        let folder = readme.lines().find_map(|line| {
            let file = line.strip_prefix("<!-- table: ")?;
            Some(file.split_once("/bench.md#")?.0.to_owned())
        });
        let folder = folder
            .context("README.md names no record: `<!-- table: results/…/bench.md#by-rung -->`")?;
        let file = format!("{folder}/bench.json");
        let benches = serde_json::from_str(&world.read(&file)?).context(file)?;
        Ok(Self { folder, benches })
    }

    /// A file of the record.
    pub fn file(&self, world: &World, name: &str) -> Result<String> {
        world.read(&format!("{}/{name}", self.folder))
    }

    /// `percent` of cuBLAS, `tflops`, `time_us` or `clocks` of a rung at a size.
    pub fn number(&self, rung: &str, size: &str, field: &str) -> Result<String> {
        let cube = format!("{size}x{size}x{size}");
        let size = if size.contains('x') { size } else { &cube };
        let Some(bench) = self.benches.iter().find(|bench| bench.rung == rung) else {
            let all = self.benches.iter().map(|bench| bench.rung.as_str());
            let all: Vec<&str> = all.collect();
            bail!("the record has no `{rung}`; it has {}", all.join(", "));
        };
        let Some(run) = bench.sizes.iter().find(|run| run.size == size) else {
            let all: Vec<&str> = bench.sizes.iter().map(|run| run.size.as_str()).collect();
            bail!(
                "the record has no {rung} at {size}; it has {}",
                all.join(", ")
            );
        };
        let time = run.time.as_ref();
        let time = time.with_context(|| format!("{rung} was wrong at {size}"))?;
        let contestant = |name: &str| {
            let mut all = time.contestants.iter();
            let found = all.find(|contestant| contestant.name == name);
            found.with_context(|| format!("{name} was not timed at {size}"))
        };
        Ok(match field {
            "percent" => format!("{:.1}%", contestant("cuBLAS f16")?.kernel_speed * 100.0),
            "tflops" => format!("{:.1}", time.tflops),
            "time_us" => {
                let micros = contestant("kernel")?.median_ms * 1000.0;
                grouped(if micros < 100.0 {
                    (micros * 10.0).round() / 10.0
                } else {
                    micros.round()
                })
            }
            "clocks" => {
                let kernel = contestant("kernel")?;
                let mhz = kernel.sm_mhz;
                let mhz = mhz.with_context(|| format!("no SM counted its clocks at {size}"))?;
                rounded_to(3, kernel.median_ms * 1000.0 * mhz)
            }
            _ => bail!("there is no `{field}`; there are percent, tflops, time_us, clocks"),
        })
    }

    /// The provenance of its numbers, in one line.
    pub fn provenance(&self) -> String {
        let runs = self.benches.iter().flat_map(|bench| &bench.sizes);
        provenance::line(&runs.map(|run| &run.provenance).collect::<Vec<_>>())
    }
}
