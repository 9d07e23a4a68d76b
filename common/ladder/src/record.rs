//! Timings of several rungs as files and as a table.
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

/// What every rung's `bench --json` printed.
pub struct Record {
    benches: Vec<Value>,
}

/// The file of all samples, the table for programs, and the table for people.
const FILES: [&str; 3] = ["bench.json", "bench.csv", "bench.md"];

impl Record {
    /// One object of each rung.
    pub fn new(benches: Vec<Value>) -> Self {
        Self { benches }
    }

    /// Writes a folder named after the GPU and the day into `results`; returns its path.
    pub fn write(&self, results: &Path) -> Result<PathBuf> {
        let folder = results.join(self.name());
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        // A line a rung: the samples are many.
        let benches: Vec<_> = self.benches.iter().map(Value::to_string).collect();
        let json = format!("[\n{}\n]\n", benches.join(",\n"));
        for (name, text) in FILES.iter().zip([json, self.csv(), self.markdown()]) {
            let file = folder.join(name);
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(folder)
    }

    /// Such as `h100-80gb-hbm3-2026-11-21`.
    fn name(&self) -> String {
        let provenance = self.runs().next().map(|(_, run)| &run["provenance"]);
        let text = |key: &str| {
            provenance
                .and_then(|p| p[key].as_str())
                .unwrap_or("unknown")
        };
        let gpu = text("gpu").to_lowercase();
        let plain: String = gpu
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' })
            .collect();
        let words: Vec<_> = plain
            .split_whitespace()
            .filter(|word| *word != "nvidia")
            .collect();
        let day: String = text("date").chars().take(10).collect();
        format!("{}-{day}", words.join("-"))
    }

    /// Each rung's name with each of its sizes.
    fn runs(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.benches.iter().flat_map(|bench| {
            let rung = bench["rung"].as_str().unwrap_or("?");
            bench["sizes"]
                .as_array()
                .into_iter()
                .flatten()
                .map(move |run| (rung, run))
        })
    }

    /// A line for each contestant of each size of each rung.
    fn csv(&self) -> String {
        let mut text = String::from(
            "rung,size,verified,contestant,median_ms,p10_ms,p90_ms,tflops,kernel_speed,sm_mhz,power_watts,commit,date\n",
        );
        for (rung, run) in self.runs() {
            let provenance = &run["provenance"];
            for contest in run["time"]["contestants"].as_array().into_iter().flatten() {
                let fields = [
                    rung.to_owned(),
                    field(&run["size"]),
                    field(&run["verify"]["ok"]),
                    field(&contest["name"]),
                    field(&contest["median_ms"]),
                    field(&contest["p10_ms"]),
                    field(&contest["p90_ms"]),
                    field(&contest["tflops"]),
                    field(&contest["kernel_speed"]),
                    field(&provenance["sm_mhz"][1]),
                    field(&provenance["power_watts"][1]),
                    field(&provenance["commit"]),
                    field(&provenance["date"]),
                ];
                text += &(fields.join(",") + "\n");
            }
        }
        text
    }

    /// What it was measured with, and the table.
    fn markdown(&self) -> String {
        let Some((_, run)) = self.runs().next() else {
            return String::new();
        };
        let p = &run["provenance"];
        let watts = p["power_limit_watts"]
            .as_f64()
            .map_or("unknown".into(), |watts| format!("{watts:.0} W"));
        format!(
            "# {}\n\nDriver {}, CUDA {}, cuBLAS {}, power limit {watts}; commit {}, {}. Clocks, power and every sample\n\
             are in {}.\n\nTFLOP/s at the median, and the kernel's speed beside each baseline, measured by turns in one process.\n\n{}",
            field(&p["gpu"]),
            field(&p["driver"]),
            field(&p["cuda"]),
            field(&p["cublas"]),
            field(&p["commit"]),
            field(&p["date"]),
            FILES[0],
            self.table()
        )
    }

    /// One line for each size of each rung.
    pub fn table(&self) -> String {
        let names = self.baselines();
        let mut rows = vec![["rung", "size", "TFLOP/s"].map(str::to_owned).to_vec()];
        rows[0].extend(names.iter().map(|name| format!("of {name}")));
        for (rung, run) in self.runs() {
            let time = &run["time"];
            let tflops = time["tflops"]
                .as_f64()
                .map_or("WRONG".to_owned(), |tflops| format!("{tflops:.1}"));
            let mut row = vec![rung.to_owned(), field(&run["size"]), tflops];
            row.extend(names.iter().map(|name| {
                let contestants = time["contestants"].as_array().into_iter().flatten();
                let speed = contestants
                    .filter(|c| c["name"] == name.as_str())
                    .find_map(|c| c["kernel_speed"].as_f64());
                speed.map_or(String::new(), |speed| format!("{:.1}%", 100.0 * speed))
            }));
            rows.push(row);
        }
        markdown_table(&rows)
    }

    /// Every baseline's name, in the order of first appearance.
    fn baselines(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (_, run) in self.runs() {
            for contest in run["time"]["contestants"]
                .as_array()
                .into_iter()
                .flatten()
                .skip(1)
            {
                let name = field(&contest["name"]);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }
}

/// A value as a cell: text without its quotes, nothing for null.
fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A Markdown table with aligned columns; numbers stand right.
pub fn markdown_table(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].len())
            .max()
            .unwrap_or(0)
            .max(4)
    };
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells =
            row.iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| match column {
                    0 | 1 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
        text += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
        if index == 0 {
            let rules = widths
                .iter()
                .enumerate()
                .map(|(column, width)| match column {
                    0 | 1 => "-".repeat(*width),
                    _ => "-".repeat(*width - 1) + ":",
                });
            text += &format!("| {} |\n", rules.collect::<Vec<_>>().join(" | "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let contest = |name: &str, speed: f64| {
            serde_json::json!({ "name": name, "median_ms": 2.0, "p10_ms": 1.5, "p90_ms": 2.5, "tflops": 10.0,
                "kernel_speed": speed, "samples_ms": [1.5, 2.0, 2.5] })
        };
        let provenance = serde_json::json!({ "gpu": "NVIDIA H100 80GB HBM3", "driver": "580.1", "cuda": "13.0",
            "cublas": "13.0.2", "power_limit_watts": 700.0, "sm_mhz": [1.0, 2.0, 3.0], "power_watts": null,
            "commit": "abc1234", "date": "2026-11-21T09:30:00Z" });
        let right = serde_json::json!({ "size": "512x512x512", "verify": { "ok": true }, "provenance": provenance,
            "time": { "tflops": 10.0, "contestants": [contest("kernel", 1.0), contest("cuBLAS f16", 0.25)] } });
        let wrong = serde_json::json!({ "size": "1024x1024x1024", "verify": { "ok": false },
            "provenance": provenance, "time": null });
        Record::new(vec![
            serde_json::json!({ "rung": "01_naive", "sizes": [right, wrong] }),
        ])
    }

    #[test]
    fn the_folder_is_named_after_gpu_and_day() {
        assert_eq!(record().name(), "h100-80gb-hbm3-2026-11-21");
    }

    #[test]
    fn the_table_has_a_line_a_size() {
        assert_eq!(
            record().table(),
            "| rung     | size           | TFLOP/s | of cuBLAS f16 |\n\
             | -------- | -------------- | ------: | ------------: |\n\
             | 01_naive | 512x512x512    |    10.0 |         25.0% |\n\
             | 01_naive | 1024x1024x1024 |   WRONG |               |\n"
        );
    }

    #[test]
    fn the_csv_has_a_line_a_contestant() {
        let csv = record().csv();
        let lines: Vec<_> = csv.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines[2],
            "01_naive,512x512x512,true,cuBLAS f16,2.0,1.5,2.5,10.0,0.25,2.0,,abc1234,2026-11-21T09:30:00Z"
        );
        assert!(lines.iter().all(|line| line.matches(',').count() == 12));
    }

    #[test]
    fn all_files_are_written() {
        let results = std::env::temp_dir().join(format!("ladder-results-{}", std::process::id()));
        let folder = record()
            .write(&results)
            .expect("a writable folder for temporary files");
        let found =
            FILES.map(|file| fs::read_to_string(folder.join(file)).expect("it was written"));
        fs::remove_dir_all(&results).expect("it was made above");
        assert!(
            found[0].contains("samples_ms")
                && found[1].contains("kernel_speed")
                && found[2].contains("Driver 580.1")
        );
    }
}
