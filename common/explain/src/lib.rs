//! The commands of `cargo ladder` whose output depends only on their arguments (for `banks` also on a CSV file): no
//! kernel is launched. The terminal and the book's pages run the same code, so they print the same output.
//!
//! | file | command |
//! | --- | --- |
//! | `layout` | shows where data is stored: swizzles, banks, fragments, descriptors, Tensor Memory |
//! | `banks` | computes the cost of a user's own accesses to shared memory, and draws them |
//! | `round` | shows how a tensor core computes one output, step by step |
//! | `approximate` | shows how the special function unit computes an approximate instruction, step by step |
pub mod approximate;
pub mod banks;
pub mod layout;
pub mod round;

use std::io::Write;

use anyhow::Result;
use clap::Parser;

/// The output streams of a command.
pub struct Streams<'a> {
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
}

/// One of the commands.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Wavefronts and bank conflicts of your own addresses, from a CSV file
    Banks(banks::Arguments),
    /// Show where data is stored: swizzles, banks, fragments, descriptors, Tensor Memory
    Layout(layout::Arguments),
    /// How a tensor core rounds: one output, step by step
    Round(round::Arguments),
    /// How an approximate instruction computes: one input, step by step, or its errors
    Approximate(approximate::Arguments),
}

impl Command {
    /// Runs the command. Returns whether its checks passed.
    ///
    /// # Errors
    /// If the arguments are invalid, or a file cannot be read.
    pub fn run(&self, streams: &mut Streams<'_>) -> Result<bool> {
        match self {
            Self::Banks(arguments) => banks::run(arguments, streams),
            Self::Layout(arguments) => layout::run(arguments, streams.out),
            Self::Round(arguments) => round::run(arguments, streams.out),
            Self::Approximate(arguments) => approximate::run(arguments, streams.out),
        }
    }
}

/// A command line of its own.
#[derive(Parser)]
#[command(bin_name = "cargo ladder")]
struct Words {
    #[command(subcommand)]
    command: Command,
}

/// The definition of these commands.
pub fn command_line() -> clap::Command {
    use clap::CommandFactory;
    Words::command()
}

/// Runs `cargo ladder` with these words and returns the exit code. Output goes only to the streams.
pub fn main_with(words: &[&str], streams: &mut Streams<'_>) -> u8 {
    let words = [&["cargo ladder"], words].concat();
    let (code, message) = match Words::try_parse_from(words) {
        Err(error) => (error.exit_code() as u8, error.to_string()),
        Ok(words) => match words.command.run(streams) {
            Ok(right) => return (!right).into(),
            Err(error) => (2, format!("error: {error:#}\n")),
        },
    };
    // If the output is a closed pipe, there is no one to report the error to.
    let _ = match code {
        0 => streams.out.write_all(message.as_bytes()),
        _ => streams.err.write_all(message.as_bytes()),
    };
    code
}
