//! `cargo ladder`: the command over all rungs, with one file for each subcommand:
//!
//! | file | command |
//! | --- | --- |
//! | `bench` | times every rung on the GPU and records it in results/ |
//! | `compare` | compares a record with an older one |
//! | `tiles` | times every tile of a kernel, and compares the host's choice with the best |
//! | `plot` | regenerates a record's tables and plots, or checks them |
//! | `bound` | what limits every rung, compared with measurements |
//! | `clock` | how long every rung takes according to the clock model, compared with measurements |
//! | `bits` | compares the bits of C on the GPU with those on the emulator |
//! | `emulate` | launches any kernel: bits, counters, findings |
//! | `run_on_emulator` | runs a program that uses CUDA's driver API on the emulator |
//! | `diff` | shows what changed from one rung to another |
//! | `sass` | shows a rung's machine code, or counts the instructions of two |
//! | `ptx` | makes every kernel.ptx, or checks that they are current |
//! | `get_nvrtc` | fetches NVRTC |
//! | `readme` | updates the command outputs in README.md, or checks them |
//!
//! `banks`, `layout`, `round` and `approximate` are in the crate `explain`. [`untrusted`] is the code that parses other people's files, for fuzzers and tests. `timing` runs the rungs' own
//! timings; `record` and `draw` turn timings into files, tables and plots. The teacher's commands are in `grader`,
//! those for the owner of a GPU in `calibration`.
mod bench;
mod bits;
mod bound;
mod clock;
mod clocks;
mod compare;
mod diff;
mod draw;
mod emulate;
mod get_nvrtc;
mod plot;
mod ptx;
mod readme;
mod record;
mod run_on_emulator;
mod sass;
mod tiles;
mod timing;
pub mod untrusted;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use owo_colors::OwoColorize;

/// The command over all rungs.
#[derive(Parser)]
#[command(bin_name = "cargo ladder")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The commands in the groups of `--help`.
const GROUPS: [(&str, &str); 6] = [
    (
        "To run your own kernels",
        "emulate run-on-emulator get-nvrtc",
    ),
    (
        "To learn",
        "course diff layout banks round approximate sass bound clock",
    ),
    ("To teach", "grade exam export-course"),
    (
        "With a GPU",
        "bench tiles bits clocks ceilings joules stalls",
    ),
    (
        "To look at records and recordings",
        "compare plot calibrate sanitizers",
    ),
    (
        "To change a kernel, an assignment or a page",
        "ptx starters readme",
    ),
];

/// Lists the subcommands in groups: clap has headings for options only.
fn grouped(command: clap::Command) -> clap::Command {
    let width = GROUPS.iter().flat_map(|(_, names)| names.split(' '));
    let width = width.map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (heading, names) in GROUPS {
        text += &format!("{heading}:\n");
        for name in names.split(' ') {
            let found = command.find_subcommand(name);
            let about = found.and_then(|command| command.get_about());
            let line = about.map(|about| format!("  {name:<width$}  {about}\n"));
            text += &line.unwrap_or_default();
        }
        text += "\n";
    }
    text += "`cargo ladder help COMMAND` describes a command.\n\n\
             Exit code 0: success. 1: something is wrong. 2: bad usage, or a missing file or program.";
    command
        .help_template("{about}\n\n{usage-heading} {usage}{after-help}")
        .after_help(text)
}

#[derive(Subcommand)]
enum Command {
    /// Time every rung on the GPU, against cuBLAS in the same run; write it to results/
    Bench(bench::Arguments),
    /// Compare two records: exit code 1 if a rung is slower relative to cuBLAS than it was
    Compare(compare::Arguments),
    /// Time every tile of the kernels that have several: does the rung take the fastest?
    Tiles(tiles::Arguments),
    /// Regenerate a record's tables and plots from its bench.json, or check that they are current
    Plot(plot::Arguments),
    /// What limits every rung, as the emulator's counters predict it, compared with measurements
    Bound(bound::Arguments),
    /// How long every rung takes according to the clock model, compared with measurements
    Clock(clock::Arguments),
    /// Compare the bits of every rung's C on the GPU with those on the emulator
    Bits(bits::Arguments),
    /// The clocks at which the consumers of a rung's kernel begin, wait for a tile, pause and end
    Clocks(clocks::Arguments),
    /// Launch any kernel, from CUDA source or PTX: bits, counters, findings, no GPU needed
    Emulate(Box<emulate::Arguments>),
    /// Run a program that uses CUDA's driver API, such as a Python script, on the emulator
    RunOnEmulator(run_on_emulator::Arguments),
    /// Show what changed between two rungs' kernel.cu
    Diff(diff::Arguments),
    #[command(flatten)]
    Explain(explain::Command),
    /// Show a rung's machine code; requires ptxas and nvdisasm
    Sass(sass::Arguments),
    /// Regenerate every rung's kernel.ptx, or check that they are current
    Ptx(ptx::Arguments),
    /// Fetch NVRTC and CUDA's headers into .cuda/
    GetNvrtc(get_nvrtc::Arguments),
    /// Update the outputs in README.md, or check that they are current
    Readme(readme::Arguments),
    #[command(flatten)]
    Course(grader::Command),
    #[cfg(feature = "calibration")]
    #[command(flatten)]
    Calibration(calibration::Command),
}

/// The entry point of `cargo ladder`.
pub fn main() -> ExitCode {
    harness::limit_threads();
    let matches = grouped(Arguments::command()).try_get_matches();
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = arguments.unwrap_or_else(|error| harness::terminal::exit(&error));
    let done = match arguments.command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Tiles(arguments) => tiles::run(&arguments),
        Command::Plot(arguments) => plot::run(&arguments),
        Command::Bound(arguments) => bound::run(&arguments),
        Command::Clock(arguments) => clock::run(&arguments),
        Command::Emulate(arguments) => emulate::run(&arguments),
        Command::RunOnEmulator(arguments) => run_on_emulator::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Explain(command) => command.run(&mut explain::Streams {
            out: &mut harness::terminal::stdout(),
            err: &mut harness::terminal::stderr(),
        }),
        Command::Sass(arguments) => sass::run(&arguments),
        Command::Ptx(arguments) => ptx::run(&arguments),
        Command::Bits(arguments) => bits::run(&arguments),
        Command::Clocks(arguments) => clocks::run(&arguments),
        Command::Readme(arguments) => readme::run(&arguments),
        Command::GetNvrtc(arguments) => get_nvrtc::run(&arguments),
        Command::Course(command) => command.run(),
        #[cfg(feature = "calibration")]
        Command::Calibration(command) => command.run(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            harness::eprintln!("{} {error:#}", "error:".red().bold());
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.split(' '))
            .collect();
        grouped.sort_unstable();
        let command = Arguments::command();
        let mut all: Vec<&str> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }
}
