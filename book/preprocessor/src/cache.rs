//! A cache of commands' outputs under target/, valid as long as nothing that a command reads changes.
//!
//! An entry's name is the SHA-256 of the command, of its executable and of all files that it may read. So no entry is
//! ever wrong; unused entries only take space.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use transcript::{CommandLine, Output, Programs};

use crate::world::Outputs;

const FOLDER: &str = "target/book-cache";

/// An entry: the command, its exit code, standard output and standard error.
type Kept = (String, Option<i32>, String, String);

/// Runs these commands in parallel, except those whose outputs for the same files are in the cache.
pub fn run_all(programs: &Programs, root: &Path, commands: BTreeSet<CommandLine>) -> Outputs {
    let packages: BTreeSet<&str> = commands.iter().map(|line| line.package.as_str()).collect();
    // If one cannot be built, the others' outputs should still be shown.
    let mut why = BTreeMap::new();
    if programs.build(&packages).is_err() {
        why.extend(packages.iter().filter_map(|&package| {
            let error = programs.build(&BTreeSet::from([package])).err()?;
            Some((package.to_owned(), error.to_string()))
        }));
    }
    let digests = Digests::of(programs, root, &packages);
    commands
        .into_par_iter()
        .map(|line| {
            let output = match why.get(&line.package) {
                Some(why) => Err(why.clone()),
                None => run(programs, root, &digests, &line),
            };
            (line, output)
        })
        .collect()
}

fn run(
    programs: &Programs,
    root: &Path,
    digests: &Digests,
    line: &CommandLine,
) -> Result<Output, String> {
    let file = root.join(FOLDER).join(digests.key(root, line) + ".json");
    if let Some((command, code, text, errors)) = read::<Kept>(&file)
        && command == line.text
    {
        return Ok(Output { code, text, errors });
    }
    let output = programs.run(line).map_err(|error| error.to_string())?;
    let Output { code, text, errors } = &output;
    write(&file, &(&line.text, code, text, errors));
    Ok(output)
}

/// Digests of the executables and of the folders that they read.
struct Digests {
    executables: BTreeMap<String, String>,
    /// Digests of folders and files that commands read, so that each is read only once.
    trees: Mutex<HashMap<PathBuf, String>>,
}

/// The files that the ladder and the labs read, apart from files that their arguments name. A rung reads its own
/// folder.
const RUNGS: &str = "rungs";
const RECORDS: &str = "results";
const FOLDERS: [&str; 4] = [RUNGS, RECORDS, "book/labs", "calibration/h100"];

impl Digests {
    fn of(programs: &Programs, root: &Path, packages: &BTreeSet<&str>) -> Self {
        let memory = root.join(FOLDER).join("executables.json");
        let known: BTreeMap<PathBuf, Executable> = read(&memory).unwrap_or_default();
        let found: Vec<(String, PathBuf, Executable)> = packages
            .par_iter()
            .filter_map(|package| {
                let file = programs.executable(package)?;
                let executable = Executable::of(&file, known.get(&file))?;
                Some(((*package).to_owned(), file, executable))
            })
            .collect();
        let mut executables = BTreeMap::new();
        let mut now = known.clone();
        for (package, file, executable) in found {
            executables.insert(package, executable.sha256.clone());
            now.insert(file, executable);
        }
        if now != known {
            write(&memory, &now);
        }
        Self {
            executables,
            trees: Mutex::default(),
        }
    }

    /// The digest of a file or folder.
    fn tree(&self, path: PathBuf) -> String {
        // A thread that panicked has left no partial entry.
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        trees
            .entry(path)
            .or_insert_with_key(|path| of_tree(path))
            .clone()
    }

    /// The name of a command's entry.
    fn key(&self, root: &Path, line: &CommandLine) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        };
        // Raise this number when a change here invalidates the entries.
        add("1");
        add(&line.text);
        let executable = self.executables.get(&line.package);
        add(executable.map_or("", String::as_str));
        let own = line.package.strip_prefix("rung");
        let own = own.map(|name| root.join(RUNGS).join(name));
        let folders = match own.filter(|folder| folder.is_dir()) {
            Some(own) => vec![own, root.join(RECORDS)],
            None => FOLDERS.map(|folder| root.join(folder)).into(),
        };
        // Files that the arguments name, possibly after an equals sign.
        let named = line.arguments.iter().filter_map(|word| {
            let path = Path::new(word.rsplit('=').next().unwrap_or(word));
            let inside = path
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
            (inside && path.parent().is_some()).then(|| root.join(path))
        });
        let named = named.filter(|path| path.exists());
        for path in folders.into_iter().chain(named) {
            add(&self.tree(path));
        }
        hex(hash)
    }
}

