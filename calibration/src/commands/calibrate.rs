//! `cargo ladder calibrate`: does the emulator reproduce hardware's results? Every row of every recording is executed
//! again; with `--record`, a GPU makes the recordings first.
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use emulator::Card;
use owo_colors::OwoColorize;

use super::launch_recording;
use crate::compare::{Compared, compare};
use crate::instructions::Comparison;
use crate::kernels::{ACCESSES, NOT_COMPARABLE};
use crate::record::Recording;
use crate::recordings::{Part, Recordings};

#[derive(clap::Args)]
#[command(
    after_help = "Recordings are identified by their file names; those that exist are compared:\n  \
    shared_memory.csv   op,bytes_per_lane,byte_offset_per_lane,wavefronts,bank_conflicts\n  \
    global_memory.csv   op,bytes_per_lane,byte_offset_per_lane,sectors,requests\n  \
    arithmetic.csv      instruction;operands;digest\n  \
    approximate*.csv    instruction,block,inputs,sum\n  \
    wgmma_layout.csv    operand,major,swizzle,base_offset,leading,stride,start,bytes\n  \
    wmma_layout.csv     matrix,shape,type,layout,digest\n  \
    tma_layout.csv      swizzle,start,tile_columns,tile_rows,columns,rows,x,y,elements\n  \
    mma_m16n8k{8,16}_{f16,bf16}.bin, wgmma_m64n8k16_{f16,bf16}.bin\n                      \
    records of 1,792 bytes: A 16x16 u16, B 16x8 u16, C 16x8 f32, D 16x8 f32\n  \
    tensor.csv          instruction,class,seed,records,digest\n  \
    mma_fragments.csv   instruction,class,products,digest\n  \
    rungs.csv, accesses.csv, merged.csv\n                      \
    whole kernels: bits of C, accesses by line, and accesses that ptxas merges\n\
    Any suffix is allowed: mma_m16n8k8_f16_2.bin.\n\
    --record measures the same rows on a GPU; --only some of them. patterns, rungs and stalls need ncu. Of your own\n\
    rows, give the results as 0 at first.\n\
    Exit code 0: all equal. 1: some rows or records differ. 2: a recording cannot be read."
)]
pub struct Arguments {
    /// Compare with the recordings in this folder instead of the built-in ones of an H100 and an H200
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// First measure all rows on a Hopper GPU and write them into this folder; then compare with them
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Record and compare only these parts
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART,...")]
    only: Vec<Part>,
    /// Record only these rungs' kernels, into a folder that already has the others
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "RUNG,...",
        requires = "record"
    )]
    rungs: Vec<String>,
    /// Which GPU records: gpu or gpu:N
    #[arg(long, default_value = "gpu", requires = "record", value_parser = launch_recording::ordinal)]
    device: usize,
    /// The card to emulate; a100 follows the literature and is not calibrated here
    #[arg(long, value_name = "h100|a100", default_value_t, value_parser = <Card as std::str::FromStr>::from_str)]
    emulate: Card,
}

/// Most differences shown for each file.
const MAX_SHOWN: usize = 5;

pub fn run(arguments: &Arguments) -> Result<bool> {
    let parts = match &arguments.only[..] {
        [] => Part::value_variants(),
        some => some,
    };
    // Skipped unless named: it has billions of inputs.
    let compared_parts: Vec<Part> = parts
        .iter()
        .copied()
        .filter(|part| *part != Part::Approximate || !arguments.only.is_empty())
        .collect();
    let mut recordings = arguments
        .against
        .as_deref()
        .map(Recordings::of_folder)
        .transpose()?;
    let mut complete = true;
    if let Some(folder) = &arguments.record {
        let recording = Recording {
            parts,
            rows: recordings,
            rungs: &arguments.rungs,
            gpu: arguments.device,
            launcher: &|file| launch_recording::command(file, arguments.device),
        };
        recording.make(folder, &mut |what, made| match made {
            Ok(said) => harness::println!("{what:<44} {said}"),
            Err(why) => {
                complete = false;
                harness::eprintln!("{} {what}: {why:#}", "not recorded:".red().bold());
            }
        })?;
        recordings = Some(Recordings::of_folder(folder)?);
    }
    let folder = arguments.record.as_ref().or(arguments.against.as_ref());
    let folder = folder.map_or(String::new(), |folder| format!("{}/", folder.display()));
    // With several cards, file names are prefixed by the card's.
    let of_cards = match recordings {
        Some(recordings) => vec![("", recordings)],
        None => vec![
            ("h100/", Recordings::of_h100()),
            ("h200/", Recordings::of_h200()),
        ],
    };
    let (mut files, mut bad, mut equal, mut all) = (0, 0, 0, 0);
    let compared = of_cards.iter().flat_map(|(card, recordings)| {
        let compared = compare(recordings, &compared_parts, arguments.emulate);
        compared.map(move |(name, compared)| (format!("{card}{name}"), compared))
    });
    let mut has_accesses = false;
    for (name, compared) in compared {
        match compared {
            Compared::With(comparison) => {
                show(&name, &comparison);
                has_accesses |= name.ends_with(ACCESSES);
                files += 1;
                equal += comparison.equal();
                all += comparison.all;
            }
            Compared::Not(why) => {
                bad += 1;
                let label = "bad recording:".red().bold().to_string();
                let colon = if name.is_empty() { "" } else { ": " };
                harness::eprintln!("{label} {folder}{name}{colon}{why:#}");
            }
            Compared::Ignored => {
                let label = "ignored:".yellow().bold().to_string();
                harness::eprintln!("{label} {folder}{name}: no kind of recording has this name");
            }
        }
    }
    // Stalls are not compared; a folder may have nothing else.
    let only_stalls = arguments.record.is_some() && parts == [Part::Stalls];
    if files + bad == 0 && !only_stalls {
        bail!(
            "{folder} holds no recording of these parts; `cargo ladder calibrate --help` describes them"
        );
    }
    if has_accesses {
        for (access, why) in NOT_COMPARABLE {
            harness::println!("not compared: {access}: {why}");
        }
    }
    harness::println!("equal {equal} of {all} in {files} files");
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
    harness::println!("{name:<31} equal {} of {all} {unit}", comparison.equal());
    for difference in differences.iter().take(MAX_SHOWN) {
        harness::println!(
            "  {} {}: expected {}, found {}",
            format!("{}:", difference.place).red(),
            difference.what,
            difference.expected,
            difference.found
        );
    }
    if differences.len() > MAX_SHOWN {
        harness::println!("  and {} more {unit}", differences.len() - MAX_SHOWN);
    }
}
