//! Compares every rung's kernels with a GPU: the bits of C, and the accesses of each line by the instrumented
//! counters.
//!
//! | file | a row |
//! | --- | --- |
//! | `rungs.csv` | a kernel at a size; SHA-256 of C |
//! | `accesses.csv` | machine instructions of one name at one line; their accesses |
//! | `merged.csv` | an access in PTX that ptxas merges or drops, and why; written by hand, ideally empty |
//! | `stalls.csv` | a kernel at 4096; its time, stall reasons and pipe utilization, for the reader |
//!
//! `raw/` holds the output of Nsight Compute. Rungs run on both sides as a reader would run them.
mod accesses;
mod merged;
mod program;
mod provenance;
mod record;
mod source_page;

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use emulator::Card;
use harness::rungs;
use rayon::prelude::*;
use serde::Deserialize;

use accesses::{AccessRow, EmulatedAccess, Key};
pub use accesses::{Counts, NOT_COMPARABLE};
use program::{Bits, KernelRun, RungReport, table};
pub use record::{PATTERNS, patterns, record};

use crate::instructions::{Comparison, Difference};
use crate::recordings::Recordings;

/// The files of a recording of rungs.
const BITS: &str = "rungs.csv";
pub const ACCESSES: &str = "accesses.csv";
const MERGED: &str = "merged.csv";
const STALLS: &str = "stalls.csv";
/// Their provenance.
const PROVENANCE: &str = "provenance.json";
/// The provenance of the recordings of single instructions.
pub const OF_INSTRUCTIONS: &str = "provenance_instructions.json";

/// Other files of the folder: compute-sanitizer's output for broken kernels and the bits of split tiles, which have
/// their own tests, and the provenance of single files.
const OTHER_FILES: [&str; 4] = [
    "sanitizers.csv",
    "provenance_sanitizers.json",
    "provenance_fragments.json",
    "shared_tiles.json",
];

/// The size at which [`counters`] are counted.
pub const SIZE_OF_COUNTERS: &str = record::SIZES[0];

/// Whether a file of this name belongs to a recording of rungs.
pub fn is_known(name: &str) -> bool {
    [BITS, ACCESSES, MERGED, STALLS, PROVENANCE, OF_INSTRUCTIONS].contains(&name)
        || OTHER_FILES.contains(&name)
}

/// A row of `merged.csv`, which applies at every size.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct MergedRow {
    rung: String,
    arch: String,
    tile: String,
    line: Option<u32>,
    /// The kind of access, such as `ld.shared`.
    access: String,
    /// What ptxas compiles it to, from its machine code.
    reason: String,
}

/// The rows of `rungs.csv`.
fn runs_and_bits(bytes: &[u8]) -> Result<(Vec<KernelRun>, Vec<Bits>)> {
    let rows = table(BITS, bytes, |row| Ok((row.get()?, row.get()?)))?;
    Ok(rows.into_iter().unzip())
}

/// Compares what a recording of rungs contains with the emulator of a card: the bits, then the accesses.
pub fn compare(recordings: &Recordings, card: Card) -> Result<Vec<(&'static str, Comparison)>> {
    let Some(bits) = recordings.get(BITS) else {
        return Ok(Vec::new());
    };
    let file = |name| recordings.get(name).unwrap_or_default();
    let (runs, bits) = runs_and_bits(bits)?;
    let rows = AccessRow::all(ACCESSES, file(ACCESSES))?;
    let merged: Vec<MergedRow> = table(MERGED, file(MERGED), |row| row.get())?;
    if bits.is_empty() {
        bail!("{BITS} holds no row");
    }
    let all = rungs::all()?;
    rungs::build(&all)?;
    let reports = runs.par_iter().map(|run| run.on_emulator(&all, card));
    let reports: Vec<RungReport> = reports.collect::<Result<_>>()?;
    let mut compared = vec![(BITS, compare_bits(&runs, &bits, &reports))];
    let at_first_size = runs.iter().zip(&reports);
    let at_first_size = at_first_size.filter(|(run, _)| run.size == SIZE_OF_COUNTERS);
    let patterns = record::patterns_of(at_first_size.map(|(_, report)| report));
    for (name, patterns) in patterns {
        if let Some(recorded) = recordings.get(name) {
            let recorded = String::from_utf8_lossy(recorded);
            compared.push((name, are_recorded(&patterns, &recorded)));
        }
    }
    if !rows.is_empty() {
        let accesses = reports.iter().map(|report| report.accesses.as_slice());
        let runs = runs.iter().zip(accesses);
        compared.push((ACCESSES, compare_accesses(runs, &rows, &merged)?));
    }
    Ok(compared)
}

