//! `provenance.json`: what the rows of each rung belong to, for each part that was recorded.
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::PROVENANCE;

/// By part, then by rung.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recorded(BTreeMap<String, BTreeMap<String, Value>>);

impl Recorded {
    /// What stands in this folder; nothing if that is no recording.
    pub fn of(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join(PROVENANCE));
        let recorded = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        recorded.unwrap_or_default()
    }

    /// A part of a rung was recorded just now, and this is what the rung reported.
    pub fn add(&mut self, part: &str, rung: &str, report: &Value, ncu: &str) {
        // `ptx` says who made it.
        let kept = ["gpu", "driver", "cuda", "commit", "date", "ptx"];
        let kept = kept.map(|key| (key.to_owned(), report["provenance"][key].clone()));
        let ncu = ("ncu".to_owned(), Value::from(ncu));
        let of_rung = Value::Object(kept.into_iter().chain([ncu]).collect());
        let part = self.0.entry(part.to_owned()).or_default();
        part.insert(rung.to_owned(), of_rung);
    }

    pub fn write(&self, folder: &Path) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(folder.join(PROVENANCE), text).context("cannot write the provenance")
    }
}
