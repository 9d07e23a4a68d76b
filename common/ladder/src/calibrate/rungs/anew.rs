//! Records the rungs on a GPU, under Nsight Compute.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use emulator::Card;
use owo_colors::OwoColorize;
use serde_json::Value;

use super::super::ncu::{self, RawPage};
use super::super::record::{Ordinal, Part};
use super::accesses::{self, Run};
use super::{
    ACCESSES, BITS, Bits, Report, STALLS, command, merged, on_emulator, provenance, source_page,
    stalls,
};
use crate::rungs::{self, Rung};

/// Every kernel is recorded at these; one is ragged.
pub(super) const SIZES: [&str; 2] = ["256x256x256", "200x136x72"];
/// Recordings of what the rungs ask of shared and of global memory.
pub const PATTERNS: [&str; 2] = ["shared_memory_rungs.csv", "global_memory_rungs.csv"];
/// Where a GPU is full, and stalls and pipes say something.
const FULL: &str = "4096x4096x4096";
/// The kernel's name.
const ENTRY: &str = "gemm";
/// What the source page is made of.
const METRICS: [&str; 7] = [
    "inst_executed",
    "thread_inst_executed_true",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l1_tag_requests_global",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
];

/// All kernels of all rungs.
fn kernels(all: &[Rung], size: &str) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for rung in all {
        for choice in rungs::choices(rung)? {
            runs.push(Run {
                rung: rung.name.clone(),
                arch: choice.arch,
                tile: choice.tile.unwrap_or_default(),
                size: size.into(),
            });
        }
    }
    Ok(runs)
}

/// The patterns of addresses that the rungs ask for at the first size, as recordings whose results are zero.
pub fn patterns() -> Result<[(&'static str, String); 2]> {
    let all = rungs::all()?;
    rungs::build(&all)?;
    let runs = kernels(&all, SIZES[0])?;
    let reports = runs
        .iter()
        .map(|run| on_emulator(&all, run, Card::default()));
    let reports: Vec<Report> = reports.collect::<Result<_>>()?;
    let measured = ["wavefronts,bank_conflicts", "sectors,requests"].into_iter();
    let mut measured =
        measured.map(|two| format!("op,bytes_per_lane,byte_offset_per_lane,{two}\n"));
    Ok(patterns_of(&reports).map(|(name, rows)| {
        let header = measured.next().unwrap_or_default();
        (
            name,
            rows.into_iter()
                .fold(header, |text, row| text + &row + "\n"),
        )
    }))
}

/// The rows of these recordings, for shared and for global memory.
pub(super) fn patterns_of<'a>(
    reports: impl IntoIterator<Item = &'a Report>,
) -> [(&'static str, BTreeSet<String>); 2] {
    let (mut shared, mut global) = (BTreeSet::new(), BTreeSet::new());
    let accesses = reports.into_iter().flat_map(|report| &report.accesses);
    for pattern in accesses.flat_map(|access| &access.patterns) {
        let rows = match pattern.space.as_str() {
            "global" => &mut global,
            _ => &mut shared,
        };
        rows.extend(row(pattern));
    }
    let [of_shared, of_global] = PATTERNS;
    [(of_shared, shared), (of_global, global)]
}

/// A pattern as a row; none if it reaches farther than a recording does. Loads and stores of matrices cost the same,
/// transposed or not, so they are recorded as plain loads of as many matrices as lanes name rows of.
fn row(pattern: &accesses::Pattern) -> Option<String> {
    let farthest = pattern.offsets.iter().flatten().max()?;
    if *farthest >= 1 << 20 {
        return None;
    }
    let (op, lanes) = match pattern.access.as_str() {
        "matrix" => match pattern.offsets.iter().flatten().count() {
            8 => ("ldmatrix.x1", 8),
            16 => ("ldmatrix.x2", 16),
            32 => ("ldmatrix.x4", 32),
            _ => return None,
        },
        op => (op, pattern.offsets.len()),
    };
    let field = |offset: &Option<u64>| offset.map_or("-".into(), |at| at.to_string());
    let offsets: Vec<String> = pattern.offsets.iter().take(lanes).map(field).collect();
    Some(format!("{op},{},{},0,0", pattern.bytes, offsets.join(" ")))
}

/// Records `parts` of the rungs into `folder`; whether all went well. What went wrong is said at once, so that one
/// kernel that fails costs no other. If rungs are named, rows of the others stay what they are there.
pub fn anew(folder: &Path, device: Ordinal, parts: &[Part], of_rungs: &[String]) -> Result<bool> {
    let raw = folder.join("raw");
    std::fs::create_dir_all(&raw).with_context(|| format!("cannot make {}", raw.display()))?;
    let all = rungs::named(of_rungs)?;
    rungs::build(&all)?;
    // Of what is recorded, only the rows of these rungs are made anew.
    let names: Vec<&str> = all.iter().map(|rung| rung.name.as_str()).collect();
    let write = |name: &str, rows: csv::Writer<Vec<u8>>| -> Result<()> {
        let rows = rows.into_inner().context("a table is not complete")?;
        let path = folder.join(name);
        let older = match of_rungs {
            [] => None,
            _ => merged::older(&path)?,
        };
        let merged = merged::with(older.as_deref(), &rows, &names, &SIZES)
            .with_context(|| path.display().to_string())?;
        std::fs::write(&path, merged).with_context(|| format!("cannot write {}", path.display()))
    };
    let recorder = Recorder {
        all: &all,
        raw: &raw,
        device,
        ncu: ncu::version()?,
    };
    let mut complete = true;
    let mut say = |what: String, result: Result<String>| match result {
        Ok(said) => anstream::println!("{what:<44} {said}"),
        Err(why) => {
            complete = false;
            anstream::eprintln!("{} {what}: {why:#}", "not recorded:".red().bold());
        }
    };
    let mut provenance = provenance::Recorded::of(folder)?;
    if parts.contains(&Part::Rungs) {
        let mut bits = csv::Writer::from_writer(Vec::new());
        let mut rows = csv::Writer::from_writer(Vec::new());
        for size in SIZES {
            for run in kernels(&all, size)? {
                let made = recorder.accesses(&run);
                let made = made.and_then(|(one, of_run, report, said)| {
                    bits.serialize(one)?;
                    of_run.into_iter().try_for_each(|row| rows.serialize(row))?;
                    provenance.add("rungs", &run.rung, &report, &recorder.ncu);
                    Ok(said)
                });
                say(run.to_string(), made);
            }
        }
        write(BITS, bits)?;
        write(ACCESSES, rows)?;
    }
    if parts.contains(&Part::Stalls) {
        let mut table = csv::Writer::from_writer(Vec::new());
        table.write_record(stalls::header())?;
        for run in kernels(&all, FULL)? {
            let made = recorder.stalls(&run);
            let made = made.and_then(|(fields, report)| {
                table.write_record(&fields)?;
                provenance.add("stalls", &run.rung, &report, &recorder.ncu);
                Ok(format!("{} ns", fields[4]))
            });
            say(format!("stalls of {run}"), made);
        }
        write(STALLS, table)?;
    }
    provenance.write(folder)?;
    Ok(complete)
}

struct Recorder<'a> {
    all: &'a [Rung],
    raw: &'a Path,
    device: Ordinal,
    ncu: String,
}

