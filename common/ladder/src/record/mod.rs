//! Timings of several rungs: the folder that `cargo ladder bench` writes, which can be read back and turned into
//! tables and plots.
//!
//! | file | what it holds |
//! | --- | --- |
//! | bench.json | what the rungs printed, with every sample; the other files are made from it |
//! | bench.csv, bench.md | the tables for programs and for people |
//! | rungs.svg, sizes.svg | the plots; clock.svg is `clock`'s |
mod csv;
#[cfg(test)]
pub mod for_tests;
mod markdown;
mod run;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use harness::Size;
use serde::Deserialize;
use serde_json::Value;

pub use self::csv::text as csv_text;
pub use run::{Bench, CUBLAS, Regime, Run};

use harness::rungs;

use crate::draw;

/// The output of every rung's `bench --json`.
pub struct Record {
    json: Vec<Value>,
    benches: Vec<Bench>,
}

const JSON: &str = "bench.json";

/// The files that are made from bench.json.
pub const DERIVED: [&str; 4] = ["bench.csv", "bench.md", "rungs.svg", "sizes.svg"];

/// The size at which rungs are compared, if all have been timed there.
const COMPARED: Size = Size::cube(4096);

impl Record {
    /// Makes a record of one object for each rung.
    ///
    /// # Errors
    /// If one is not the output of `bench --json`, or nothing was timed.
    pub fn new(json: Vec<Value>) -> Result<Self> {
        let benches = json.iter().map(Bench::deserialize);
        let benches: Vec<Bench> = benches.collect::<Result<_, _>>()?;
        if benches.iter().all(|bench| bench.sizes.is_empty()) {
            bail!("nothing was timed");
        }
        for bench in &benches {
            let checks = bench.sizes.iter().try_for_each(Run::check);
            checks.map_err(|why| anyhow!("{}: {why}", bench.rung))?;
        }
        Ok(Self { json, benches })
    }

    /// Reads the record in this folder.
    ///
    /// # Errors
    /// If its bench.json cannot be read, or is malformed.
    pub fn read(folder: &Path) -> Result<Self> {
        let file = folder.join(JSON);
        let text = fs::read_to_string(&file).with_context(|| {
            let file = file.display();
            format!("cannot read {file}, which `cargo ladder bench` writes on a GPU")
        })?;
        Self::parse(&text).with_context(|| {
            let file = file.display();
            format!("{file} is not what `cargo ladder bench` writes; record it again, or name another folder")
        })
    }

    /// Merges this record with the one in `results` of the same GPU; what was timed again replaces the older timing.
    ///
    /// # Errors
    /// If that record cannot be read.
    pub fn merged_with(self, results: &Path) -> Result<Self> {
        let folder = results.join(self.name());
        if !folder.join(JSON).exists() {
            return Ok(self);
        }
        let mut json = Self::read(&folder)?.json;
        for new in self.json {
            let same = |bench: &&mut Value| bench["rung"] == new["rung"];
            let Some(bench) = json.iter_mut().find(same) else {
                json.push(new);
                continue;
            };
            let (Some(sizes), Some(timed)) =
                (bench["sizes"].as_array_mut(), new["sizes"].as_array())
            else {
                continue; // checked when read
            };
            for run in timed {
                match sizes.iter_mut().find(|old| old["size"] == run["size"]) {
                    Some(old) => *old = run.clone(),
                    None => sizes.push(run.clone()),
                }
            }
            sizes.sort_by_key(cubes_first);
        }
        json.sort_by(|a, b| a["rung"].as_str().cmp(&b["rung"].as_str()));
        Self::new(json)
    }

