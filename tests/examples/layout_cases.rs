//! Writes `wgmma_layout.csv` and `tma_layout.csv` with what the emulator says of every case, to be measured on a GPU:
//!
//!     cargo run -p ladder-tests --example layout_cases -- CASES
//!     cargo ladder calibrate --against CASES --record DIR
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use emulator::calibrate::{BadRow, tma_layout, wgmma_layout};

fn table<R: Display>(
    columns: &[&str],
    rows: impl Iterator<Item = Result<R, BadRow>>,
) -> Result<String, BadRow> {
    let mut text = columns.join(",") + "\n";
    for row in rows {
        text += &format!("{}\n", row?);
    }
    Ok(text)
}

fn write(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let wgmma = wgmma_layout::cases().into_iter();
    let wgmma = table(&wgmma_layout::COLUMNS, wgmma.map(|case| case.on_emulator()))?;
    let tma = tma_layout::cases().into_iter();
    let tma = table(&tma_layout::COLUMNS, tma.map(|case| case.on_emulator()))?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("wgmma_layout.csv"), wgmma)?;
    std::fs::write(folder.join("tma_layout.csv"), tma)?;
    Ok(())
}

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: layout_cases DIR");
        return ExitCode::from(2);
    };
    match write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {folder}: {error}");
            ExitCode::from(2)
        }
    }
}
