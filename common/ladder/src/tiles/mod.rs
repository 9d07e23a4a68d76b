//! `cargo ladder tiles`: how fast is every tile of the kernels that have several, and does the host take the fastest?
mod check;
mod file;

use std::path::PathBuf;

use anyhow::{Result, bail};
use harness::Size;

use crate::bench::other_sizes;
use crate::record::{self, Record};
use crate::timing::{self, Timing};
use check::Choices;
use file::{FILE, TileTiming};
use harness::rungs::{self, Rung, Variant};

#[derive(clap::Args)]
pub struct Arguments {
    /// The sizes [default: 256 to 8192, with sizes between the powers of two, and three that are not square]
    #[arg(long, value_name = "N|MxNxK,...", value_delimiter = ',')]
    sizes: Vec<Size>,
    /// Only these rungs, by number or name; the record keeps its rows of other rungs [default: all]
    #[arg(long, value_name = "RUNG,...", value_delimiter = ',')]
    rungs: Vec<String>,
    /// Where the record's folder is, or is made [default: results/ in the workspace]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Which GPU: gpu or gpu:N
    #[arg(long, default_value = "gpu")]
    device: String,
    /// Time nothing, without a GPU: check that the rungs select the fastest tiles recorded in these folders, or in results/
    #[arg(long, value_name = "DIR", num_args = 0.., conflicts_with_all = ["sizes", "rungs", "out", "device"])]
    check: Option<Vec<PathBuf>>,
}

/// The table of a tiles.csv.
///
/// # Errors
/// If the text is not a tiles.csv.
pub fn table_of(csv: &[u8]) -> Result<String> {
    Ok(file::table(&file::parse(csv)?))
}

/// Sizes with different partial last waves.
const SIZES: [u32; 11] = [
    256, 512, 768, 1024, 1536, 2048, 2560, 3072, 4096, 6144, 8192,
];

pub fn run(arguments: &Arguments) -> Result<bool> {
    match &arguments.check {
        Some(folders) => check(folders),
        None => measure(arguments),
    }
}

/// A kernel that has several tiles, and the tile that the host takes.
struct Kernel {
    variant: Variant,
    tiles: Vec<String>,
    choices: Choices,
}

fn measure(arguments: &Arguments) -> Result<bool> {
    let usual = SIZES.into_iter().map(Size::cube).chain(other_sizes());
    let sizes = match &arguments.sizes[..] {
        [] => usual.collect(),
        sizes => sizes.to_vec(),
    };
    let kernels = kernels(&arguments.rungs, &sizes, &arguments.device)?;
    let mut timings = Vec::new();
    let mut of = Vec::new(); // the kernel of each timing
    for kernel in &kernels {
        for &size in &sizes {
            for tile in &kernel.tiles {
                of.push((kernel, tile));
                timings.push(Timing {
                    variant: kernel.variant.clone(),
                    tile: Some(tile.clone()),
                    kernel: None,
                    size,
                    quick: true,
                });
            }
        }
    }
    let timed = timing::all(&timings, &arguments.device)?;

    let mut rows: Vec<TileTiming> = Vec::new();
    let mut folder = arguments.out.clone().unwrap_or_else(record::results);
    for (index, bench) in &timed.made {
        let (kernel, tile) = of[*index];
        let record = Record::new(vec![bench.clone()])?;
        if rows.is_empty() {
            folder.push(record.name());
        }
        let name = &kernel.variant.rung.name;
        let row = |(_, run)| TileTiming::new(name, tile, run, &kernel.choices);
        rows.extend(record.runs().map(row));
    }
    record::make(&folder)?;
    let file = folder.join(FILE);
    let is_part = !(arguments.rungs.is_empty() && arguments.sizes.is_empty());
    if is_part && file.exists() {
        rows = file::over(file::read(&file)?, rows);
    }
    file::write(&file, &rows)?;
    harness::print!("{}", file::table(&rows));
    harness::println!("\nwritten to {}", file.display());
    let good = print_complaints(&check::complaints(&rows)?.unwrap_or_default());
    timed.complete()?;
    Ok(good && rows.iter().all(|row| row.tflops.is_some()))
}

/// The tile that a rung takes at a size, if it has several.
pub fn taken(rung: &Rung, size: Size) -> Result<Option<String>> {
    let variant = Variant {
        rung: rung.clone(),
        arch: None,
    };
    let choices = Choices::of(&variant, &[size], "emulator")?;
    Ok(choices.at(&size.to_string()).map(str::to_owned))
}

/// The kernels of these rungs that have several tiles.
fn kernels(rungs: &[String], sizes: &[Size], device: &str) -> Result<Vec<Kernel>> {
    let rungs = rungs::named(rungs)?;
    rungs::build(&rungs)?;
    let mut kernels = Vec::new();
    for variant in Variant::all(&rungs)? {
        let mut all = rungs::choices(&variant.rung)?;
        let wanted = variant.arch.as_ref();
        all.retain(|choice| wanted.is_none_or(|wanted| *wanted == choice.arch));
        let tiles: Vec<_> = all.into_iter().filter_map(|choice| choice.tile).collect();
        if tiles.len() > 1 {
            kernels.push(Kernel {
                choices: Choices::of(&variant, sizes, device)?,
                variant,
                tiles,
            });
        }
    }
    if kernels.is_empty() {
        bail!("none of these rungs has a kernel with several tiles; omit `--rungs`");
    }
    Ok(kernels)
}

/// Compares the current choices with the recorded timings.
fn check(folders: &[PathBuf]) -> Result<bool> {
    let files: Vec<PathBuf> = match folders {
        [] => record::files(FILE)?,
        folders => folders.iter().map(|folder| folder.join(FILE)).collect(),
    };
    if files.is_empty() {
        harness::println!("no {FILE} is recorded yet; `cargo ladder tiles` makes one on a GPU");
        return Ok(true);
    }
    // Malformed files are reported before anything is built.
    let recorded = files.iter().map(|file| Ok((file, file::read(file)?)));
    let recorded = recorded.collect::<Result<Vec<_>>>()?;
    rungs::build(&rungs::all()?)?;
    let (mut all, mut any) = (Vec::new(), false);
    for (file, rows) in recorded {
        let Some(complaints) = check::complaints(&rows)? else {
            harness::println!("{}: its kernels no longer exist", file.display());
            continue;
        };
        any = true;
        all.extend(
            complaints
                .into_iter()
                .map(|why| format!("{}: {why}", file.display())),
        );
    }
    match any {
        true => Ok(print_complaints(&all)),
        false => {
            harness::println!(
                "no {FILE} is recorded for the current kernels; `cargo ladder tiles` makes one on a GPU"
            );
            Ok(true)
        }
    }
}

/// Prints the complaints; returns whether there are none.
fn print_complaints(complaints: &[String]) -> bool {
    for said in complaints {
        harness::println!("{said}");
    }
    if complaints.is_empty() {
        let percent = 100.0 * check::TOLERANCE;
        harness::println!("every choice is within {percent:.0}% of the best tile");
    }
    complaints.is_empty()
}