type Recorded = (Bits, Vec<accesses::Row>, Value, String);

impl Recorder<'_> {
    /// `ncu` with `arguments` over one launch of the run's kernel; its log and what the rung printed as JSON.
    fn watched(&self, run: &Run, arguments: &[&str], name: &str) -> Result<(String, Value)> {
        let rung = self.all.iter().find(|rung| rung.name == run.rung);
        let rung = command(rung.with_context(|| format!("no rung {}", run.rung))?, run)?;
        let log = self.raw.join(format!("{name}.log"));
        let mut command = ncu::command()?;
        command
            .args(["--clock-control", "none", "--kernel-name", ENTRY])
            .args(["--launch-count", "1", "--print-units", "base"])
            .args(arguments)
            .arg("--log-file")
            .arg(&log)
            .arg(rung.get_program())
            .args(rung.get_args())
            .args(["--device", &self.device.to_string()]);
        let printed = ncu::watch(&mut command, &log)?;
        let report = serde_json::from_slice(&printed).with_context(|| {
            let printed = String::from_utf8_lossy(&printed).into_owned();
            format!("the rung printed no JSON:\n{}", ncu::head(&printed))
        })?;
        let log = std::fs::read_to_string(&log).context("ncu wrote no log")?;
        Ok((log, report))
    }

    fn accesses(&self, run: &Run) -> Result<Recorded> {
        let name = name(run);
        let report_file = self.raw.join(&name);
        let report_file = report_file.to_string_lossy();
        let metrics = METRICS.join(",");
        let (_, report) = self.watched(
            run,
            &[
                "--section",
                "SourceCounters",
                "--metrics",
                &metrics,
                "--cache-control",
                "none",
                "--import-source",
                "yes",
                "--force-overwrite",
                "--export",
                &report_file,
            ],
            &name,
        )?;
        let c_sha256 = report["c_sha256"].as_str().unwrap_or_default().to_owned();
        if c_sha256.is_empty() {
            bail!("the rung says nothing of C");
        }
        let file = report["provenance"]["kernel"]
            .as_str()
            .unwrap_or("kernel.cu");
        let file = file.rsplit('/').next().unwrap_or(file).to_owned();
        let page = self.page(&name, "sass", &[])?;
        let listing = source_page::instructions(&page)?;
        // The file is said to lie where it lay for no compiler; ncu shows lines only of one that it finds.
        let source = rungs::root().map(|root| root.join("rungs").join(&run.rung).join(&file));
        let source = source.map(|path| path.to_string_lossy().into_owned());
        let mut resolve = Vec::new();
        if let Some(source) = source
            .as_deref()
            .filter(|source| Path::new(source).is_file())
        {
            resolve = vec!["--resolve-source-file", source];
        }
        let lines = self.page(&name, "cuda,sass", &resolve);
        let lines = lines.and_then(|page| source_page::lines(&page, &file));
        let said = match &lines {
            Ok(lines) => format!(
                "{} instructions, {} with a line",
                listing.len(),
                lines.len()
            ),
            Err(why) => format!("{} instructions, no lines: {why:#}", listing.len()),
        };
        let rows = accesses::rows(run, &listing, &lines.unwrap_or_default());
        let Run {
            rung,
            arch,
            tile,
            size,
        } = run.clone();
        let bits = Bits {
            rung,
            arch,
            tile,
            size,
            c_sha256,
        };
        Ok((bits, rows, report, said))
    }

    /// A source page of the report `name`, which is kept beside it.
    fn page(&self, name: &str, view: &str, more: &[&str]) -> Result<String> {
        let report = format!("{name}.ncu-rep");
        let mut command = ncu::command()?;
        command.current_dir(self.raw);
        command.args(["--import", &report, "--page", "source", "--csv"]);
        command
            .args(["--print-units", "base", "--print-source", view])
            .args(more);
        let text = ncu::print(&mut command)?;
        let path = self
            .raw
            .join(format!("{name}.{}.csv", view.replace(',', "_")));
        std::fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(text)
    }

    /// The fields of a row of `stalls.csv`.
    fn stalls(&self, run: &Run) -> Result<(Vec<String>, Value)> {
        let name = format!("stalls_{}", name(run));
        let known: BTreeMap<&str, &str> =
            stalls::METRICS.map(|(name, metric)| (metric, name)).into();
        let mut lacking = BTreeSet::new();
        let (log, report) = loop {
            let wanted: Vec<&str> = known
                .keys()
                .copied()
                .filter(|m| !lacking.contains(m))
                .collect();
            let metrics = wanted.join(",");
            let watched = self.watched(
                run,
                &["--csv", "--page", "raw", "--metrics", &metrics],
                &name,
            );
            match watched {
                Ok(done) => break done,
                // Another version may lack a metric: it says which, and the others are still worth having.
                Err(why) => {
                    let text = format!("{why:#}");
                    let (_, said) = text.split_once(" failed: ").unwrap_or_default();
                    let named = wanted
                        .iter()
                        .copied()
                        .filter(|metric| said.contains(metric));
                    let before = lacking.len();
                    lacking.extend(named);
                    if lacking.len() == before || lacking.len() == known.len() {
                        return Err(why);
                    }
                }
            }
        };
        let page = RawPage::of(&log)?;
        if page.kernels() != 1 {
            bail!(
                "ncu saw {} kernels; its log begins with\n{}",
                page.kernels(),
                ncu::head(&log)
            );
        }
        let mut fields = vec![
            run.rung.clone(),
            run.arch.clone(),
            run.tile.clone(),
            run.size.clone(),
        ];
        fields.extend(stalls::fields(&page, 0, &stalls::METRICS));
        Ok((fields, report))
    }
}

