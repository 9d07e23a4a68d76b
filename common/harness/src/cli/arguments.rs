//! The command line of a rung.
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Arg, ArgAction, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use emulator::{Card, Limits, Options};

use crate::target::{Need, Wanted};
use crate::{Effort, KernelChoice, Rung, Settings, Size, terminal};

/// The parsed command line.
#[derive(Clone, Debug, Parser)]
#[command(
    args_override_self = true,
    about = "C = A B in half precision, on a GPU if there is one, else on the emulator.",
    after_help = "Exit code 0: verified. 1: wrong result, or a fault found. 2: bad usage, or a missing file or GPU."
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// M, N and K [default: 256 on the emulator, 4096 on a GPU]
    #[arg(long, global = true, value_name = "N|MxNxK")]
    pub size: Option<Size>,
    /// Where to run: auto, emulator, gpu or gpu:N
    #[arg(long, global = true, value_name = "DEVICE", default_value = "auto")]
    pub device: Wanted,
    /// Emulator: the GPU whose tensor cores it has; a100 is from the literature, not calibrated here [default: h100]
    #[arg(long, global = true, value_name = "h100|a100", value_parser = Card::from_str)]
    pub emulate: Option<Card>,
    /// Which of the rung's kernels, or what to compile `--kernel` for
    #[arg(long, global = true, value_parser = ["sm_80", "sm_90a"])]
    pub arch: Option<String>,
    /// Which of the kernel's tiles of C, such as 128x256, if it has several [default: what fits the size best]
    #[arg(long, global = true, value_name = "MxN", value_parser = tile)]
    pub tile: Option<String>,
    /// Run this kernel in the rung's place
    #[arg(long, global = true, value_name = "FILE.cu|FILE.ptx")]
    pub kernel: Option<PathBuf>,
    /// Which random numbers A and B hold
    #[arg(long, global = true, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// The emulator's order of warps and blocks; 0 is the plain one
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    pub schedule: u64,
    /// Launch N times, on the emulator in a different order each time; C must keep its bits
    #[arg(long, global = true, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Print one JSON object
    #[arg(long, global = true)]
    pub json: bool,
    /// Add to the JSON the addresses that every instruction accessed, for `cargo ladder calibrate`
    #[arg(long, global = true, hide = true, requires = "json")]
    pub accesses: bool,
    /// Emulator: stop after N warp instructions [default: far more than the problem needs]
    #[arg(long, global = true, value_name = "N")]
    pub max_instructions: Option<u64>,
    /// Emulator: bytes of device memory, such as 512M or 4G
    #[arg(long, global = true, value_name = "BYTES", default_value = "4G")]
    pub max_memory: Bytes,
    /// Emulator: blocks of a launch
    #[arg(long, global = true, value_name = "N", default_value_t = emulator::Limits::default().blocks)]
    pub max_blocks: u64,
    /// The rung's switches, in the rung's order: each 0 or 1.
    #[arg(skip)]
    pub switches: Vec<u32>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub enum Command {
    /// Run, verify, report (the default)
    Run,
    /// Run and verify, and on a GPU launch no other kernel, for use under compute-sanitizer or a debugger
    Launch,
    /// Print the kernel line by line, with what each line does to the memory system, and what limits the kernel
    Profile,
    /// Look for out-of-bounds accesses, races, uninitialized reads and barrier errors
    Sanitize,
    /// Predict the time on an H200 and where the clocks go, without a GPU; if there is a GPU, show its time as well
    Time(Time),
    /// Time it on a GPU, interleaved with cuBLAS
    Bench(Bench),
    /// Show which of the kernel's tiles is used at each size, and run nothing
    Tiles(Sizes),
}

/// The options of `time`.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Time {
    /// Draw what the warps of one SM do in two steps, or write it as JSON; `-` prints the drawing instead of the
    /// prediction
    #[arg(long, value_name = "FILE.svg|FILE.json|-")]
    pub timeline: Option<PathBuf>,
    /// What if: replace a constant of the card, such as latency.dram=900, or its SM clock, mhz=1300;
    /// clock/src/card/h200.rs names them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = constant)]
    pub constants: Vec<(String, f64)>,
    /// Predict from list-scheduled PTX, as on a machine without ptxas: less exact
    #[arg(long)]
    pub from_ptx: bool,
}

