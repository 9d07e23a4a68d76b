//! Which files of the workspace are exported: certain kinds, in certain folders, that git does not ignore.
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use harness::{ceilings, records};
use ignore::WalkBuilder;

use super::tree::FileTree;

/// Folders that students build, that are compiled in, or that the book's commands name.
const FOLDERS: [&str; 8] = [
    "book/accesses",
    "book/data",
    "book/kernels",
    "book/labs",
    "common",
    "course/grader",
    "rungs",
    "tests/faults",
];

/// Extensions of exported files.
const KINDS: [&str; 14] = [
    "csv", "cu", "cuh", "h", "json", "md", "ptx", "rs", "sass", "sh", "snap", "toml", "tsv", "yml",
];

/// What the ladder's tables show beside counters: predictions, and the times of an H200.
const MEASURED: [&str; 4] = [
    "results/predictions.csv",
    "results/h200/bench.json",
    "results/h200/experiments.csv",
    "results/h200/tiles.csv",
];

/// The folder of the recorded clock logs, from which `cargo ladder clocks --recorded` draws the book's bars.
const CLOCK_LOGS: &str = "results/h200/clocks";

/// The Python program that the book runs on the emulator, and the packages that it imports.
const PYTHON: [&str; 2] = [
    "common/driver/tests/python/race.py",
    "common/driver/tests/python/requirements.txt",
];

/// Exported files without one of these extensions; some are templates.
const NAMES: [&str; 5] = [
    "Dockerfile",
    "forms.txt",
    "gitattributes",
    "gitignore",
    "run_autograder",
];

/// Folders of a package that are not exported.
const FOLDERS_THAT_STAY: [&str; 3] = ["tests", "examples", "benches"];

/// All exported files except the assignments.
pub fn workspace(root: &Path, tree: &mut FileTree) -> Result<()> {
    for folder in FOLDERS {
        // As in a repository, even if the sources came as an archive.
        let walk = WalkBuilder::new(root.join(folder))
            .require_git(false)
            .build();
        add(root, walk, tree, travels)?;
    }
    for (path, _) in ceilings::RECORDS {
        tree.text(path, &text(root, path)?);
    }
    for path in records::FILES {
        tree.text(path, &text(root, path)?);
    }
    for path in MEASURED.iter().chain(&PYTHON) {
        tree.text(path, &text(root, path)?);
    }
    let walk = WalkBuilder::new(root.join(CLOCK_LOGS))
        .require_git(false)
        .build();
    add(root, walk, tree, |path| path.ends_with(".txt"))
}

/// Whether a file in those folders is exported.
fn travels(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let kind = name.rsplit_once('.').map(|(_, kind)| kind);
    let of_a_kind = kind.is_some_and(|kind| KINDS.contains(&kind)) || NAMES.contains(&name);
    let folder = path.split('/').nth(2).unwrap_or_default();
    of_a_kind && !FOLDERS_THAT_STAY.contains(&folder) && !private(path)
}

/// Whether a file's name marks it as private to teachers.
pub fn private(path: &str) -> bool {
    let mut parts = path.split('/').map(str::to_lowercase);
    parts.any(|part| {
        part == "solution" || part.starts_with("secret") || part.starts_with("mutations")
    })
}

/// The built book, which git ignores.
pub fn book(root: &Path, tree: &mut FileTree) -> Result<()> {
    let walk = WalkBuilder::new(root.join(super::links::BUILT))
        .standard_filters(false)
        .build();
    add(root, walk, tree, |_| true)
}

fn add(
    root: &Path,
    walk: ignore::Walk,
    tree: &mut FileTree,
    chosen: fn(&str) -> bool,
) -> Result<()> {
    for entry in walk {
        let entry = entry.context("the workspace cannot be read")?;
        // Neither folders nor links, which might lead out of the workspace.
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let path = name(root, entry.path())?;
        if !chosen(&path) {
            continue;
        }
        let bytes = fs::read(entry.path()).with_context(|| format!("cannot read {path}"))?;
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => tree.text(&path, &text),
            Ok(text) => tree.bytes(&path, text.into_bytes()),
            Err(no_text) => tree.bytes(&path, no_text.into_bytes()),
        }
    }
    Ok(())
}

/// The path relative to the root, with `/` on every system.
fn name(root: &Path, path: &Path) -> Result<String> {
    let below = path.strip_prefix(root)?;
    let parts: Option<Vec<_>> = below.iter().map(|part| part.to_str()).collect();
    let name = parts.map(|parts| parts.join("/"));
    let name =
        name.with_context(|| format!("{}: this name is not valid on all systems", path.display()))?;
    ensure!(
        !name.contains('\\'),
        "{name}: this name is not valid on all systems: rename it"
    );
    Ok(name)
}

/// The text of a file in the workspace.
pub fn text(root: &Path, path: &str) -> Result<String> {
    fs::read_to_string(root.join(path))
        .with_context(|| format!("cannot read {path}; run this in the whole workspace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_other_files_stay() {
        for path in [
            "common/emulator/src/lib.rs",
            "course/grader/src/export/templates/run_autograder",
            "rungs/05_swizzle/kernel.ptx",
            "rungs/hopper.cuh",
        ] {
            assert!(travels(path), "{path}");
        }
        for path in [
            "common/emulator/tests/faults.rs",
            "course/grader/tests/main.rs",
            "common/emulator/src/recorded.bin",
            "common/gpu/examples/x.rs",
            "common/secret.toml",
            "course/grader/src/grade/solution/kernel.cu",
            "course/grader/secret",
            "common/ladder/notes.txt",
            "common/ladder/src/mutations.toml",
            "rungs/05_swizzle/a.out",
        ] {
            assert!(!travels(path), "{path}");
        }
    }

    #[test]
    fn what_git_ignores_stays() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("common/x/src")).expect("folders");
        for (path, text) in [
            (".gitignore", "mine.rs\n"),
            ("common/x/src/lib.rs", "a\r\nb\n"),
            ("common/x/src/mine.rs", ""),
            ("common/x/.hidden.rs", ""),
        ] {
            fs::write(at(path), text).expect("a file");
        }
        let mut tree = FileTree::default();
        let walk = WalkBuilder::new(at("common")).require_git(false).build();
        add(root.path(), walk, &mut tree, travels).expect("a walk");
        let files: Vec<_> = tree.files().collect();
        assert_eq!(files.len(), 1, "{files:?}");
        assert_eq!(files[0].0, "common/x/src/lib.rs");
        assert_eq!(files[0].1.bytes, b"a\nb\n");
    }
}