/// A file's name.
fn name(run: &Run) -> String {
    let parts = [&run.rung, &run.arch, &run.tile, &run.size].into_iter();
    let parts: Vec<&str> = parts
        .filter(|part| !part.is_empty())
        .map(String::as_str)
        .collect();
    parts.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(access: &str, bytes: u32, offsets: Vec<Option<u64>>) -> accesses::Pattern {
        accesses::Pattern {
            space: "shared".into(),
            access: access.into(),
            bytes,
            offsets,
        }
    }

    #[test]
    fn a_pattern_is_a_row_of_a_recording() {
        let lanes = |count: u64| {
            (0..32)
                .map(|lane| (lane < count).then_some(16 * lane))
                .collect()
        };
        let of = |access, bytes, lanes| row(&pattern(access, bytes, lanes)).expect("a row");
        assert!(
            of("matrix", 16, lanes(8)).starts_with("ldmatrix.x1,16,0 16 32 48 64 80 96 112,0,0")
        );
        assert!(of("st", 4, lanes(2)).starts_with("st,4,0 16 - - "));
        for (name, text) in [
            ("shared_memory_rungs.csv", of("matrix", 16, lanes(32))),
            ("global_memory_rungs.csv", of("ld", 8, lanes(3))),
        ] {
            let measured = if name.starts_with('s') {
                "wavefronts,bank_conflicts"
            } else {
                "sectors,requests"
            };
            let text = format!("op,bytes_per_lane,byte_offset_per_lane,{measured}\n{text}\n");
            let made = emulator::calibrate::experiments(name, text.as_bytes());
            assert_eq!(made.expect("known").expect("a recording").len(), 1);
        }
        assert_eq!(row(&pattern("ld", 4, vec![Some(1 << 20); 32])), None);
        assert_eq!(row(&pattern("ld", 4, vec![None; 32])), None);
    }
}