/// The options of `bench`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct Bench {
    #[command(flatten)]
    pub sizes: Sizes,
    /// About a second per size: compare with cuBLAS only, without the cool regime, in which the GPU idles between samples
    #[arg(long)]
    pub quick: bool,
    /// Interleave for a second, then run each contestant alone for 5 seconds: its speed at the clock where it settles,
    /// and its energy
    #[arg(long, conflicts_with = "quick")]
    pub alone: bool,
}

impl Bench {
    /// How much to measure.
    pub fn effort(&self) -> Effort {
        match (self.quick, self.alone) {
            (true, _) => Effort::Run,
            (_, true) => Effort::Alone,
            _ => Effort::Bench,
        }
    }
}

/// `--sizes`
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct Sizes {
    /// The sizes [default: 512 to 16384 by powers of two]
    #[arg(
        long,
        value_name = "N|MxNxK,...",
        value_delimiter = ',',
        conflicts_with = "size"
    )]
    pub sizes: Vec<Size>,
}

/// A number of bytes: `1000`, `64K`, `512M`, `4G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (digits, shift) = match text.as_bytes().last() {
            Some(b'K') => (&text[..text.len() - 1], 10),
            Some(b'M') => (&text[..text.len() - 1], 20),
            Some(b'G') => (&text[..text.len() - 1], 30),
            _ => (text, 0),
        };
        let number: u64 = digits
            .parse()
            .map_err(|_| "expected a number of bytes, such as 512M or 4G")?;
        number
            .checked_mul(1 << shift)
            .map(Self)
            .ok_or("that number of bytes is too large")
    }
}

/// `--set`: a constant of the card, which is checked where the card is.
///
/// # Errors
/// If it is not a name and a number.
pub fn constant(text: &str) -> Result<(String, f64), &'static str> {
    let error = "expected NAME=VALUE with a number of 0 or more, such as latency.dram=900";
    let (name, value) = text.split_once('=').ok_or(error)?;
    let value = emulator::parse_f64(value.trim());
    let value = value.filter(|value| value.is_finite() && *value >= 0.0);
    Ok((name.trim().to_owned(), value.ok_or(error)?))
}

/// `--tile`: two numbers, which are passed to the compiler.
fn tile(text: &str) -> Result<String, &'static str> {
    let side = |text: &str| text.parse::<u16>().is_ok_and(|side| side > 0);
    match text.split_once('x') {
        Some((m, n)) if side(m) && side(n) => Ok(text.into()),
        _ => Err("expected rows and columns, such as 128x256"),
    }
}

impl Arguments {
    /// The settings of a run at this size.
    pub fn settings(&self, size: Size) -> Settings {
        Settings {
            size,
            seed: self.seed,
            runs: self.runs,
            kernel: KernelChoice {
                file: self.kernel.clone(),
                arch: self.arch.clone(),
                tile: self.tile.clone(),
            },
            switches: self.switches.clone(),
            emulator: Options {
                sanitize: self.command == Some(Command::Sanitize),
                relaunched: true,
                schedule: self.schedule,
                limits: Limits {
                    blocks: self.max_blocks,
                    memory: self.max_memory.0,
                    ..Limits::default()
                },
                patterns: self.accesses,
                ..Options::default()
            },
            instructions: self.max_instructions,
            constants: match &self.command {
                Some(Command::Time(time)) => time.constants.clone(),
                _ => Vec::new(),
            },
        }
    }

    /// The device that the command needs.
    pub fn need(&self) -> Need {
        match &self.command {
            None | Some(Command::Run | Command::Launch | Command::Tiles { .. }) => Need::Any,
            Some(Command::Profile | Command::Time(_)) => Need::Counters,
            Some(Command::Sanitize) => Need::Emulator,
            Some(Command::Bench { .. }) => Need::Gpu,
        }
    }

