//! Which tool finds what: one row for each kernel.
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Checker, Verdict, stem, subjects};
use crate::broken::Broken;
use crate::workspace::{root, run};

/// A row of `sanitizers.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its name, or [`SOUND`](super::SOUND).
    pub kernel: String,
    /// The rung it is made from.
    pub rung: String,
    /// The arguments that select the rung's kernel.
    pub arguments: String,
    /// M, N and K.
    pub size: String,
    /// The finding of the emulator's `sanitize`.
    pub sanitize: String,
    /// The result on the GPU without a tool.
    pub alone: String,
    /// The findings of compute-sanitizer's tools; empty if not recorded yet.
    pub memcheck: String,
    /// See `memcheck`.
    pub racecheck: String,
    /// See `memcheck`.
    pub initcheck: String,
    /// See `memcheck`.
    pub synccheck: String,
}

impl Row {
    /// The cells of compute-sanitizer's tools.
    pub fn tools(&self) -> [&str; 4] {
        [
            &self.memcheck,
            &self.racecheck,
            &self.initcheck,
            &self.synccheck,
        ]
    }
}

/// The table of a recording: the contents of its `raw/`, and the emulator's findings. Requires NVRTC.
///
/// # Errors
/// If a file cannot be read. A missing file leaves its cell empty: `record --again` continues there.
pub fn table(folder: &Path) -> io::Result<Vec<Row>> {
    let row = |subject: &Broken| {
        let stem = stem(subject);
        let verdict = |checker: Checker| {
            let path = folder
                .join("raw")
                .join(format!("{stem}.{}.txt", checker.name()));
            let raw = match fs::read(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
                raw => raw.map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
                })?,
            };
            Ok::<_, io::Error>(Verdict::of(checker, &String::from_utf8_lossy(&raw)).to_string())
        };
        let [alone, memcheck, racecheck, initcheck, synccheck] = Checker::ALL;
        Ok(Row {
            kernel: subject.name.into(),
            rung: subject.rung.into(),
            arguments: subject.arguments.join(" "),
            size: subject.size.into(),
            sanitize: sanitize(subject)?.to_string(),
            alone: verdict(alone)?,
            memcheck: verdict(memcheck)?,
            racecheck: verdict(racecheck)?,
            initcheck: verdict(initcheck)?,
            synccheck: verdict(synccheck)?,
        })
    };
    subjects().iter().map(row).collect()
}

/// The emulator's finding; it prints in compute-sanitizer's format.
fn sanitize(subject: &Broken) -> io::Result<Verdict> {
    let folder = std::env::temp_dir().join(format!("sanitizers-{}", std::process::id()));
    let kernel = subject.write(&folder)?;
    let kernel = kernel.to_string_lossy();
    let arguments = ["sanitize", "--size", subject.size, "--kernel", &kernel];
    let output = run(
        &root().join("rungs").join(subject.rung),
        &[&arguments, subject.arguments].concat(),
    );
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let found = Verdict::of(
        Checker::Tool("sanitize"),
        &format!("{}\n{text}", output.status),
    );
    fs::remove_dir_all(folder)?;
    Ok(found)
}
