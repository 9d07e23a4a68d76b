//! The provenance of recorded numbers.
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::world::World;

/// The provenance of one measurement.
#[derive(Deserialize)]
pub struct Provenance {
    gpu: String,
    driver: Option<String>,
    cuda: String,
    commit: Option<String>,
    date: String,
    /// The output of `ncu --version`, if ncu measured.
    ncu: Option<String>,
}

#[derive(Deserialize)]
struct Own {
    provenance: Provenance,
}

/// Formats it in one line.
pub fn line(all: &[&Provenance]) -> String {
    let list = |of: &dyn Fn(&Provenance) -> Option<&str>| {
        let found: BTreeSet<&str> = all.iter().filter_map(|provenance| of(provenance)).collect();
        match found.is_empty() {
            true => "unknown".to_owned(),
            false => found.into_iter().collect::<Vec<_>>().join(" and "),
        }
    };
    let ncu = all.iter().any(|p| p.ncu.is_some()).then(|| {
        let version = list(&|p| {
            let version = p.ncu.as_deref()?.trim_start_matches("Version ");
            version.split(' ').next()
        });
        format!("Nsight Compute {version}, ")
    });
    format!(
        "{}, driver {}, CUDA {}, {}commit {}, {}",
        list(&|p| Some(&p.gpu)),
        list(&|p| p.driver.as_deref()),
        list(&|p| Some(&p.cuda)),
        ncu.unwrap_or_default(),
        list(&|p| p.commit.as_deref()),
        list(&|p| p.date.get(..10)),
    )
}

/// The provenance of a file outside of the main record: the entry in `provenance.json` beside it for the file's name
/// and its rows' kernels; otherwise the `provenance` of the JSON file with the same name, measured together with it.
pub fn of_file(world: &World, file: &str) -> Result<String> {
    let (stem, _) = file.rsplit_once('.').unwrap_or((file, ""));
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let beside = format!("{folder}/provenance.json");
    if let Ok(text) = world.read(&beside) {
        let mut all: BTreeMap<String, BTreeMap<String, Provenance>> =
            serde_json::from_str(&text).with_context(|| beside.clone())?;
        let of = all
            .remove(name)
            .with_context(|| format!("{beside} has no `{name}`"))?;
        return Ok(line(&of.values().collect::<Vec<_>>()));
    }
    let own = format!("{stem}.json");
    let text = world.read(&own).with_context(|| {
        format!("nothing says where {file} comes from: neither {beside} nor {own}")
    })?;
    let own: Own = serde_json::from_str(&text).context(own)?;
    Ok(line(&[&own.provenance]))
}
