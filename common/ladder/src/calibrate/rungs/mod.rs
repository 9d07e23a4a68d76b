//! Every rung's kernels against a GPU's: the bits of C, and the accesses of each line by the instrumented counters.
//!
//! | file | a row |
//! | --- | --- |
//! | `rungs.csv` | a kernel at a size; SHA-256 of C |
//! | `accesses.csv` | machine instructions of one name at one line; what they asked the memory for |
//! | `merged.csv` | an access of PTX that machine code merges or drops, and why; made by hand, and best empty |
//! | `stalls.csv` | a kernel at 4096; its time, why warps waited, how busy pipes were: for the reader |
//!
//! `raw/` holds what Nsight Compute printed. Rungs run on both sides as a reader would run them.
mod accesses;
mod anew;
mod merged;
mod provenance;
mod source_page;
pub(super) mod stalls;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use emulator::Card;
use emulator::calibrate::{Comparison, Difference};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use accesses::{Counts, NOT_COMPARABLE};
use accesses::{Emulated, Kind, Row, Run, Sums};
pub use anew::{PATTERNS, anew, patterns};

use super::Recording;
use crate::rungs::{self, Rung};

/// Files of a recording of rungs.
const BITS: &str = "rungs.csv";
const ACCESSES: &str = "accesses.csv";
const MERGED: &str = "merged.csv";
const STALLS: &str = "stalls.csv";
/// What they belong to.
const PROVENANCE: &str = "provenance.json";
/// What the recordings of single instructions belong to, whose own folder has room for recordings only.
pub const OF_INSTRUCTIONS: &str = "provenance_instructions.json";

/// What lies beside them and is compared by tests of its own: what compute-sanitizer said of broken kernels, and the bits of
/// tiles in pieces.
const OF_TESTS: [&str; 3] = [
    "sanitizers.csv",
    "provenance_sanitizers.json",
    "shared_tiles.json",
];

/// The size at which [`counters`] are counted.
pub const SIZE_OF_COUNTERS: &str = anew::SIZES[0];

/// Whether a file of this name belongs to a recording of rungs.
pub fn is_known(name: &str) -> bool {
    [BITS, ACCESSES, MERGED, STALLS, PROVENANCE, OF_INSTRUCTIONS].contains(&name)
        || OF_TESTS.contains(&name)
}

/// A row of `rungs.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Bits {
    rung: String,
    arch: String,
    tile: String,
    size: String,
    c_sha256: String,
}

impl Bits {
    fn run(&self) -> Run {
        Run {
            rung: self.rung.clone(),
            arch: self.arch.clone(),
            tile: self.tile.clone(),
            size: self.size.clone(),
        }
    }
}

/// A row of `merged.csv`: at every size.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Merged {
    rung: String,
    arch: String,
    tile: String,
    line: Option<u32>,
    /// The kind of access, such as `ld.shared`.
    access: String,
    /// What ptxas made of it, from its machine code.
    reason: String,
}

/// What a rung prints with `--json --accesses`.
#[derive(Deserialize)]
struct Report {
    c_sha256: String,
    #[serde(default)]
    accesses: Vec<Emulated>,
}

/// A rung's run with these flags, to be given more.
fn command(rung: &Rung, run: &Run) -> Result<Command> {
    let mut command = Command::new(rung.executable()?);
    command.args(["--json", "--size", &run.size, "--arch", &run.arch]);
    if !run.tile.is_empty() {
        command.args(["--tile", &run.tile]);
    }
    Ok(command)
}

fn on_emulator(all: &[Rung], run: &Run, card: Card) -> Result<Report> {
    let rung = all.iter().find(|rung| rung.name == run.rung);
    let rung = rung.with_context(|| format!("{run}: there is no such rung"))?;
    let mut command = command(rung, run)?;
    command.args(["--emulate", card.name(), "--accesses"]);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot run {}", rung.package()))?;
    serde_json::from_slice(&output.stdout).with_context(|| format!("{run}: no result"))
}

fn table<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<Vec<T>> {
    let mut reader = csv::Reader::from_reader(bytes);
    let rows = reader.deserialize().enumerate();
    rows.map(|(number, row)| row.with_context(|| format!("{name}: row {}", number + 1)))
        .collect()
}