    /// Parses the command line; `--help` and mistakes exit here, a mistake with code 2.
    pub fn from_env(rung: &Rung) -> Self {
        let matches = command(rung).try_get_matches();
        let arguments = matches.and_then(|matches| Self::from(rung, &matches));
        arguments.unwrap_or_else(|error| terminal::exit(&error))
    }

    /// Parses these words, the first of which is the program's name.
    pub fn from_words(rung: &Rung, words: &[&str]) -> Result<Self, clap::Error> {
        Self::from(rung, &command(rung).try_get_matches_from(words)?)
    }

    fn from(rung: &Rung, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut arguments = Self::from_arg_matches(matches)?;
        // A flag after the subcommand is in the subcommand's matches; clap copies it up because the flags
        // are `global`.
        arguments.switches = rung
            .switches
            .iter()
            .map(|switch| matches.get_flag(switch.name).into())
            .collect();
        Ok(arguments)
    }
}

/// The definition of a rung's command line.
pub fn command(rung: &Rung) -> clap::Command {
    let switches = rung.switches.iter().map(|switch| {
        Arg::new(switch.name)
            .long(switch.name)
            .help(switch.help)
            .action(ArgAction::SetTrue)
            .global(true)
    });
    Arguments::command()
        .bin_name(format!("rung{}", rung.name))
        .args(switches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Switch;

    const RUNG: Rung = Rung {
        name: "00_test",
        kernels: &[],
        switches: &[Switch {
            name: "slowly",
            help: "Take your time",
        }],
        tile: None,
        host: crate::host::gemm,
    };

    fn parse(words: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::from_words(&RUNG, &[&["rung00_test"], words].concat())
    }

    #[test]
    fn flags_before_or_after_the_command() {
        for words in [
            ["--size", "64", "--slowly", "profile"],
            ["profile", "--slowly", "--size", "64"],
        ] {
            let arguments = parse(&words).expect("good usage");
            assert_eq!(arguments.command, Some(Command::Profile));
            assert_eq!(arguments.size, Some(Size::cube(64)));
            assert_eq!(arguments.switches, [1]);
        }
        assert_eq!(parse(&[]).expect("good usage").switches, [0]);
    }

    #[test]
    fn sizes_of_a_bench() {
        let arguments = parse(&["bench", "--sizes", "64,1x2x3"]).expect("good usage");
        let sizes = Sizes {
            sizes: vec![Size::cube(64), Size { m: 1, n: 2, k: 3 }],
        };
        let bench = Bench {
            sizes,
            quick: false,
            alone: false,
        };
        assert_eq!(arguments.command, Some(Command::Bench(bench)));
    }

    #[test]
    fn only_a_bench_takes_sizes() {
        let words = ["bench", "--alone", "--sizes", "4096,8192"];
        let arguments = parse(&words).expect("good usage");
        let Some(Command::Bench(bench)) = &arguments.command else {
            panic!("{:?}", arguments.command);
        };
        assert_eq!(bench.effort(), Effort::Alone);
        assert_eq!(bench.sizes.sizes, [4096, 8192].map(Size::cube));
        assert_eq!(arguments.need(), Need::Gpu);
    }

    #[test]
    fn bad_usage_exits_with_2() {
        for words in [
            &["--size", "0"][..],
            &["--size", "99999999999"],
            &["--device", "tpu"],
            &["--device", "gpu:x"],
            &["--emulate", "b200"],
            &["--arch", "sm_12"],
            &["--tile", "128"],
            &["--tile", "0x64"],
            &["--tile", "64x-1"],
            &["--max-memory", "lots"],
            &["--max-memory", "99999999999G"],
            &["bench", "--size", "64", "--sizes", "64"],
            &["bench", "--alone", "--quick"],
            &["--alone"],
            &["time", "--set", "latency.dram"],
            &["time", "--set", "latency.dram=-1"],
            &["explode"],
        ] {
            assert_eq!(
                parse(words).expect_err("bad usage").exit_code(),
                2,
                "{words:?}"
            );
        }
    }

    #[test]
    fn the_command_is_well_formed() {
        command(&RUNG).debug_assert();
    }
}
