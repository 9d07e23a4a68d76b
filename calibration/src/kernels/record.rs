//! Records the rungs on a GPU, under Nsight Compute.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use emulator::Card;
use harness::rungs::{self, Rung};
use serde_json::Value;

use super::accesses::{self, AccessRow, AddressPattern};
use super::program::{Bits, KernelRun, RungReport};
use super::{ACCESSES, BITS, STALLS, merged, provenance, source_page};
use crate::instructions::header;
use crate::ncu::{self, Profiled, RawPage};
use crate::recordings::Part;
use crate::stalls;

/// Every kernel is recorded at these sizes; one is not a multiple of the tiles.
pub(super) const SIZES: [&str; 2] = ["256x256x256", "200x136x72"];
/// Recordings of the rungs' accesses to shared and to global memory.
pub const PATTERNS: [&str; 2] = ["shared_memory_rungs.csv", "global_memory_rungs.csv"];
/// A size that fills a GPU, so that stalls and pipe utilization are meaningful.
const FULL_SIZE: &str = "4096x4096x4096";
/// The kernel's name.
const ENTRY: &str = "gemm";
/// The metrics of the source page.
const METRICS: [&str; 7] = [
    "inst_executed",
    "thread_inst_executed_true",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l1_tag_requests_global",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
];

/// The rungs' accesses at the first size, as recordings whose results are zero.
pub fn patterns() -> Result<Vec<(&'static str, String)>> {
    let all = rungs::all()?;
    rungs::build(&all)?;
    let runs = KernelRun::all(&all, SIZES[0])?;
    let reports = runs
        .iter()
        .map(|run| run.on_emulator(&all, Card::default()));
    let reports: Vec<RungReport> = reports.collect::<Result<_>>()?;
    let of_file = |(name, rows): (&'static str, BTreeSet<String>)| {
        let mut text = header(name).to_owned() + "\n";
        rows.iter().for_each(|row| text += &format!("{row}\n"));
        (name, text)
    };
    Ok(patterns_of(&reports).map(of_file).into())
}

/// The rows of these recordings, for shared and for global memory.
pub(super) fn patterns_of<'a>(
    reports: impl IntoIterator<Item = &'a RungReport>,
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

/// A pattern as a row; `None` if it exceeds the window of a recording. Transposed matrix accesses cost the same as
/// plain ones, so both are recorded as plain `ldmatrix` or `stmatrix` of as many matrices as there are rows'
/// addresses.
fn row(pattern: &AddressPattern) -> Option<String> {
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

/// Records `parts` of the rungs into `folder`; calls `progress` with each kernel's result, so that one failure does
/// not lose the others. If rungs are named, the rows of other rungs are kept.
pub fn record(
    folder: &Path,
    gpu: usize,
    parts: &[Part],
    of_rungs: &[String],
    progress: &mut dyn FnMut(&str, Result<String>),
) -> Result<()> {
    let raw = folder.join("raw");
    std::fs::create_dir_all(&raw).with_context(|| format!("cannot create {}", raw.display()))?;
    let all = rungs::named(of_rungs)?;
    rungs::build(&all)?;
    // Only the rows of these rungs are replaced.
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
    let recorder = KernelRecorder {
        all: &all,
        raw,
        gpu,
    };
    let version = ncu::version()?;
    let mut provenance = provenance::Recorded::of(folder)?;
    if parts.contains(&Part::Rungs) {
        let mut bits = csv::Writer::from_writer(Vec::new());
        let mut rows = csv::Writer::from_writer(Vec::new());
        for size in SIZES {
            for run in KernelRun::all(&all, size)? {
                let made = recorder.accesses(&run).and_then(|made| {
                    bits.serialize((&run, made.bits))?;
                    made.rows
                        .iter()
                        .try_for_each(|row| rows.serialize(row.columns()))?;
                    provenance.add("rungs", &run.rung, &made.report, &version);
                    Ok(made.said)
                });
                progress(&run.to_string(), made);
            }
        }
        write(BITS, bits)?;
        write(ACCESSES, rows)?;
    }
    if parts.contains(&Part::Stalls) {
        let mut table = csv::Writer::from_writer(Vec::new());
        let columns = stalls::metrics();
        let names = columns.iter().map(|(name, _)| name.as_str());
        table.write_record(KernelRun::COLUMNS.into_iter().chain(names))?;
        for run in KernelRun::all(&all, FULL_SIZE)? {
            let made = recorder.stalls(&run).and_then(|(fields, report)| {
                let fields_of_all = fields.iter().map(String::as_str);
                table.write_record(run.fields().into_iter().chain(fields_of_all))?;
                provenance.add("stalls", &run.rung, &report, &version);
                Ok(format!("{} ns", fields[0]))
            });
            progress(&format!("stalls of {run}"), made);
        }
        write(STALLS, table)?;
    }
    provenance.write(folder)
}

struct KernelRecorder<'a> {
    all: &'a [Rung],
    raw: PathBuf,
    gpu: usize,
}

/// A kernel's rows, and its program's report.
struct RecordedKernel {
    bits: Bits,
    rows: Vec<AccessRow>,
    report: Value,
    said: String,
}