    /// Parses a bench.json.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn parse(text: &str) -> Result<Self> {
        let json: Vec<Value> = serde_json::from_str(text)?;
        Self::new(json)
    }

    /// Writes a folder named after the GPU into `results`; returns its path.
    pub fn write(&self, results: &Path) -> Result<PathBuf> {
        let folder = results.join(self.name());
        make(&folder)?;
        // One line for each rung, since the samples are many.
        let benches: Vec<_> = self.json.iter().map(Value::to_string).collect();
        let json = format!("[\n{}\n]\n", benches.join(",\n"));
        for (name, text) in self.derived()?.into_iter().chain([(JSON, json)]) {
            write(&folder.join(name), &text)?;
        }
        Ok(folder)
    }

    /// The files that are made from bench.json, each with its name. A plot with nothing to show is omitted.
    pub fn derived(&self) -> Result<Vec<(&'static str, String)>> {
        let [csv, markdown, rungs, sizes] = DERIVED;
        let plots = [(rungs, draw::rungs(self)?), (sizes, draw::sizes(self)?)];
        let plots = plots.into_iter();
        let plots: Vec<_> = plots.filter_map(|(name, svg)| Some((name, svg?))).collect();
        let tables = [
            (csv, csv::csv(self)?),
            (markdown, markdown::markdown(self, &plots)),
        ];
        Ok(tables.into_iter().chain(plots).collect())
    }

    /// One line for each size of each rung.
    pub fn table(&self) -> String {
        markdown::table(self, Regime::Sustained, |_, _| true)
    }

    /// The folder's name, such as `h100-80gb-hbm3`.
    pub fn name(&self) -> String {
        let first = self.runs().next();
        first.map_or_else(String::new, |(_, run)| folder_of(&run.provenance.gpu.name))
    }

    /// The timings of each rung.
    pub fn benches(&self) -> &[Bench] {
        &self.benches
    }

    /// Each rung's label with each of its sizes.
    pub fn runs(&self) -> impl Iterator<Item = (&str, &Run)> {
        self.benches
            .iter()
            .flat_map(|bench| bench.sizes.iter().map(|run| (bench.rung.as_str(), run)))
    }

    /// The commits that the rungs were built from, in the order of the timings.
    pub fn commits(&self) -> String {
        let mut all: Vec<&str> = Vec::new();
        for (_, run) in self.runs() {
            let commit = run.provenance.commit.as_deref().unwrap_or("unknown");
            if !all.contains(&commit) {
                all.push(commit);
            }
        }
        all.join(" and ")
    }

    /// The first and the last date of the runs.
    pub fn dates(&self) -> String {
        let day = |(_, run): (_, &Run)| run.provenance.date.chars().take(10).collect::<String>();
        let first = self.runs().map(day).min().unwrap_or_default();
        let last = self.runs().map(day).max().unwrap_or_default();
        match first == last {
            true => first,
            false => format!("{first} to {last}"),
        }
    }

    /// The run of the rung with this label at this size.
    pub fn run(&self, label: &str, size: Size) -> Option<&Run> {
        let mut runs = self.runs();
        let (_, run) = runs.find(|(rung, run)| *rung == label && run.size == size)?;
        Some(run)
    }

    /// `06_pipeline` of the label `06_pipeline sm_80`.
    pub fn name_of(label: &str) -> &str {
        label.split(' ').next().unwrap_or(label)
    }

    /// The name of the last rung, which is compared with cuBLAS at all sizes.
    pub fn last_rung(&self) -> Option<&str> {
        self.benches.last().map(|bench| Self::name_of(&bench.rung))
    }

    /// The size at which the rungs are compared: 4096 if all have it, else the largest square one that all have.
    pub fn common_size(&self) -> Option<Size> {
        let has = |bench: &Bench, size: Size| bench.sizes.iter().any(|run| run.size == size);
        let common = |size: &Size| self.benches.iter().all(|bench| has(bench, *size));
        let first = self.benches.first()?.sizes.iter().map(|run| run.size);
        let squares: Vec<Size> = first.filter(is_square).filter(common).collect();
        let largest = squares.iter().copied().max_by_key(|size| size.m);
        let compared = squares.into_iter().find(|size| *size == COMPARED);
        compared.or(largest)
    }
}

/// Whether all matrices are square.
pub fn is_square(size: &Size) -> bool {
    *size == Size::cube(size.m)
}

/// The folder of a GPU's record, such as `h100-80gb-hbm3`.
pub fn folder_of(gpu: &str) -> String {
    let gpu = gpu.to_lowercase();
    let mut words: Vec<_> = gpu.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    words.retain(|word| !["", "nvidia"].contains(word));
    words.join("-")
}

/// The folder of records, if the sources are here.
pub fn results() -> PathBuf {
    rungs::root().unwrap_or_default().join("results")
}

/// All files of this name in its folders, in the order of the folders' names.
pub fn files(name: &str) -> Result<Vec<PathBuf>> {
    let folder = results();
    let unread = || format!("cannot read {}", folder.display());
    let entries = fs::read_dir(&folder).with_context(unread)?;
    let files = entries.flatten().map(|entry| entry.path().join(name));
    let mut files: Vec<_> = files.filter(|file| file.is_file()).collect();
    files.sort();
    Ok(files)
}

