//! `cargo ladder calibrate`: does the emulator give what hardware gave? Every row of every recording is
//! executed again; the recordings of an H100 travel with this program. `record` makes recordings on a GPU.
//! `rungs` does the same with whole kernels, `ncu` talks to Nsight Compute.
mod ncu;
mod record;
mod rungs;
mod stalls;

pub use record::{LaunchArguments, launch};
pub use rungs::{Counts, SIZE_OF_COUNTERS};
pub use stalls::{Arguments as StallsArguments, stalls};

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use emulator::Card;
use emulator::calibrate::{Comparison, compare, is_known, planned};
use include_dir::{Dir, include_dir};
use owo_colors::OwoColorize;

use record::Part;

#[derive(clap::Args)]
#[command(
    after_help = "Recordings are known by their names; those that are there are compared:\n  \
    shared_memory.csv   op,bytes_per_lane,byte_offset_per_lane,wavefronts,bank_conflicts\n  \
    global_memory.csv   op,bytes_per_lane,byte_offset_per_lane,sectors,requests\n  \
    arithmetic.csv      instruction;operands;digest\n  \
    wgmma_layout.csv    operand,major,swizzle,base_offset,leading,stride,start,bytes\n  \
    tma_layout.csv      swizzle,start,tile_columns,tile_rows,columns,rows,x,y,elements\n  \
    mma_m16n8k{8,16}_{f16,bf16}.bin, wgmma_m64n8k16_{f16,bf16}.bin\n                      \
    records of 1,792 bytes: A 16x16 u16, B 16x8 u16, C 16x8 f32, D 16x8 f32\n\
    tensor.csv          instruction,class,seed,records,digest\n  \
    rungs.csv, accesses.csv, merged.csv\n                      \
    whole kernels: bits of C, accesses by line, and accesses that machine code merges\n\
    A suffix is free: mma_m16n8k8_f16_2.bin.\n\
    --record measures the same rows on a GPU; --only some of them. patterns, rungs and stalls need ncu. Of your own\n\
    rows, give the results as 0 at first.\n\
    Exit code 0: all equal. 1: some rows or records differ. 2: a recording cannot be read."
)]
pub struct Arguments {
    /// Compare with the recordings in this folder, not with those of an H100 in this program
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// First measure all rows anew on a Hopper GPU, into this folder; then compare with that
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Record and compare these parts only
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART,...")]
    only: Vec<Part>,
    /// Record these rungs' kernels only, into a folder that has the others already
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "RUNG,...",
        requires = "record"
    )]
    rungs: Vec<String>,
    /// Which GPU records: gpu or gpu:N
    #[arg(long, default_value = "gpu", requires = "record")]
    device: record::Ordinal,
    /// The emulator's card; a100 is from the literature, not calibrated here
    #[arg(long, value_name = "h100|a100", default_value_t, value_parser = <Card as std::str::FromStr>::from_str)]
    emulate: Card,
}

static SHIPPED: [Dir<'_>; 2] = [
    include_dir!("$CARGO_MANIFEST_DIR/../emulator/tests/h100"),
    // Of whole kernels, which the emulator's own tests know nothing of.
    include_dir!("$CARGO_MANIFEST_DIR/../../tests/h100"),
];
/// Differences shown of each file.
const SHOWN: usize = 5;

