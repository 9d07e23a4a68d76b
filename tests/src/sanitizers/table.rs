//! Who finds what: a row a kernel.
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Said, Watcher, stem, subjects};
use crate::broken::Broken;
use crate::workspace::{root, run};

/// A row of `sanitizers.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its name, or [`SOUND`](super::SOUND).
    pub kernel: String,
    /// The rung it is made from.
    pub rung: String,
    /// What chooses the rung's kernel.
    pub arguments: String,
    /// M, N and K.
    pub size: String,
    /// What the emulator's `sanitize` finds.
    pub sanitize: String,
    /// What the GPU makes of it by itself.
    pub alone: String,
    /// What compute-sanitizer's tools find; empty if it is not recorded yet.
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

/// The table of a recording: what its `raw/` holds, beside what the emulator finds here. Takes NVRTC.
///
/// # Errors
/// If a file cannot be read. One that is missing leaves its cell empty: `record --again` goes on there.
pub fn table(folder: &Path) -> io::Result<Vec<Row>> {
    let row = |subject: &Broken| {
        let stem = stem(subject);
        let said = |watcher: Watcher| {
            let path = folder
                .join("raw")
                .join(format!("{stem}.{}.txt", watcher.name()));
            let raw = match fs::read(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
                raw => raw.map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
                })?,
            };
            Ok::<_, io::Error>(Said::of(watcher, &String::from_utf8_lossy(&raw)).to_string())
        };
        let [alone, memcheck, racecheck, initcheck, synccheck] = Watcher::ALL;
        Ok(Row {
            kernel: subject.name.into(),
            rung: subject.rung.into(),
            arguments: subject.arguments.join(" "),
            size: subject.size.into(),
            sanitize: sanitize(subject)?.to_string(),
            alone: said(alone)?,
            memcheck: said(memcheck)?,
            racecheck: said(racecheck)?,
            initcheck: said(initcheck)?,
            synccheck: said(synccheck)?,
        })
    };
    subjects().iter().map(row).collect()
}

/// What the emulator finds; it prints as compute-sanitizer does.
fn sanitize(subject: &Broken) -> io::Result<Said> {
    let folder = std::env::temp_dir().join(format!("sanitizers-{}", std::process::id()));
    let kernel = subject.write(&folder)?;
    let kernel = kernel.to_string_lossy();
    let arguments = ["sanitize", "--size", subject.size, "--kernel", &kernel];
    let output = run(
        &root().join("rungs").join(subject.rung),
        &[&arguments, subject.arguments].concat(),
    );
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let found = Said::of(
        Watcher::Tool("sanitize"),
        &format!("{}\n{text}", output.status),
    );
    fs::remove_dir_all(folder)?;
    Ok(found)
}
