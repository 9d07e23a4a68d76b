//! The output of a terminal command, from its words: `cargo run -p rung05_swizzle -- profile`, `cargo run -p labs --
//! vectors`, `cargo ladder layout swizzle 3 4 3`.
use emulator::Card;
use explain::Streams;
use harness::{KernelFile, Rung};
use serde_json::{Value, json};
use transcript::Lines;

use crate::fields::{self, Fields};
use crate::rungs::RUNGS;
use crate::steps;

/// The subcommands of `cargo ladder` that run here.
const OF_LADDER: [&str; 4] = ["layout", "banks", "round", "approximate"];

/// Provides a file.
pub fn give(path: &str, text: String) {
    #[cfg(target_family = "wasm")]
    harness::files::give(path, text);
    #[cfg(not(target_family = "wasm"))]
    let _ = (path, text);
}

/// A command that runs here.
enum Known<'a> {
    /// `cargo ladder …`
    Ladder(&'a [&'a str]),
    /// `cargo run -p labs -- …`
    Labs(&'a [&'a str]),
    /// `cargo run -p rung05_swizzle -- …`
    Rung(Rung, &'a [&'a str]),
}

impl<'a> Known<'a> {
    fn of(words: &'a [&'a str]) -> Result<Self, String> {
        match words {
            ["cargo", "ladder", words @ ..]
                if words.first().is_some_and(|word| OF_LADDER.contains(word)) =>
            {
                Ok(Self::Ladder(words))
            }
            ["cargo", "run", "-p", "labs"] => Ok(Self::Labs(&[])),
            ["cargo", "run", "-p", "labs", "--", words @ ..] => Ok(Self::Labs(words)),
            ["cargo", "run", "-p", package] => Ok(Self::Rung(rung(package)?, &[])),
            ["cargo", "run", "-p", package, "--", words @ ..] => {
                Ok(Self::Rung(rung(package)?, words))
            }
            _ => {
                let ladder = OF_LADDER.join(", ");
                Err(format!(
                    "only rungs, labs and cargo ladder {ladder} run in a page, not `{}`",
                    words.join(" ")
                ))
            }
        }
    }
}

/// Standard output, standard error and exit code of a command, and the lines of its output that a page shows.
///
/// # Errors
/// If it is not a command that runs here.
pub fn run(words: &[String], lines: &Lines) -> Result<Value, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = match Known::of(&words)? {
        Known::Ladder(words) => {
            let mut streams = Streams {
                out: &mut anstream::StripStream::new(&mut out),
                err: &mut anstream::StripStream::new(&mut err),
            };
            explain::main_with(words, &mut streams)
        }
        Known::Labs(words) => labs::main_with(&[&["labs"], words].concat(), &mut out),
        Known::Rung(rung, words) => {
            let words = [&[rung.name], words].concat();
            let mut out = anstream::StripStream::new(&mut out);
            harness::main_with(&with_texts(rung), &words, &mut out)
        }
    };
    let [out, err] = [out, err].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    // As the book shows it: with standard error if it failed. If the requested lines are missing, all lines.
    let said = if code == 0 {
        out.clone()
    } else {
        out.clone() + &err
    };
    let shown = lines.of(&said).or_else(|_| Lines::default().of(&said));
    let shown = shown.map_err(|error| error.to_string())?;
    Ok(json!({ "out": out, "err": err, "code": code, "shown": shown }))
}

/// The first block of a rung, instruction by instruction.
///
/// # Errors
/// If it is not a rung's command, or the rung cannot be launched.
pub fn steps(words: &[String], most: usize) -> Result<Value, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match Known::of(&words)? {
        Known::Rung(rung, words) => {
            let words = [&[rung.name], words].concat();
            steps::steps(&with_texts(rung), &words, most)
        }
        _ => Err("only a rung can be stepped through".into()),
    }
}

/// The parts of a command that can be changed.
///
/// # Errors
/// If it is not a command that runs here.
pub fn fields(words: &[String]) -> Result<Fields, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match Known::of(&words)? {
        Known::Ladder(words) => fields::of(explain::command_line(), &[&["ladder"], words].concat()),
        Known::Labs(words) => fields::of(labs::command_line(), &[&["labs"], words].concat()),
        Known::Rung(rung, words) => {
            let words = [&[rung.name], words].concat();
            let mut fields = fields::of(harness::command_line(&rung), &words)?;
            let of_kernels = |value: fn(&KernelFile<'static>) -> &'static str| {
                let kernels = rung.kernels.iter();
                kernels.map(|kernel| value(kernel).to_owned()).collect()
            };
            fields.offer("tile", of_kernels(|kernel| kernel.configuration));
            fields.offer("arch", of_kernels(|kernel| kernel.arch));
            fields.offer(
                "emulate",
                Card::ALL.map(|card| card.name().to_owned()).into(),
            );
            Ok(fields)
        }
    }
}

/// The names of all rungs.
pub fn rungs() -> Vec<&'static str> {
    RUNGS.iter().map(|rung| rung.name).collect()
}

/// The rung of this package, such as `rung05_swizzle`.
fn rung(package: &str) -> Result<Rung, String> {
    let named = |rung: &&&Rung| package.strip_prefix("rung") == Some(rung.name);
    let rung = RUNGS.iter().find(named).map(|rung| **rung);
    rung.ok_or_else(|| format!("there is no rung {package}"))
}

/// The rung with the texts that were provided.
#[cfg(target_family = "wasm")]
fn with_texts(rung: Rung) -> Rung {
    let folder = format!("rungs/{}", rung.name);
    let kernels = rung.kernels.iter().map(|kernel| kernel.with_texts(&folder));
    Rung {
        // This leaks a few words per kernel; the texts are shared.
        kernels: kernels.collect::<Vec<_>>().leak(),
        ..rung
    }
}

#[cfg(not(target_family = "wasm"))]
fn with_texts(rung: Rung) -> Rung {
    rung
}
