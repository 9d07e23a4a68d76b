//! A rung's program: its kernels, and its report on a run.
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use csv::StringRecord;
use emulator::Card;
use harness::rungs::{self, Rung};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::accesses::EmulatedAccess;

/// A kernel at a size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KernelRun {
    /// Such as `05_swizzle`.
    pub rung: String,
    /// Such as `sm_90a`.
    pub arch: String,
    /// Such as `128x256`; empty if there is only one.
    pub tile: String,
    /// Such as `200x136x72`.
    pub size: String,
}

impl KernelRun {
    /// Every kernel of these rungs, whose programs have been built.
    pub fn all(rungs: &[Rung], size: &str) -> Result<Vec<Self>> {
        let mut runs = Vec::new();
        for rung in rungs {
            runs.extend(rungs::choices(rung)?.into_iter().map(|choice| Self {
                rung: rung.name.clone(),
                arch: choice.arch,
                tile: choice.tile.unwrap_or_default(),
                size: size.into(),
            }));
        }
        Ok(runs)
    }

    /// The columns of a table of runs.
    pub const COLUMNS: [&'static str; 4] = ["rung", "arch", "tile", "size"];

    /// The values of these columns.
    pub fn fields(&self) -> [&str; 4] {
        [&self.rung, &self.arch, &self.tile, &self.size]
    }

    /// The rung's folder; `None` if the sources are not here.
    pub fn folder(&self) -> Option<PathBuf> {
        rungs::root().map(|root| root.join("rungs").join(&self.rung))
    }

    /// The command that makes this run on a GPU.
    pub fn on_gpu(&self, rungs: &[Rung], gpu: usize) -> Result<Command> {
        let mut command = self.command(rungs)?;
        command.args(["--device", &format!("gpu:{gpu}")]);
        Ok(command)
    }

    /// The rung's report on this run on the emulator of a card.
    pub fn on_emulator(&self, rungs: &[Rung], card: Card) -> Result<RungReport> {
        let mut command = self.command(rungs)?;
        command.args(["--emulate", card.name(), "--accesses"]);
        let output = command.stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("cannot run {self}"))?;
        serde_json::from_slice(&output.stdout).with_context(|| format!("{self}: no result"))
    }

    fn command(&self, rungs: &[Rung]) -> Result<Command> {
        let rung = rungs.iter().find(|rung| rung.name == self.rung);
        let rung = rung.with_context(|| format!("{self}: there is no such rung"))?;
        let mut command = Command::new(rung.executable()?);
        command.args(["--json", "--size", &self.size, "--arch", &self.arch]);
        if !self.tile.is_empty() {
            command.args(["--tile", &self.tile]);
        }
        Ok(command)
    }
}

impl std::fmt::Display for KernelRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.rung, self.arch)?;
        if !self.tile.is_empty() {
            write!(f, " {}", self.tile)?;
        }
        write!(f, " at {}", self.size)
    }
}

/// The bits of C.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bits {
    pub c_sha256: String,
}

/// The fields of a rung's report that are compared.
#[derive(Deserialize)]
pub struct RungReport {
    #[serde(flatten)]
    pub bits: Bits,
    #[serde(default)]
    pub accesses: Vec<EmulatedAccess>,
}

/// A row of a table; several structs may share its columns.
pub struct Columns<'a> {
    names: &'a StringRecord,
    fields: &'a StringRecord,
}

impl Columns<'_> {
    /// Deserializes the columns that are named like its fields.
    pub fn get<T: DeserializeOwned>(&self) -> Result<T, csv::Error> {
        self.fields.deserialize(Some(self.names))
    }
}

/// Applies `row` to each row of a table.
pub fn table<T>(
    name: &str,
    bytes: &[u8],
    row: impl Fn(Columns<'_>) -> Result<T, csv::Error>,
) -> Result<Vec<T>> {
    let mut reader = csv::Reader::from_reader(bytes);
    let names = reader.headers().with_context(|| name.to_owned())?.clone();
    let rows = (1..).zip(reader.records()).map(|(number, record)| {
        let made = record.and_then(|fields| {
            row(Columns {
                names: &names,
                fields: &fields,
            })
        });
        made.with_context(|| format!("{name}: row {number}"))
    });
    rows.collect()
}