/// All folders that hold a record.
pub fn all() -> Result<Vec<PathBuf>> {
    let files = files(JSON)?;
    let folders = files.iter().filter_map(|file| file.parent());
    Ok(folders.map(Path::to_path_buf).collect())
}

/// Makes a folder; the error names it.
pub fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// Writes a file; the error names it.
pub fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Cubes by their side, then the other sizes in the order of the input.
fn cubes_first(run: &Value) -> u32 {
    let size = run["size"].as_str().and_then(|size| size.parse().ok());
    let side = size.filter(|size: &Size| size.m == size.n && size.n == size.k);
    side.map_or(u32::MAX, |size| size.m)
}

#[cfg(test)]
mod tests {
    use super::for_tests::{bench, right, wrong};
    use super::*;

    fn record() -> Record {
        let naive = bench(
            "01_naive",
            vec![
                right("512x512x512", "", [2.0, 0.5]),
                wrong("1024x1024x1024"),
            ],
        );
        Record::new(vec![naive]).expect("a record")
    }

    #[test]
    fn the_folder_is_named_after_the_gpu() {
        assert_eq!(record().name(), "h100-80gb-hbm3");
    }

    #[test]
    fn the_table_has_a_line_per_size() {
        assert_eq!(
            record().table(),
            "| rung     | size           | TFLOP/s | of cuBLAS f16 | of the tensor cores | SM MHz |    W |\n\
             | -------- | -------------- | ------: | ------------: | ------------------: | -----: | ---: |\n\
             | 01_naive | 512x512x512    |   134.2 |         25.0% |                     |   1400 |      |\n\
             | 01_naive | 1024x1024x1024 |   WRONG |               |                     |        |      |\n"
        );
    }

    /// Sustained 1000 and 500 us, cool 800 and 400.
    fn with_cool() -> Value {
        let mut run = right("4096x4096x4096", "128x256", [1000.0, 500.0]);
        let mut cool = right("4096x4096x4096", "128x256", [800.0, 400.0]);
        cool["time"]["contestants"][0]["sm_mhz"] = 1600.0.into();
        run["time"]["contestants"][0]["sm_mhz"] = 1400.0.into();
        run["time"]["cool"] = serde_json::json!({ "rounds": 3, "launches_per_sample": 1, "rest_ms": 16.0,
            "contestants": cool["time"]["contestants"], "sm_mhz": [1900.0, 1950.0, 1980.0],
            "power_watts": [150.0, 210.0, 300.0] });
        run
    }

    #[test]
    fn the_cool_regime_has_its_own_table_and_rows() {
        let record = Record::new(vec![bench("16_stream_k", vec![with_cool()])]);
        let record = record.expect("a record");
        let text = markdown::markdown(&record, &[]);
        let (sustained, cool) = text.split_once("## Cool").expect("both regimes");
        assert!(sustained.contains("|   137.4 |         50.0% |"), "{text}");
        assert!(
            sustained.contains("|               18.2% |   1400 |"),
            "{text}"
        );
        assert!(cool.contains("|   171.8 |         50.0% |"), "{text}");
        // In 800 us at 1600 MHz, the tensor cores of 132 SMs could have done five times the work. The sensor read
        // 1950 MHz.
        assert!(
            cool.contains("|               19.9% |   1600 |  210 |"),
            "{text}"
        );
        let rows = csv::csv(&record).expect("a table");
        let of = |regime| rows.lines().filter(|row| row.contains(regime)).count();
        assert_eq!([of(",sustained,"), of(",cool,")], [2, 2], "{rows}");

        // At half of cuBLAS's speed, and at 0.8 of its frequency: 1.6 times as many clocks.
        let mut counted = with_cool();
        for (regime, mhz) in [
            ("/time", [1500.0, 1500.0]),
            ("/time/cool", [1600.0, 2000.0]),
        ] {
            for (place, mhz) in mhz.iter().enumerate() {
                let at = format!("{regime}/contestants/{place}");
                counted.pointer_mut(&at).expect("a contestant")["sm_mhz"] = (*mhz).into();
            }
        }
        let record = Record::new(vec![bench("16_stream_k", vec![counted])]);
        let text = markdown::markdown(&record.expect("a record"), &[]);
        let row = text.split_once("## Clocks and power").expect("a table").1;
        let row = row
            .lines()
            .find(|line| line.starts_with("| 4096"))
            .expect("a row");
        let cells: Vec<&str> = row.split('|').map(str::trim).skip(2).collect();
        assert_eq!(
            cells[..6],
            ["50.0%", "50.0%", "100.0%", "50.0%", "62.5%", "80.0%"]
        );

        let mut without = with_cool();
        without["time"]["cool"]["contestants"][0]["samples_ms"] = serde_json::json!([]);
        let refused = Record::new(vec![bench("16_stream_k", vec![without])]);
        let why = refused.err().expect("there are no samples").to_string();
        assert!(why.contains("samples of kernel cannot be used"), "{why}");
    }

