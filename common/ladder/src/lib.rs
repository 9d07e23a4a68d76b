//! `cargo ladder`: the command over all rungs. A command a file:
//!
//! | file | command |
//! | --- | --- |
//! | `bench` | times every rung on the GPU and records it in results/ |
//! | `compare` | holds a record against an older one |
//! | `tiles` | times every tile of a kernel, and holds the host's choice against it |
//! | `plot` | makes a record's tables and plots anew, or checks them |
//! | `bound` | what limits every rung, beside what was measured |
//! | `ceilings` | measures what each resource of a GPU can do |
//! | `bits` | compares the bits of C on the GPU with those on the emulator |
//! | `banks` | costs a user's own accesses to shared memory, and draws them |
//! | `calibrate` | holds the emulator against recordings of hardware |
//! | `sanitizers` | counts what compute-sanitizer and the emulator find in broken kernels |
//! | `stalls` | makes a table of what ncu printed of any kernel's stalls (in `calibrate`) |
//! | `layout` | shows where data lies: swizzles, banks, fragments, descriptors, Tensor Memory |
//! | `diff` | shows what changed from one rung to another |
//! | `sass` | shows a rung's machine code, or counts the instructions of two |
//! | `ptx` | makes every kernel.ptx, or checks that they are current |
//! | `get_nvrtc` | fetches NVRTC |
//! | [`grade`] | grades a student's kernel |
//! | [`exam`] | writes questions about accesses of a warp, and their key |
//! | [`locked`] | compiles strangers' kernels, for `grade --untrusted` |
//! | `starters` | makes what students begin with, or checks it |
//! | [`export`] | writes a repository for students, and Gradescope's autograders |
//! | `round` | shows how a tensor core adds up one output, step by step |
//! | `readme` | puts into README.md what its commands print, or checks it |
//!
//! [`untrusted`] is what reads files of others, for those who test it. `rungs` finds the rungs, `timing` has them time themselves, `record` and `draw` turn timings into files, tables and plots, `tools` finds CUDA's programs.
mod banks;
mod bench;
mod bits;
mod bound;
mod calibrate;
mod ceilings;
mod compare;
mod diff;
mod draw;
pub mod exam;
pub mod export;
mod get_nvrtc;
pub mod grade;
mod layout;
pub mod locked;
mod plot;
mod ptx;
mod readme;
mod record;
mod round;
mod rungs;
mod sanitizers;
mod sass;
mod starters;
mod table;
mod tiles;
mod timing;
mod tools;
pub mod untrusted;

pub use sanitizers::SOUND;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use owo_colors::OwoColorize;

/// The command over all rungs.
#[derive(Parser)]
#[command(
    bin_name = "cargo ladder",
    after_help = "Exit code 0: all is well. 1: something is wrong. 2: bad usage, or something missing."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Time every rung on the GPU, against cuBLAS in the same run; write it to results/
    Bench(bench::Arguments),
    /// Compare two records: exit code 1 if a rung is slower beside cuBLAS than it was
    Compare(compare::Arguments),
    /// Time every tile of the kernels that have several: does the host take the best?
    Tiles(tiles::Arguments),
    /// Make a record's tables and plots anew from its bench.json, or check that they are current
    Plot(plot::Arguments),
    /// What limits every rung, as the emulator's counters predict it, beside what was measured
    Bound(bound::Arguments),
    /// Measure what each resource of this GPU can do in a clock
    Ceilings(ceilings::Arguments),
    /// Compare the bits of every rung's C on the GPU with those on the emulator
    Bits(bits::Arguments),
    /// Show what changed between two rungs' kernel.cu
    Diff(diff::Arguments),
    /// Wavefronts and bank conflicts of your own addresses, from a CSV file
    Banks(banks::Arguments),
    /// Hold the emulator against recorded hardware, file by file
    Calibrate(calibrate::Arguments),
    /// Who finds what in the broken kernels: the emulator's sanitize beside compute-sanitizer on an H100
    Sanitizers(sanitizers::Arguments),
    /// What `calibrate --record` has Nsight Compute watch
    #[command(hide = true)]
    LaunchRecording(calibrate::LaunchArguments),
    /// Show where data lies: swizzles, banks, fragments, descriptors, Tensor Memory
    Layout(layout::Arguments),
    /// How a tensor core rounds: one output, step by step
    Round(round::Arguments),
    /// What a kernel's warps waited for, as a table from what Nsight Compute printed
    Stalls(calibrate::StallsArguments),
    /// Show a rung's machine code, where ptxas and nvdisasm are found
    Sass(sass::Arguments),
    /// Make every rung's kernel.ptx anew, or check that they are current
    Ptx(ptx::Arguments),
    /// Grade a student's kernel on the emulator
    Grade(grade::Arguments),
    /// Write an exam: questions about accesses of a warp, with their key
    Exam(exam::Arguments),
    /// What `grade --untrusted` compiles with
    #[command(hide = true)]
    CompileLocked(locked::Limits),
    /// Make every assignment's starter anew from its solution, or check that they are current
    Starters(starters::Arguments),
    /// Write a repository for students, without solutions, and autograders for Gradescope
    ExportCourse(export::Arguments),
    /// What Gradescope's machine runs for each submission
    #[command(hide = true)]
    Autograder(export::autograder::Arguments),
    /// Fetch NVRTC and CUDA's headers into .cuda/
    GetNvrtc(get_nvrtc::Arguments),
    /// Put into README.md what its commands print, or check that it stands there
    Readme(readme::Arguments),
}

/// Everything that `cargo ladder` does.
pub fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Tiles(arguments) => tiles::run(&arguments),
        Command::Plot(arguments) => plot::run(&arguments),
        Command::Bound(arguments) => bound::run(&arguments),
        Command::Ceilings(arguments) => ceilings::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Banks(arguments) => banks::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Sanitizers(arguments) => sanitizers::run(&arguments),
        Command::LaunchRecording(arguments) => calibrate::launch(&arguments),
        Command::Layout(arguments) => layout::run(&arguments),
        Command::Round(arguments) => round::run(&arguments),
        Command::Stalls(arguments) => calibrate::stalls(&arguments),
        Command::Sass(arguments) => sass::run(&arguments),
        Command::Ptx(arguments) => ptx::run(&arguments),
        Command::Bits(arguments) => bits::run(&arguments),
        Command::Readme(arguments) => readme::run(&arguments),
        Command::Grade(arguments) => grade::run(&arguments),
        Command::Exam(arguments) => exam::run(&arguments),
        Command::CompileLocked(limits) => locked::child::run(&limits),
        Command::Starters(arguments) => starters::run(&arguments),
        Command::ExportCourse(arguments) => export::run(&arguments),
        Command::Autograder(arguments) => export::autograder::run(&arguments),
        Command::GetNvrtc(arguments) => get_nvrtc::run(&arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            anstream::eprintln!("{} {error:#}", "error:".red().bold());
            ExitCode::from(2)
        }
    }
}
