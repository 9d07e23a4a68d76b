//! Writes the broken kernels into a folder, to run them elsewhere:
//! `cargo run -p ladder-tests --example broken_kernels -- DIR`.
use std::process::ExitCode;

use ladder_tests::broken::{Caught, all};

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: broken_kernels DIR");
        return ExitCode::from(2);
    };
    for broken in all() {
        let caught = match broken.caught {
            Caught::Values => "values",
            Caught::ValuesAtSize => "values_at_some_sizes",
            Caught::Sanitizer { .. } => "sanitizer",
            Caught::Refused { .. } => "refused",
        };
        let folder = std::path::Path::new(&folder).join(caught).join(broken.rung);
        if let Err(error) = broken.write(&folder) {
            eprintln!("error: {}: {error}", folder.display());
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
