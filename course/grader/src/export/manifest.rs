//! The students' manifests and Cargo.lock: those of this workspace without the packages that are not exported.
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use toml_edit::{Array, DocumentMut, Table, value};

/// The packages that students build.
const MEMBERS: [&str; 4] = ["book/labs", "common/*", "course/grader", "rungs/*"];

/// A package that is not exported, and the feature of the ladder that needs it.
const CALIBRATION: &str = "calibration";

/// Packages with a profile, of which Cargo would warn in every command that there are none.
const ABSENT: [&str; 2] = [CALIBRATION, "zopfli"];

/// The workspace's manifest with the students' members.
pub fn workspace(text: &str) -> Result<String> {
    let mut manifest: DocumentMut = text.parse()?;
    let workspace = table(&mut manifest, &["workspace"])?;
    workspace.insert("members", value(Array::from_iter(MEMBERS)));
    workspace.remove("default-members");
    workspace.remove("exclude");
    table(&mut manifest, &["workspace", "dependencies"])?.remove(CALIBRATION);
    let profiles = table(&mut manifest, &["profile", "dev", "package"])?;
    for package in ABSENT {
        profiles.remove(package);
    }
    Ok(manifest.to_string())
}

/// The ladder's manifest without calibration.
pub fn ladder(text: &str) -> Result<String> {
    let mut manifest: DocumentMut = text.parse()?;
    table(&mut manifest, &["dependencies"])?.remove(CALIBRATION);
    let features = table(&mut manifest, &["features"])?;
    // The ladder's code still tests for it.
    features[CALIBRATION] = value(Array::new());
    let default = features.get_mut("default").and_then(|it| it.as_array_mut());
    default
        .context("[features] has no list `default`")?
        .retain(|feature| feature.as_str() != Some(CALIBRATION));
    Ok(manifest.to_string())
}

fn table<'a>(manifest: &'a mut DocumentMut, path: &[&str]) -> Result<&'a mut Table> {
    path.iter()
        .try_fold(manifest.as_table_mut(), |table, name| {
            let found = table.get_mut(name).and_then(|item| item.as_table_mut());
            found.with_context(|| format!("there is no table {}", path.join(".")))
        })
}

/// Lets Cargo remove from the exported Cargo.lock what no member needs, so that `--locked` builds work. Versions stay,
/// and nothing is downloaded. Returns whether it succeeded.
pub fn shorten_lock(folder: &Path) -> bool {
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let status = Command::new(cargo)
        .args(["update", "--workspace", "--offline", "--quiet"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_stay_are_not_named() {
        let text = "[workspace]\nmembers = [\"book\", \"common/*\"]\n# Why.\ndefault-members = [\"common/*\"]\nexclude = [\"fuzz\"]\n\n\
            [workspace.dependencies]\ncalibration = { path = \"calibration\" }\nhalf = \"2\" # Bits.\n\n\
            [workspace.lints.rust]\nunsafe_code = \"deny\"\n\n\
            [profile.dev.package.half]\nopt-level = 2\n[profile.dev.package.calibration]\nopt-level = 2\n";
        assert_eq!(
            workspace(text).expect("a manifest"),
            "[workspace]\nmembers = [\"book/labs\", \"common/*\", \"course/grader\", \"rungs/*\"]\n\n\
            [workspace.dependencies]\nhalf = \"2\" # Bits.\n\n\
            [workspace.lints.rust]\nunsafe_code = \"deny\"\n\n\
            [profile.dev.package.half]\nopt-level = 2\n"
        );
        let text = "[features]\ndefault = [\"calibration\"]\n# Why.\ncalibration = [\"dep:calibration\"]\n\n\
            [dependencies]\ncalibration = { workspace = true, optional = true }\nclap = \"4\"\n";
        assert_eq!(
            ladder(text).expect("a manifest"),
            "[features]\ndefault = []\n# Why.\ncalibration = []\n\n[dependencies]\nclap = \"4\"\n"
        );
        for broken in ["[workspace]\n", "[workspace", "workspace = 1\n"] {
            assert!(workspace(broken).is_err() && ladder(broken).is_err());
        }
    }
}