impl KernelRecorder<'_> {
    /// Runs `ncu` with `arguments` over one launch of the run's kernel; returns its log and the rung's report.
    fn profiled(&self, run: &KernelRun, arguments: &[&str], name: &str) -> Result<(String, Value)> {
        let mut command = ncu::command()?;
        command
            .args(["--kernel-name", ENTRY, "--launch-count", "1"])
            .args(arguments);
        let log = self.raw.join(format!("{name}.log"));
        let program = run.on_gpu(self.all, self.gpu)?;
        let Profiled { log, printed } = ncu::profile(command, &log, &program)?;
        let report = serde_json::from_slice(&printed).with_context(|| {
            let printed = String::from_utf8_lossy(&printed).into_owned();
            format!("the rung printed no JSON:\n{}", ncu::head(&printed))
        })?;
        Ok((log, report))
    }

    fn accesses(&self, run: &KernelRun) -> Result<RecordedKernel> {
        let name = file_name(run);
        let export = self.raw.join(&name);
        let metrics = METRICS.join(",");
        let arguments = [
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
            &export.to_string_lossy(),
        ];
        let (_, report) = self.profiled(run, &arguments, &name)?;
        let c_sha256 = report["c_sha256"].as_str().unwrap_or_default().to_owned();
        if c_sha256.is_empty() {
            bail!("the rung's report has no C");
        }
        let file = report["provenance"]["kernel"].as_str();
        let file = file.and_then(|file| file.rsplit('/').next());
        let file = file.unwrap_or("kernel.cu").to_owned();
        let page = self.page(&name, "sass", None)?;
        let listing = source_page::instructions(&page)?;
        // The PTX's path of the file exists on no machine; ncu shows lines only for a file that it finds.
        let source = run.folder().map(|folder| folder.join(&file));
        let source = source.filter(|source| source.is_file());
        let lines = self.page(&name, "cuda,sass", source.as_deref());
        let lines = lines.and_then(|page| source_page::lines(&page, &file));
        let with_lines = match &lines {
            Ok(lines) => format!("{} with a line", lines.len()),
            Err(why) => format!("no lines: {why:#}"),
        };
        Ok(RecordedKernel {
            bits: Bits { c_sha256 },
            rows: accesses::rows(run, &listing, &lines.unwrap_or_default()),
            report,
            said: format!("{} instructions, {with_lines}", listing.len()),
        })
    }

    /// A source page of the report `name`, which is also written beside the report.
    fn page(&self, name: &str, view: &str, source: Option<&Path>) -> Result<String> {
        let report = format!("{name}.ncu-rep");
        let mut command = ncu::command()?;
        command
            .current_dir(&self.raw)
            .args(["--import", &report, "--page", "source", "--csv"])
            .args(["--print-units", "base", "--print-source", view]);
        if let Some(source) = source {
            command.arg("--resolve-source-file").arg(source);
        }
        let text = ncu::print(&mut command)?;
        let file = format!("{name}.{}.csv", view.replace(',', "_"));
        let path = self.raw.join(file);
        std::fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(text)
    }

    /// The metrics of [`stalls::metrics`], and the program's report.
    fn stalls(&self, run: &KernelRun) -> Result<(Vec<String>, Value)> {
        let name = format!("stalls_{}", file_name(run));
        let columns = stalls::metrics();
        let mut wanted: Vec<&str> = columns.iter().map(|(_, metric)| metric.as_str()).collect();
        let (log, report) = loop {
            let metrics = wanted.join(",");
            let arguments = ["--csv", "--page", "raw", "--metrics", &metrics];
            match self.profiled(run, &arguments, &name) {
                Ok(done) => break done,
                // Another version of ncu may lack a metric: its log says which, and the others are still useful.
                Err(why) => {
                    let text = format!("{why:#}");
                    let (_, said) = text.split_once(" failed: ").unwrap_or_default();
                    let before = wanted.len();
                    wanted.retain(|metric| !said.contains(metric));
                    if wanted.is_empty() || wanted.len() == before {
                        return Err(why);
                    }
                }
            }
        };
        let page = RawPage::of(&log)?;
        if page.kernels() != 1 {
            let (kernels, begins) = (page.kernels(), ncu::head(&log));
            bail!("ncu saw {kernels} kernels; its log begins with\n{begins}");
        }
        Ok((stalls::fields(&page, &columns), report))
    }
}

fn file_name(run: &KernelRun) -> String {
    let mut fields = run.fields().to_vec();
    fields.retain(|field| !field.is_empty());
    fields.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(access: &str, bytes: u32, offsets: Vec<Option<u64>>) -> AddressPattern {
        AddressPattern {
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
            let text = format!("{}\n{text}\n", header(name));
            let made = crate::instructions::experiments(name, text.as_bytes());
            assert_eq!(made.expect("known").expect("a recording").len(), 1);
        }
        assert_eq!(row(&pattern("ld", 4, vec![Some(1 << 20); 32])), None);
        assert_eq!(row(&pattern("ld", 4, vec![None; 32])), None);
    }
}