/// The accesses of a kernel's loads and stores at [`SIZE_OF_COUNTERS`], on the emulator and in these recordings;
/// `None` if it is not recorded. A rung whose kernel has one tile is identified by its architecture.
pub fn counters(recordings: &Recordings, label: &[&str; 3]) -> Result<Option<[Counts; 2]>> {
    let file = |name| recordings.get(name).unwrap_or_default();
    let (runs, _) = runs_and_bits(file(BITS))?;
    let [rung, arch, tile] = label;
    let is_it = |run: &KernelRun| {
        (run.rung.as_str(), run.arch.as_str(), run.size.as_str()) == (rung, arch, SIZE_OF_COUNTERS)
            && (run.tile.is_empty() || run.tile == *tile)
    };
    let Some(run) = runs.into_iter().find(is_it) else {
        return Ok(None);
    };
    let rows = AccessRow::all(ACCESSES, file(ACCESSES))?;
    let rows: Vec<&AccessRow> = rows.iter().filter(|row| row.run == run).collect();
    let report = run.on_emulator(&rungs::all()?, Card::default())?;
    let sums = [
        accesses::emulated(&report.accesses, false),
        accesses::measured(&rows, false),
    ];
    Ok(Some(sums.map(|sums| {
        let mut sum = Counts::default();
        sums.into_values().for_each(|counts| sum += counts);
        sum
    })))
}

/// Checks that each of these patterns has been recorded on a GPU; its counters are compared elsewhere.
fn are_recorded(patterns: &BTreeSet<String>, recorded: &str) -> Comparison {
    let recorded: BTreeSet<&str> = recorded.lines().map(pattern_of).collect();
    let lost = patterns
        .iter()
        .filter(|row| !recorded.contains(pattern_of(row)));
    let difference = |row: &String| Difference {
        place: "a rung's access".into(),
        what: pattern_of(row).into(),
        expected: "recorded".into(),
        found: "missing: the kernels have changed since".into(),
    };
    Comparison {
        unit: "of the rungs' accesses are recorded",
        all: patterns.len(),
        differences: lost.map(difference).collect(),
    }
}

/// A row without its two result columns.
fn pattern_of(row: &str) -> &str {
    let mut columns = row.rsplitn(3, ',');
    columns.nth(2).unwrap_or_default()
}

fn compare_bits(runs: &[KernelRun], bits: &[Bits], reports: &[RungReport]) -> Comparison {
    let rows = (1..).zip(runs).zip(bits.iter().zip(reports));
    let wrong = rows.filter(|(_, (bits, report))| **bits != report.bits);
    let differences = wrong.map(|((number, run), (bits, report))| Difference {
        place: format!("row {number}"),
        what: format!("C of {run}"),
        expected: bits.c_sha256.clone(),
        found: report.bits.c_sha256.clone(),
    });
    Comparison {
        unit: "kernels",
        all: bits.len(),
        differences: differences.collect(),
    }
}

/// Compares kind by kind, and line by line if the GPU's compiler recorded lines. What `merged.csv` lists is excluded,
/// and must differ.
fn compare_accesses<'a>(
    runs: impl IntoIterator<Item = (&'a KernelRun, &'a [EmulatedAccess])>,
    rows: &[AccessRow],
    merged: &[MergedRow],
) -> Result<Comparison> {
    let (mut all, mut differences) = (0, Vec::new());
    let mut needed = vec![false; merged.len()];
    let mut seen = 0;
    for (run, emulated) in runs {
        let rows: Vec<&AccessRow> = rows.iter().filter(|row| row.run == *run).collect();
        seen += rows.len();
        let has_lines = rows.iter().any(|row| row.access.line.is_some());
        // The sums show whether counters differ or only lines.
        for with_lines in [false, true].into_iter().take(1 + usize::from(has_lines)) {
            let expected = accesses::measured(&rows, with_lines);
            let found = accesses::emulated(emulated, with_lines);
            let guarded = accesses::guarded(&rows, with_lines);
            let keys: BTreeSet<&Key> = expected.keys().chain(found.keys()).collect();
            for key in keys {
                let [mut expected, mut found] =
                    [&expected, &found].map(|sums| sums.get(key).copied().unwrap_or_default());
                if guarded.contains(key) {
                    // Active lanes are compared instead.
                    (expected.executions, found.executions) = (0, 0);
                }
                let exception = merged
                    .iter()
                    .position(|row| row.applies_to(run, key, with_lines));
                if let Some(exception) = exception {
                    needed[exception] |= expected != found;
                    continue;
                }
                all += 1;
                if expected != found {
                    let (line, kind) = key;
                    let line = match line {
                        Some(line) => format!("line {line}"),
                        None if with_lines => "without a line".into(),
                        None => "in total".into(),
                    };
                    differences.push(Difference {
                        place: format!("{run}, {line}"),
                        what: kind.name().to_owned(),
                        expected: expected.to_string(),
                        found: found.to_string(),
                    });
                }
            }
        }
    }
    if seen < rows.len() {
        let lost = rows.len() - seen;
        bail!("{ACCESSES} has {lost} rows of kernels or sizes that {BITS} does not list");
    }
    for (merged, needed) in merged.iter().zip(needed) {
        if merged.reason.is_empty() {
            bail!("{MERGED}: {} {} has no reason", merged.rung, merged.access);
        }
        if !needed {
            all += 1;
            differences.push(Difference {
                place: MERGED.into(),
                what: format!("{} {} {}", merged.rung, merged.arch, merged.access),
                expected: "an access that ptxas merges or drops".into(),
                found: "equal counters at every size: the row is no longer needed".into(),
            });
        }
    }
    Ok(Comparison {
        unit: "lines' accesses",
        all,
        differences,
    })
}

