//! `provenance.json`: the provenance of each rung's rows, for each recorded part.
use std::collections::BTreeMap;
use std::io::ErrorKind;
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
    /// Reads the file in this folder; empty if nothing has been recorded there.
    ///
    /// # Errors
    /// If the file exists and cannot be read: overwriting it would lose the provenance of other rungs' rows.
    pub fn of(folder: &Path) -> Result<Self> {
        let path = folder.join(PROVENANCE);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        serde_json::from_str(&text).with_context(|| {
            let path = path.display();
            format!("{path} is not a provenance by part and rung; repair it, or move it away")
        })
    }

    /// Adds a part of a rung that was just recorded, with the rung's report.
    pub fn add(&mut self, part: &str, rung: &str, report: &Value, ncu: &str) {
        // `ptx` includes the compiler.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_kept_or_refused() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let read = || Recorded::of(folder.path());
        assert!(read().expect("nothing yet").0.is_empty());
        let file = folder.path().join(PROVENANCE);
        std::fs::write(&file, r#"{"rungs": {"01_naive": {"gpu": "H100"}}}"#).expect("writable");
        assert_eq!(
            read().expect("a recording").0["rungs"]["01_naive"]["gpu"],
            "H100"
        );
        std::fs::write(&file, "{").expect("writable");
        let why = read().err().expect("an error").to_string();
        assert!(
            why.contains(PROVENANCE) && why.contains("repair it"),
            "{why}"
        );
    }
}