/// What is there of a recording of rungs, held against the emulator of a card: the bits, then the accesses.
pub fn compare(recordings: &[Recording], card: Card) -> Result<Vec<(&'static str, Comparison)>> {
    let file = |name| {
        let found = recordings.iter().find(|(found, _)| found == name);
        found.map(|(_, bytes)| bytes.as_ref())
    };
    let Some(bits) = file(BITS) else {
        return Ok(Vec::new());
    };
    let bits: Vec<Bits> = table(BITS, bits)?;
    let rows: Vec<Row> = table(ACCESSES, file(ACCESSES).unwrap_or_default())?;
    let merged: Vec<Merged> = table(MERGED, file(MERGED).unwrap_or_default())?;
    if bits.is_empty() {
        bail!("{BITS} holds no row");
    }
    let all = rungs::all()?;
    rungs::build(&all)?;
    let reports: Vec<Report> = bits
        .par_iter()
        .map(|bits| on_emulator(&all, &bits.run(), card))
        .collect::<Result<_>>()?;
    let mut compared = vec![(BITS, compare_bits(&bits, &reports))];
    let at_first_size = bits.iter().zip(&reports);
    let at_first_size = at_first_size.filter(|(bits, _)| bits.size == anew::SIZES[0]);
    let asked = anew::patterns_of(at_first_size.map(|(_, report)| report));
    for (name, asked) in asked {
        if let Some(recorded) = file(name) {
            compared.push((
                name,
                are_recorded(&asked, &String::from_utf8_lossy(recorded)),
            ));
        }
    }
    if !rows.is_empty() {
        let runs = bits.iter().map(Bits::run).zip(&reports);
        let runs = runs.map(|(run, report)| (run, report.accesses.as_slice()));
        compared.push((ACCESSES, compare_accesses(runs, &rows, &merged)?));
    }
    Ok(compared)
}