impl MergedRow {
    /// Whether it applies to this key; a sum over all lines is affected by the exception of any line.
    fn applies_to(&self, run: &KernelRun, (line, kind): &Key, with_lines: bool) -> bool {
        (&self.rung, &self.arch, &self.tile) == (&run.rung, &run.arch, &run.tile)
            && (self.line == *line || !with_lines)
            && self.access == kind.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> KernelRun {
        KernelRun {
            rung: "02_smem".into(),
            arch: "sm_80".into(),
            tile: String::new(),
            size: "256x256x256".into(),
        }
    }

    fn emulated(line: u32, operation: &str, executions: u64, wavefronts: u64) -> EmulatedAccess {
        EmulatedAccess {
            line: Some(line),
            operation: operation.into(),
            counts: Counts {
                executions,
                threads: 32 * executions,
                wavefronts,
                ideal: wavefronts,
                sectors: 0,
            },
            patterns: Vec::new(),
        }
    }

    const HEADER: &str = "rung,arch,tile,size,line,opcode,guarded,instructions,executions,threads,shared_wavefronts,\
        shared_wavefronts_ideal,global_sectors,global_tag_requests\n";

    fn rows(text: &str) -> Vec<AccessRow> {
        let lines = text
            .lines()
            .map(|line| format!("02_smem,sm_80,,256x256x256,{line}\n"));
        let text = HEADER.to_owned() + &lines.collect::<String>();
        AccessRow::all(ACCESSES, text.as_bytes()).expect("rows")
    }

    fn compared(
        emulated: &[EmulatedAccess],
        rows: &[AccessRow],
        merged: &str,
    ) -> Result<Comparison> {
        let text = format!("rung,arch,tile,line,access,reason\n{merged}");
        let merged: Vec<MergedRow> =
            table(MERGED, text.as_bytes(), |row| row.get()).expect("a table");
        compare_accesses([(&run(), emulated)], rows, &merged)
    }

    #[test]
    fn lines_are_compared_by_kind() {
        // Two stores of PTX at a line are two instructions of one name; a cp.async is not compared.
        let asked = [
            emulated(12, "st.shared.f32", 64, 128),
            emulated(12, "st.shared.f32", 64, 64),
            emulated(12, "ld.shared.f32", 64, 64),
            emulated(13, "cp.async.cg.shared.global", 64, 256),
        ];
        let measured = rows(
            "12,STS,false,2,128,4096,192,192,0,0\n12,LDS,false,1,64,2048,64,64,0,0\n13,LDGSTS.E.128,false,1,64,2048,99,9,9,9",
        );
        let comparison = compared(&asked, &measured, "").expect("a comparison");
        assert_eq!(
            (comparison.equal(), comparison.all),
            (4, 4),
            "{comparison:?}"
        );

        let changed = rows(
            "12,STS,false,2,128,4096,193,192,0,0\n12,LDS,false,1,64,2048,64,64,0,0\n14,LDL,false,1,8,256,0,0,0,0",
        );
        let comparison = compared(&asked, &changed, "").expect("a comparison");
        assert_eq!((comparison.equal(), comparison.all), (2, 6));
        assert_eq!(
            comparison.differences[0].place,
            "02_smem sm_80 at 256x256x256, in total"
        );
        let difference = &comparison.differences[2];
        assert_eq!(difference.place, "02_smem sm_80 at 256x256x256, line 12");
        assert_eq!(difference.what, "st.shared");
        assert!(
            difference.expected.contains("wavefronts 193"),
            "{difference:?}"
        );
        assert!(
            difference.found.contains("wavefronts 192"),
            "{difference:?}"
        );
        assert_eq!(
            comparison.differences[3].what, "LDL",
            "no such access is emulated"
        );
    }

    #[test]
    fn without_lines_kinds_are_compared() {
        let asked = [
            emulated(12, "st.shared.f32", 64, 128),
            emulated(14, "st.shared.f32", 64, 64),
        ];
        let measured = rows(",STS,false,2,128,4096,192,192,0,0");
        let comparison = compared(&asked, &measured, "").expect("a comparison");
        assert_eq!(
            (comparison.equal(), comparison.all),
            (1, 1),
            "{comparison:?}"
        );
    }

    #[test]
    fn a_guarded_instruction_is_compared_by_its_lanes() {
        // The last of 80 turns loads nothing more: the machine code is executed without active lanes, PTX branches
        // around it.
        let asked = [emulated(
            15,
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            64,
            256,
        )];
        let of = |row: &str| {
            compared(&asked, &rows(row), "")
                .expect("a comparison")
                .equal()
        };
        assert_eq!(of("15,LDSM.16.M88.4,true,1,80,2048,256,256,0,0"), 2);
        assert_eq!(of("15,LDSM.16.M88.4,true,1,80,2560,256,256,0,0"), 0);
        assert_eq!(of("15,LDSM.16.M88.4,false,1,80,2048,256,256,0,0"), 0);
    }

    #[test]
    fn an_exception_must_be_needed() {
        let asked = [
            emulated(12, "ld.shared.f32", 256, 256),
            emulated(13, "st.shared.f32", 64, 64),
        ];
        let measured =
            rows("12,LDS.128,false,1,64,2048,64,64,0,0\n13,STS,false,1,64,2048,64,64,0,0");
        let of = |merged: &str| compared(&asked, &measured, merged);
        assert_eq!(of("").expect("a comparison").equal(), 2);
        let merged = "02_smem,sm_80,,12,ld.shared,four neighbors are one LDS.128\n";
        let comparison = of(merged).expect("a comparison");
        assert_eq!(
            (comparison.equal(), comparison.all),
            (2, 2),
            "{comparison:?}"
        );
        let needless = "02_smem,sm_80,,13,st.shared,none\n";
        let comparison = of(needless).expect("a comparison");
        assert_eq!(
            (comparison.equal(), comparison.all),
            (0, 3),
            "{comparison:?}"
        );
        let error = of("02_smem,sm_80,,12,ld.shared,\n").expect_err("no reason");
        assert!(error.to_string().contains("no reason"));
    }

    #[test]
    fn an_unrecorded_access_is_named() {
        let header = "op,bytes_per_lane,byte_offset_per_lane,wavefronts,bank_conflicts\n";
        let recorded = format!("{header}ld,4,0 4,1,0\nst,4,0 4,1,0\n");
        let asked: BTreeSet<String> = ["ld,4,0 4,0,0", "ld,4,0 8,0,0"].map(str::to_owned).into();
        let comparison = are_recorded(&asked, &recorded);
        assert_eq!((comparison.equal(), comparison.all), (1, 2));
        assert_eq!(comparison.differences[0].what, "ld,4,0 8");
    }

    #[test]
    fn rows_of_another_size_are_noticed() {
        let mut measured = rows("12,LDS,false,1,64,2048,64,64,0,0");
        measured[0].run.size = "1x1x1".into();
        let error = compared(&[], &measured, "").expect_err("a row too many");
        assert!(
            error.to_string().contains("1 rows of kernels or sizes"),
            "{error}"
        );
        let error = AccessRow::all(ACCESSES, b"rung,arch\n1,2\n").expect_err("columns are missing");
        assert!(
            format!("{error:#}").contains("accesses.csv: row 1"),
            "{error:#}"
        );
    }

    #[test]
    fn every_access_has_to_be_recorded() {
        let row = |offsets: &str| format!("ld,4,{offsets},1,0");
        let patterns = BTreeSet::from([row("0 4 - -"), row("8 8 8 8")]);
        let one = are_recorded(&patterns, &row("0 4 - -"));
        assert_eq!((one.all, one.differences.len()), (2, 1));
        assert_eq!(one.differences[0].what, "ld,4,8 8 8 8");
    }
}