    #[test]
    fn a_prediction_is_beside_its_measurement() {
        let [small, large] = ["1024x1024x1024", "4096x4096x4096"];
        let of = |rung, kernel: [f64; 2]| {
            let sizes = [(small, kernel[0]), (large, kernel[1])];
            bench(
                rung,
                sizes.map(|(size, ms)| right(size, "", [ms, 1.0])).into(),
            )
        };
        let rungs = [
            of("14_store_behind", [1.0, 1.0]),
            of("15_overlap", [0.8, 1.25]),
        ];
        let text = markdown::markdown(&Record::new(rungs.into()).expect("a record"), &[]);
        let row = |start: &str, end: &str| {
            let mut lines = text.lines();
            let found = lines.any(|line| line.starts_with(start) && line.ends_with(end));
            assert!(found, "{start} ... {end} in\n{text}");
        };
        row("| 15_overlap      | 1024x1024x1024 |", "+12% |   +25.0% |");
        row("| 15_overlap      | 4096x4096x4096 |", "102% |    80.0% |");
    }

    #[test]
    fn a_new_timing_replaces_the_old() {
        let results = tempfile::tempdir().expect("a writable folder for temporary files");
        let [small, large, smallest] = ["512x512x512", "1024x1024x1024", "256x256x256"];
        let of = |rung, size, kernel| {
            let one = bench(rung, vec![right(size, "", [kernel, 1.0])]);
            Record::new(vec![one]).expect("a record")
        };
        record().write(results.path()).expect("writable");
        for new in [
            of("01_naive", large, 4.0),
            of("01_naive", smallest, 8.0),
            of("02_smem", small, 1.0),
        ] {
            let both = new.merged_with(results.path()).expect("a record");
            both.write(results.path()).expect("writable");
        }
        assert_eq!(
            Record::read(&results.path().join(record().name()))
                .expect("a record")
                .table(),
            "| rung     | size           | TFLOP/s | of cuBLAS f16 | of the tensor cores | SM MHz |    W |\n\
             | -------- | -------------- | ------: | ------------: | ------------------: | -----: | ---: |\n\
             | 01_naive | 256x256x256    |     4.2 |         12.5% |                     |   1400 |      |\n\
             | 01_naive | 512x512x512    |   134.2 |         25.0% |                     |   1400 |      |\n\
             | 01_naive | 1024x1024x1024 |   536.9 |         25.0% |                     |   1400 |      |\n\
             | 02_smem  | 512x512x512    |   268.4 |        100.0% |                     |   1400 |      |\n"
        );
    }