/// What a kernel's loads and stores asked of the memory at [`SIZE_OF_COUNTERS`], on the emulator and as these recordings
/// have it; none if they have nothing of it. A rung whose kernel has no tile beside it is known by its architecture.
pub fn counters(recordings: &[Recording], label: &[&str; 3]) -> Result<Option<[Counts; 2]>> {
    let file = |name| {
        let found = recordings.iter().find(|(found, _)| found == name);
        found.map_or(&[][..], |(_, bytes)| bytes.as_ref())
    };
    let bits: Vec<Bits> = table(BITS, file(BITS))?;
    let [rung, arch, tile] = label;
    let is_it = |run: &Run| {
        (run.rung.as_str(), run.arch.as_str(), run.size.as_str()) == (rung, arch, SIZE_OF_COUNTERS)
            && (run.tile.is_empty() || run.tile == *tile)
    };
    let Some(run) = bits.iter().map(Bits::run).find(is_it) else {
        return Ok(None);
    };
    let rows: Vec<Row> = table(ACCESSES, file(ACCESSES))?;
    let rows: Vec<&Row> = rows.iter().filter(|row| is_of(row, &run)).collect();
    let report = on_emulator(&rungs::all()?, &run, Card::default())?;
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

/// Whether a GPU has been asked for each of these patterns, too; what it said is compared elsewhere.
fn are_recorded(asked: &BTreeSet<String>, recorded: &str) -> Comparison {
    let recorded: BTreeSet<&str> = recorded.lines().map(pattern_of).collect();
    let lost = asked
        .iter()
        .filter(|row| !recorded.contains(pattern_of(row)));
    let difference = |row: &String| Difference {
        place: "a rung's access".into(),
        what: pattern_of(row).into(),
        expected: "recorded".into(),
        found: "not there: the kernels have changed since".into(),
    };
    Comparison {
        unit: "of the rungs' accesses are recorded",
        all: asked.len(),
        differences: lost.map(difference).collect(),
    }
}

/// A row without the two columns that are measured.
fn pattern_of(row: &str) -> &str {
    let mut columns = row.rsplitn(3, ',');
    columns.nth(2).unwrap_or_default()
}

fn compare_bits(bits: &[Bits], reports: &[Report]) -> Comparison {
    let pairs = bits.iter().zip(reports).enumerate();
    let wrong = pairs.filter(|(_, (bits, report))| bits.c_sha256 != report.c_sha256);
    let differences = wrong.map(|(number, (bits, report))| Difference {
        place: format!("row {}", number + 1),
        what: format!("C of {}", bits.run()),
        expected: bits.c_sha256.clone(),
        found: report.c_sha256.clone(),
    });
    Comparison {
        unit: "kernels",
        all: bits.len(),
        differences: differences.collect(),
    }
}

/// Kind by kind, and line by line where the GPU's compiler said which. What `merged.csv` lists is left out, and has to
/// differ.
fn compare_accesses<'a>(
    runs: impl IntoIterator<Item = (Run, &'a [Emulated])>,
    rows: &[Row],
    merged: &[Merged],
) -> Result<Comparison> {
    let (mut all, mut differences) = (0, Vec::new());
    let mut met = vec![false; merged.len()];
    let mut seen = 0;
    for (run, emulated) in runs {
        let rows: Vec<&Row> = rows.iter().filter(|row| is_of(row, &run)).collect();
        seen += rows.len();
        let has_lines = rows.iter().any(|row| row.line.is_some());
        // The sums tell whether a difference is one of counters or only of lines.
        for with_lines in [false, true].into_iter().take(1 + usize::from(has_lines)) {
            let expected = accesses::measured(&rows, with_lines);
            let found = accesses::emulated(emulated, with_lines);
            let guarded = accesses::guarded(&rows, with_lines);
            for (key, mut expected, mut found) in pairs(&expected, &found) {
                if guarded.contains(key) {
                    // Lanes that took part are compared in their place.
                    (expected.executions, found.executions) = (0, 0);
                }
                let exception = merged
                    .iter()
                    .position(|one| excepts(one, &run, key, with_lines));
                if let Some(exception) = exception {
                    met[exception] |= expected != found;
                    continue;
                }
                all += 1;
                if expected != found {
                    let (line, kind) = key;
                    let line = match line {
                        Some(line) => format!("line {line}"),
                        None if with_lines => "of no line".into(),
                        None => "in all".into(),
                    };
                    differences.push(Difference {
                        place: format!("{run}, {line}"),
                        what: name(kind).to_owned(),
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
    for (merged, met) in merged.iter().zip(met) {
        if merged.reason.is_empty() {
            bail!("{MERGED}: {} {} has no reason", merged.rung, merged.access);
        }
        if !met {
            all += 1;
            differences.push(Difference {
                place: MERGED.into(),
                what: format!("{} {} {}", merged.rung, merged.arch, merged.access),
                expected: "an access that machine code merges or drops".into(),
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

fn is_of(row: &Row, run: &Run) -> bool {
    (&row.rung, &row.arch, &row.tile, &row.size) == (&run.rung, &run.arch, &run.tile, &run.size)
}

/// Whether a row of `merged.csv` is about this; a sum over all lines has what each of them has.
fn excepts(
    merged: &Merged,
    run: &Run,
    (line, kind): &(Option<u32>, Kind),
    with_lines: bool,
) -> bool {
    (&merged.rung, &merged.arch, &merged.tile) == (&run.rung, &run.arch, &run.tile)
        && (merged.line == *line || !with_lines)
        && merged.access == name(kind)
}

fn name(kind: &Kind) -> &str {
    match kind {
        Kind::Compared(name) | Kind::NotComparable(name) => name,
        Kind::Unknown(name) => name,
        Kind::None => "",
    }
}

/// Both sides of each key; zeros where a side has none.
fn pairs<'a>(
    a: &'a Sums,
    b: &'a Sums,
) -> impl Iterator<Item = (&'a (Option<u32>, Kind), Counts, Counts)> {
    let keys: BTreeMap<_, ()> = a.keys().chain(b.keys()).map(|key| (key, ())).collect();
    let of = |sums: &Sums, key| sums.get(key).copied().unwrap_or_default();
    keys.into_keys()
        .map(move |key| (key, of(a, key), of(b, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        Run {
            rung: "02_smem".into(),
            arch: "sm_80".into(),
            tile: String::new(),
            size: "256x256x256".into(),
        }
    }

    fn emulated(line: u32, operation: &str, executions: u64, wavefronts: u64) -> Emulated {
        Emulated {
            line: Some(line),
            operation: operation.into(),
            executions,
            threads: 32 * executions,
            shared_wavefronts: wavefronts,
            shared_wavefronts_ideal: wavefronts,
            global_sectors: 0,
            patterns: Vec::new(),
        }
    }

    const HEADER: &str = "rung,arch,tile,size,line,opcode,guarded,instructions,executions,threads,shared_wavefronts,\
        shared_wavefronts_ideal,global_sectors,global_tag_requests\n";

    fn rows(text: &str) -> Vec<Row> {
        let lines = text
            .lines()
            .map(|line| format!("02_smem,sm_80,,256x256x256,{line}\n"));
        table(
            ACCESSES,
            (HEADER.to_owned() + &lines.collect::<String>()).as_bytes(),
        )
        .expect("rows")
    }

    fn compared(emulated: &[Emulated], rows: &[Row], merged: &str) -> Result<Comparison> {
        let text = format!("rung,arch,tile,line,access,reason\n{merged}");
        let merged: Vec<Merged> = table(MERGED, text.as_bytes()).expect("a table");
        compare_accesses([(run(), emulated)], rows, &merged)
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
            "02_smem sm_80 at 256x256x256, in all"
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
        // The last of 80 turns loads nothing more: machine code is executed without lanes, PTX branches around it.
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
    fn an_exception_has_to_be_needed() {
        let asked = [
            emulated(12, "ld.shared.f32", 256, 256),
            emulated(13, "st.shared.f32", 64, 64),
        ];
        let measured =
            rows("12,LDS.128,false,1,64,2048,64,64,0,0\n13,STS,false,1,64,2048,64,64,0,0");
        let of = |merged: &str| compared(&asked, &measured, merged);
        assert_eq!(of("").expect("a comparison").equal(), 2);
        let merged = "02_smem,sm_80,,12,ld.shared,four neighbours are one LDS.128\n";
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
    fn an_access_that_no_gpu_was_asked_for_is_named() {
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
        measured[0].size = "1x1x1".into();
        let error = compared(&[], &measured, "").expect_err("a row too many");
        assert!(
            error.to_string().contains("1 rows of kernels or sizes"),
            "{error}"
        );
        let error = table::<Row>(ACCESSES, b"rung,arch\n1,2\n").expect_err("columns are missing");
        assert!(
            format!("{error:#}").contains("accesses.csv: row 1"),
            "{error:#}"
        );
    }
}
