//! Writes the broken kernels and the book's experiments into a folder, to be read or run elsewhere. With `--book` it
//! writes the PTX of those that the book runs, and their differences from their rungs, into `book/kernels/`, which requires
//! NVRTC: `cargo run -p ladder-tests --example broken_kernels -- DIR` or `… -- --book`.
use std::path::Path;
use std::process::ExitCode;

use ladder_tests::broken::shown::{EDITS, EXPERIMENTS, edits, shown};
use ladder_tests::broken::{Caught, all};
use ladder_tests::workspace::root;

fn main() -> ExitCode {
    let written = match std::env::args().nth(1).as_deref() {
        None => Err("usage: broken_kernels DIR, or broken_kernels --book".into()),
        Some("--book") => book(&root().join("book/kernels")),
        Some(folder) => by_what_catches_them(Path::new(folder)),
    };
    if let Err(error) = written {
        eprintln!("error: {error}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

type Written = Result<(), Box<dyn std::error::Error>>;

fn by_what_catches_them(folder: &Path) -> Written {
    for broken in all() {
        let caught = match broken.caught {
            Caught::Values => "values",
            Caught::ValuesAtSize => "values_at_some_sizes",
            Caught::Sanitizer { .. } => "sanitizer",
            Caught::Refused { .. } => "refused",
        };
        broken.write(&folder.join(caught).join(broken.rung))?;
    }
    for experiment in EXPERIMENTS {
        experiment.write(&folder.join("experiments").join(experiment.rung))?;
    }
    Ok(())
}

fn book(folder: &Path) -> Written {
    let tool = "`cargo run -p ladder-tests --example broken_kernels -- --book`";
    for broken in shown() {
        let (file, source) = (broken.file(), broken.source());
        let ptx = broken
            .kernel_file(&file, &source, "")
            .committed_ptx("book/kernels")?
            .replacen("`cargo ladder ptx`", tool, 1);
        let path = folder.join(file).with_extension("ptx");
        std::fs::write(path, ptx)?;
    }
    std::fs::write(folder.join(EDITS), edits())?;
    Ok(())
}
