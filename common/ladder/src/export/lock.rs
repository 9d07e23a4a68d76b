//! The students' Cargo.lock: the same versions, without the packages that nothing of theirs needs. So it is current, and
//! `cargo build --locked` takes it.
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    #[serde(default)]
    dependencies: Vec<String>,
}

/// Between packages, as Cargo writes them.
const HEAD: &str = "[[package]]\n";

/// What of a lock file these members of the workspace need.
pub fn only_for(lock: &str, members: &[String]) -> Result<String> {
    let lock = lock.replace("\r\n", "\n");
    let Lock { package: packages } = toml::from_str(&lock).context("Cargo.lock")?;
    let mut blocks = lock.split(HEAD);
    let head = blocks.next().unwrap_or_default();
    let kept = needed(&packages, members);

    let mut versions = BTreeMap::<&str, usize>::new();
    for &index in &kept {
        *versions.entry(&packages[index].name).or_default() += 1;
    }
    let blocks = blocks.enumerate().filter(|(index, _)| kept.contains(index));
    let blocks: Vec<String> = blocks
        .map(|(_, block)| unambiguous(block.trim_end(), &versions))
        .collect();
    Ok(format!("{head}{HEAD}{}\n", blocks.join(&format!("\n\n{HEAD}"))))
}

/// The places of the members and of all they depend on.
fn needed(packages: &[Package], members: &[String]) -> BTreeSet<usize> {
    let find = |wanted: &str| {
        let mut words = wanted.split(' ');
        let name = words.next().unwrap_or_default();
        let version = words.next();
        packages
            .iter()
            .position(|one| one.name == name && version.is_none_or(|version| one.version == version))
    };
    let mut kept = BTreeSet::new();
    let mut open: Vec<usize> = members.iter().filter_map(|name| find(name)).collect();
    while let Some(index) = open.pop() {
        if kept.insert(index) {
            open.extend(packages[index].dependencies.iter().filter_map(|name| find(name)));
        }
    }
    kept
}

/// Cargo gives a version only where there are several.
fn unambiguous(block: &str, versions: &BTreeMap<&str, usize>) -> String {
    let line = |line: &str| {
        let entry = line.strip_prefix(" \"").and_then(|line| line.strip_suffix("\","));
        let named = entry.and_then(|entry| entry.split_once(' '));
        match named {
            Some((name, _)) if versions.get(name) == Some(&1) => format!(" \"{name}\","),
            _ => line.to_owned(),
        }
    };
    block.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_needs_is_left_away() {
        let lock = "# head\nversion = 4\n\n\
            [[package]]\nname = \"a\"\nversion = \"1\"\ndependencies = [\n \"c 2.0\",\n]\n\n\
            [[package]]\nname = \"b\"\nversion = \"1\"\ndependencies = [\n \"c 1.0\",\n]\n\n\
            [[package]]\nname = \"c\"\nversion = \"1.0\"\n\n\
            [[package]]\nname = \"c\"\nversion = \"2.0\"\n";
        assert_eq!(
            only_for(lock, &["a".into()]).expect("a lock file"),
            "# head\nversion = 4\n\n\
            [[package]]\nname = \"a\"\nversion = \"1\"\ndependencies = [\n \"c\",\n]\n\n\
            [[package]]\nname = \"c\"\nversion = \"2.0\"\n"
        );
        let all = only_for(lock, &["a".into(), "b".into()]).expect("a lock file");
        assert_eq!(all, lock);
    }
}
