//! Writes the broken kernels into a folder, to run them elsewhere, or, with `--book`, those that the book runs into
//! `book/kernels/`, each with its PTX, for which NVRTC is needed:
//! `cargo run -p ladder-tests --example broken_kernels -- DIR` or `… -- --book`.
use std::path::Path;
use std::process::ExitCode;

use ladder_tests::broken::shown::shown;
use ladder_tests::broken::{Broken, Caught, all};
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
    Ok(())
}

fn book(folder: &Path) -> Written {
    for broken in shown() {
        with_ptx(broken, folder)?;
    }
    Ok(())
}

fn with_ptx(broken: &Broken, folder: &Path) -> Written {
    let path = broken.write(folder)?;
    let (file, source) = (broken.file(), broken.source());
    let ptx = broken
        .kernel_file(&file, &source, "")
        .committed_ptx("book/kernels")?;
    let tool = "`cargo run -p ladder-tests --example broken_kernels -- --book`";
    std::fs::write(
        path.with_extension("ptx"),
        ptx.replacen("`cargo ladder ptx`", tool, 1),
    )?;
    Ok(())
}
