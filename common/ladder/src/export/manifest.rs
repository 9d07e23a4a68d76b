//! The students' Cargo.toml and Cargo.lock: the workspace's own, with fewer members.
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

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

/// Has Cargo take out of the written Cargo.lock what no member needs, so that `--locked` builds go through. Versions
/// stay, and nothing is fetched. Whether it could be done.
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
    fn members_that_stay_are_not_named() {
        let text = "[workspace]\nmembers = [\"book\", \"common/*\"]\n# Why.\nexclude = [\"fuzz\"]\n\n[x]\n";
        assert_eq!(
            students(text).expect("a manifest"),
            "[workspace]\nmembers = [\"common/*\", \"rungs/*\"]\n\n[x]\n"
        );
        assert!(students("[workspace]\n").is_err());
    }
}