    #[test]
    fn the_csv_has_a_line_per_contestant() {
        let record = Record::new(vec![bench(
            "06",
            vec![right("512x512x512", "64x128", [2.0, 0.5])],
        )]);
        let csv = csv::csv(&record.expect("a record")).expect("a table");
        let lines: Vec<_> = csv.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines[2],
            "06,512x512x512,64x128,true,sustained,cuBLAS f16,3,20,0.0005,0.0005,0.0005,536.870912,0.25,1300,1400,1980,,,,abc1234,2026-11-21T09:30:00Z,"
        );
    }

    #[test]
    fn kernels_of_the_libraries_are_in_both_tables() {
        let [small, large] = ["512x512x512", "4096x4096x4096"];
        let mut runs = [small, large].map(|size| right(size, "", [2.0, 0.5]));
        let older = Record::new(vec![bench("16_stream_k", runs.to_vec())]).expect("a record");
        assert!(!markdown::markdown(&older, &[]).contains("launch"));

        // The driver reported one name; cuBLASLt took part at one size.
        let mut lt = runs[1]["time"]["contestants"][1].clone();
        (lt["name"], lt["kernel"]) = ("cuBLASLt f16".into(), "nvjet_b + reduce".into());
        let contestants = &mut runs[1]["time"]["contestants"];
        contestants[1]["kernel"] = "nvjet_a".into();
        contestants.as_array_mut().expect("a list").push(lt);
        let record = Record::new(vec![bench("16_stream_k", runs.into())]).expect("a record");
        let text = markdown::markdown(&record, &[]);
        assert!(
            text.contains(
                "\n## What cuBLAS and cuBLASLt launch\n\n\
                 | size           | cuBLAS f16 |     cuBLASLt f16 |\n\
                 | -------------- | ---------- | ---------------: |\n\
                 | 4096x4096x4096 | nvjet_a    | nvjet_b + reduce |\n"
            ),
            "{text}"
        );
        let rows = csv::csv(&record).expect("a table");
        let ends: Vec<_> = rows.lines().map(|row| row.rsplit(',').next()).collect();
        let expected = ["kernel", "", "", "", "nvjet_a", "nvjet_b + reduce"];
        assert_eq!(ends, expected.map(Some), "{rows}");
    }

    #[test]
    fn rungs_are_compared_where_all_have_been_timed() {
        let sizes = |names: &[&str]| {
            names
                .iter()
                .map(|size| right(size, "", [1.0, 1.0]))
                .collect()
        };
        let common = |first: &[&str], second: &[&str]| {
            let benches = vec![bench("01", sizes(first)), bench("02", sizes(second))];
            Record::new(benches).expect("a record").common_size()
        };
        let [small, middle, large] = ["512x512x512", "4096x4096x4096", "8192x8192x8192"];
        assert_eq!(
            common(&[small, middle, large], &[middle, large]),
            Some(Size::cube(4096))
        );
        assert_eq!(
            common(&[small, middle, large], &[small, large]),
            Some(Size::cube(8192))
        );
        assert_eq!(common(&[small], &[middle]), None);
        assert_eq!(common(&["512x64x512"], &["512x64x512"]), None);
    }

    #[test]
    fn what_was_written_is_read_again() {
        let results = tempfile::tempdir().expect("a folder for temporary files");
        let folder = record().write(results.path()).expect("a writable folder");
        let again = Record::read(&folder).expect("what was written");
        for (name, text) in again.derived().expect("tables and plots") {
            let written = fs::read_to_string(folder.join(name)).expect("it was written");
            assert_eq!(written, text, "{name}");
        }
        let json = fs::read_to_string(folder.join(JSON)).expect("it was written");
        assert!(json.contains("samples_ms"));
    }

    #[test]
    fn divisors_are_above_0() {
        let good = right("8x8x8", "", [1.0, 1.0]);
        for (place, value) in [
            ("/time/contestants/0/samples_ms/1", 0.0.into()),
            ("/time/contestants/1/kernel_speed", (-1.0).into()),
            (
                "/time/contestants/1/samples_ms",
                Value::Array(vec![1.0.into()]),
            ),
            ("/time/contestants/1/name", "cuBLAS f32".into()),
            ("/time/contestants/0/name", "kernel 2".into()),
            ("/time/contestants", Value::Array(Vec::new())),
            ("/size", "8x8".into()),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(place).expect("a place") = value;
            assert!(
                Record::new(vec![bench("06", vec![bad])]).is_err(),
                "{place}"
            );
        }
        assert!(Record::new(vec![bench("06", vec![good])]).is_ok());
    }

    #[test]
    fn an_invalid_record_is_named_with_the_remedy() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let error = || format!("{:#}", Record::read(folder.path()).err().expect("an error"));
        let missing = error();
        assert!(
            missing.contains("bench.json") && missing.contains("cargo ladder bench"),
            "{missing}"
        );
        for text in [
            "[",
            "{}",
            "[]",
            r#"[{"rung": "01_naive"}]"#,
            r#"[{"rung": "1", "sizes": []}]"#,
        ] {
            fs::write(folder.path().join(JSON), text).expect("writable");
            let garbled = error();
            assert!(
                garbled.contains("bench.json") && garbled.contains("record it again"),
                "{garbled}"
            );
        }
    }
}