/// A file's name and bytes.
type Recording = (String, Cow<'static, [u8]>);

pub fn run(arguments: &Arguments) -> Result<bool> {
    let parts = match &arguments.only[..] {
        [] => &Part::ALL[..],
        some => some,
    };
    let (mut folder, mut recordings) = match &arguments.against {
        Some(folder) => (format!("{}/", folder.display()), of_folder(folder)?),
        None => (String::new(), shipped()),
    };
    let mut complete = true;
    if let Some(new) = &arguments.record {
        folder = format!("{}/", new.display());
        // Without a GPU nothing need be planned, and nothing is left behind.
        record::probe(arguments.device, parts)?;
        if arguments.against.is_none() {
            recordings = to_be_made(recordings, parts)?;
            if !arguments.rungs.is_empty() {
                // The other patterns do not depend on any rung.
                recordings.retain(|(name, _)| rungs::PATTERNS.contains(&name.as_str()));
            }
        }
        complete = record::anew(&recordings, new, arguments.device, parts, &arguments.rungs)?;
        recordings = of_folder(new)?;
    }
    let (mut files, mut bad, mut equal, mut all) = (0, 0, 0, 0);
    if parts.contains(&Part::Rungs) {
        match rungs::compare(&recordings, arguments.emulate) {
            Ok(compared) => {
                for (name, comparison) in compared {
                    show(name, &comparison);
                    files += 1;
                    equal += comparison.equal();
                    all += comparison.all;
                    if name.starts_with("accesses") {
                        for (access, why) in rungs::NOT_COMPARABLE {
                            anstream::println!("  not compared: {access}: {why}");
                        }
                    }
                }
            }
            Err(why) => {
                bad += 1;
                let label = "bad recording:".red().bold().to_string();
                anstream::eprintln!("{label} {folder}{why:#}");
            }
        }
    }
    recordings.retain(|(name, _)| !rungs::is_known(name));
    recordings.retain(|(name, _)| !is_known(name) || parts.contains(&Part::of(name)));
    for (name, bytes) in &recordings {
        match compare(name, bytes, arguments.emulate) {
            Some(Ok(comparison)) => {
                show(name, &comparison);
                files += 1;
                equal += comparison.equal();
                all += comparison.all;
            }
            Some(Err(why)) => {
                bad += 1;
                let label = "bad recording:".red().bold().to_string();
                anstream::eprintln!("{label} {folder}{name}: {why}");
            }
            None => {
                let label = "ignored:".yellow().bold().to_string();
                anstream::eprintln!("{label} {folder}{name}: no recording has such a name");
            }
        }
    }
    // Nothing is compared with stalls: recorded alone, they are all there is.
    let only_stalls = arguments.record.is_some() && parts == [Part::Stalls];
    if files + bad == 0 && !only_stalls {
        bail!("{folder} holds no recording; `cargo ladder calibrate --help` says what they are");
    }
    anstream::println!("equal {equal} of {all} in {files} files");
    if bad > 0 {
        bail!("not all recordings could be compared: {bad} bad");
    }
    if !complete {
        bail!("not all recordings could be made");
    }
    Ok(equal == all)
}

fn show(name: &str, comparison: &Comparison) {
    let Comparison {
        unit,
        all,
        differences,
    } = comparison;
    anstream::println!("{name:<26} equal {} of {all} {unit}", comparison.equal());
    for difference in differences.iter().take(SHOWN) {
        anstream::println!(
            "  {} {}: expected {}, found {}",
            format!("{}:", difference.place).red(),
            difference.what,
            difference.expected,
            difference.found
        );
    }
    if differences.len() > SHOWN {
        anstream::println!("  and {} more {unit}", differences.len() - SHOWN);
    }
}

/// What a kernel asked of the memory, on the emulator and on the recorded H100: see [`rungs::counters`].
pub fn counters(label: &[&str; 3]) -> Result<Option<[Counts; 2]>> {
    rungs::counters(&shipped(), label)
}

fn shipped() -> Vec<Recording> {
    let files = SHIPPED.iter().flat_map(Dir::files).filter_map(|file| {
        let name = file.path().to_str()?;
        Some((name.to_owned(), Cow::Borrowed(file.contents())))
    });
    sorted(files.collect())
}

fn of_folder(folder: &Path) -> Result<Vec<Recording>> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {shown}"))?;
    let mut recordings = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {shown}"))?;
        let path = entry.path();
        if path.is_dir() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        // What is ignored need not be read.
        let bytes = if is_known(&name) || rungs::is_known(&name) {
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?
        } else {
            Vec::new()
        };
        recordings.push((name, Cow::Owned(bytes)));
    }
    Ok(sorted(recordings))
}

/// What `--record` makes without `--against`: the shipped rows, and all that are planned, those of today's rungs too.
fn to_be_made(shipped: Vec<Recording>, parts: &[Part]) -> Result<Vec<Recording>> {
    let mut plans = planned().to_vec();
    if parts.contains(&Part::Patterns) {
        plans.extend(rungs::patterns()?);
    }
    let mut all = shipped;
    all.retain(|(name, _)| !plans.iter().any(|(planned, _)| planned == name));
    let plans = plans.into_iter();
    all.extend(plans.map(|(name, text)| (name.to_owned(), text.into_bytes().into())));
    Ok(sorted(all))
}

fn sorted(mut recordings: Vec<Recording>) -> Vec<Recording> {
    recordings.sort();
    recordings
}