/// An executable's SHA-256, with the metadata that identify it without reading it again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Executable {
    bytes: u64,
    modified: Option<std::time::SystemTime>,
    sha256: String,
}

impl Executable {
    fn of(file: &Path, known: Option<&Self>) -> Option<Self> {
        let about = fs::metadata(file).ok()?;
        let (bytes, modified) = (about.len(), about.modified().ok());
        let same = |known: &&Self| {
            known.bytes == bytes && known.modified == modified && modified.is_some()
        };
        if let Some(known) = known.filter(same) {
            return Some(known.clone());
        }
        let mut hash = Sha256::new();
        hash.update(fs::read(file).ok()?);
        Some(Self {
            bytes,
            modified,
            sha256: hex(hash),
        })
    }
}

/// The digest of a file, or of all files below a folder, except build outputs and hidden files.
fn of_tree(path: &Path) -> String {
    let mut hash = Sha256::new();
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            inside.retain(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name != "target" && !name.starts_with('.')
            });
            inside.sort();
            open.extend(inside.into_iter().rev());
            hash.update(format!("folder {name}\n"));
        } else if let Ok(bytes) = fs::read(&path) {
            hash.update(format!("file {name} {}\n", bytes.len()));
            hash.update(bytes);
        }
    }
    hex(hash)
}

fn hex(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn read<T: serde::de::DeserializeOwned>(file: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// If an entry cannot be stored, the command runs again next time.
fn write<T: Serialize>(file: &Path, value: &T) {
    let Ok(text) = serde_json::to_vec(value) else {
        return;
    };
    if let Some(folder) = file.parent() {
        let _ = fs::create_dir_all(folder);
    }
    // Write to a temporary file and rename it, so that no reader sees a partial file.
    let aside = file.with_extension(format!("{}.part", std::process::id()));
    if fs::write(&aside, text).is_ok() {
        let _ = fs::rename(&aside, file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_follows_names_and_contents() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let digest = || of_tree(folder.path());
        let write =
            |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("writable");
        let empty = digest();
        write("a", "1");
        let one = digest();
        write("a", "2");
        let two = digest();
        fs::rename(folder.path().join("a"), folder.path().join("b")).expect("it is there");
        let renamed = digest();
        fs::create_dir(folder.path().join("target")).expect("writable");
        write("target/x", "built");
        assert_eq!(digest(), renamed);
        assert_eq!(BTreeSet::from([empty, one, two, renamed]).len(), 4);
    }

    /// A program that prints how often it has run.
    #[cfg(unix)]
    #[test]
    fn a_command_runs_again_when_what_it_reads_has_changed() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let root = folder.path();
        let program = root.join("target/debug/ladder");
        let write = |name: &str, text: &str| {
            let file = root.join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
            fs::write(file, text).expect("writable");
        };
        let counts = "#!/bin/sh\necho x >> count\nwc -l < count\n";
        write("target/debug/ladder", counts);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let runs = |command: &str| {
            let line: CommandLine = command.parse().expect("a command");
            let outputs = run_all(&Programs::of(root), root, BTreeSet::from([line.clone()]));
            outputs[&line]
                .as_ref()
                .expect("it runs")
                .text
                .trim()
                .to_owned()
        };
        assert_eq!(runs("cargo ladder a x.csv"), "1");
        assert_eq!(runs("cargo ladder a x.csv"), "1");
        assert_eq!(runs("cargo ladder b"), "2");
        for (what, count) in [
            ("rungs/1/kernel.cu", "3"),
            ("results/a.csv", "4"),
            ("x.csv", "5"),
        ] {
            write(what, "new");
            assert_eq!(runs("cargo ladder a x.csv"), count, "{what}");
            assert_eq!(runs("cargo ladder a x.csv"), count, "{what}");
        }
        write("target/debug/ladder", &format!("{counts}# changed\n"));
        assert_eq!(runs("cargo ladder a x.csv"), "6");
        write("book/src/page.md", "new");
        assert_eq!(runs("cargo ladder a x.csv"), "6");
    }
}
