//! Writes `wgmma_layout.csv` and `tma_layout.csv` with the emulator's result for every case, to be measured on a GPU:
//!
//!     cargo run -p ladder-tests --example layout_cases -- CASES
//!     cargo ladder calibrate --against CASES --record DIR
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use calibration::instructions::{Row, tma_layout, wgmma_layout};
use emulator::Card;

fn table<R: Row + Display>(cases: Vec<R>) -> anyhow::Result<String> {
    let mut text = R::HEADER.to_owned() + "\n";
    for case in cases {
        let found = case.fields(&case.on_emulator(Card::H100)?).join(",");
        text += &format!("{case},{found}\n");
    }
    Ok(text)
}

fn write(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(folder)?;
    let [wgmma, tma] = [table(wgmma_layout::cases())?, table(tma_layout::cases())?];
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
