//! The students' Cargo.toml: the workspace's own, with fewer members.
use anyhow::{Context, Result, ensure};

use super::tree::Tree;

/// What the workspace's line of members becomes.
const MEMBERS: &str = "members = [\"common/*\", \"rungs/*\"]";

/// The workspace's manifest without the members that stay here, and what is said about them.
pub fn students(manifest: &str) -> Result<String> {
    let mut out = Vec::new();
    let mut replaced = 0;
    for line in manifest.lines() {
        if line.starts_with("members = [") && line.ends_with(']') {
            replaced += 1;
            out.push(MEMBERS);
        } else if line.starts_with("exclude = [") && line.ends_with(']') {
            // The comment above it goes too.
            while out.last().is_some_and(|line: &&str| line.starts_with('#')) {
                out.pop();
            }
        } else {
            out.push(line);
        }
    }
    ensure!(
        replaced == 1,
        "Cargo.toml: the members of the workspace do not stand in one line"
    );
    Ok(out.join("\n") + "\n")
}

/// The names of the packages that travel.
pub fn members(tree: &Tree) -> Result<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Manifest {
        package: Package,
    }
    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
    }
    let manifests = tree
        .files()
        .filter(|(path, _)| path.ends_with("/Cargo.toml"));
    manifests
        .map(|(path, file)| {
            let text = std::str::from_utf8(&file.bytes).with_context(|| path.to_owned())?;
            let manifest: Manifest = toml::from_str(text).with_context(|| path.to_owned())?;
            Ok(manifest.package.name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_stay_are_not_named() {
        let text = "[workspace]\nmembers = [\"book\", \"common/*\"]\n# Why.\nexclude = [\"fuzz\"]\n\n[x]\n";
        assert_eq!(
            students(text).expect("a manifest"),
            "[workspace]\nmembers = [\"common/*\", \"rungs/*\"]\n\n[x]\n"
        );
        assert!(students("[workspace]\n").is_err());
    }
}
