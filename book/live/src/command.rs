//! What a command of the terminal prints, from its words: `cargo run -p rung05_swizzle -- profile`, `cargo run -p labs -- vectors`,
//! `cargo ladder layout swizzle 3 4 3`.
use explain::Streams;
use harness::Rung;
use serde_json::{Value, json};

use crate::rungs::RUNGS;

/// What of `cargo ladder` runs here.
const OF_LADDER: [&str; 4] = ["layout", "banks", "round", "approximate"];

/// Hands over a file.
pub fn give(path: &str, text: String) {
    #[cfg(target_family = "wasm")]
    harness::files::give(path, text);
    #[cfg(not(target_family = "wasm"))]
    let _ = (path, text);
}

/// Standard output, standard error and the exit code.
///
/// # Errors
/// If it is no command that runs here.
pub fn run(words: &[String]) -> Result<Value, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = match words[..] {
        ["cargo", "ladder", ref words @ ..]
            if words.first().is_some_and(|word| OF_LADDER.contains(word)) =>
        {
            let mut streams = Streams {
                out: &mut anstream::StripStream::new(&mut out),
                err: &mut anstream::StripStream::new(&mut err),
            };
            explain::main_with(words, &mut streams)
        }
        ["cargo", "run", "-p", "labs", "--", ref words @ ..] => {
            labs::main_with(&[&["labs"], words].concat(), &mut out)
        }
        ["cargo", "run", "-p", package, ref words @ ..] => {
            let rung = rung(package)?;
            let words = words.strip_prefix(&["--"]).unwrap_or(words);
            let words = [&[package], words].concat();
            harness::main_with(&rung, &words, &mut anstream::StripStream::new(&mut out))
        }
        _ => {
            let ladder = OF_LADDER.join(", ");
            return Err(format!(
                "only rungs, labs and cargo ladder {ladder} run in a page, not `{}`",
                words.join(" ")
            ));
        }
    };
    Ok(json!({
        "out": String::from_utf8_lossy(&out),
        "err": String::from_utf8_lossy(&err),
        "code": code,
    }))
}

/// The rung of this package, such as `rung05_swizzle`.
fn rung(package: &str) -> Result<Rung, String> {
    let named = |rung: &&&Rung| package.strip_prefix("rung") == Some(rung.name);
    let rung = RUNGS.iter().find(named).map(|rung| **rung);
    let rung = rung.ok_or_else(|| format!("there is no rung {package}"))?;
    Ok(with_texts(rung))
}

/// With the texts that were given.
#[cfg(target_family = "wasm")]
fn with_texts(rung: Rung) -> Rung {
    let folder = format!("rungs/{}", rung.name);
    let kernels = rung.kernels.iter().map(|kernel| kernel.with_texts(&folder));
    Rung {
        // A few words a kernel: the texts themselves are kept once.
        kernels: kernels.collect::<Vec<_>>().leak(),
        ..rung
    }
}

#[cfg(not(target_family = "wasm"))]
fn with_texts(rung: Rung) -> Rung {
    rung
}
