//! What pages need to run a command themselves: the command's words beside its output, and the files that it reads, as
//! scripts that a page loads on demand.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use html_escape::encode_double_quoted_attribute as escape;
use serde_json::{Value, json};
use transcript::{CommandLine, Lines};

use crate::world::World;

/// The subcommands of `cargo ladder` that a page can run.
const OF_LADDER: [&str; 4] = ["layout", "banks", "round", "approximate"];

/// Kernels, the differences of their sources from the rungs', and tables; each is a bundle. A kernel includes its
/// machine code, if it exists.
const FILES: [(&str, &str); 5] = [
    ("book/kernels", "ptx"),
    (STAGES, "ptx"),
    ("book/kernels", "json"),
    ("book/accesses", "csv"),
    ("book/data", "csv"),
];

/// Kernels of this rung with other numbers of stages.
const STAGES: &str = "book/kernels/06_pipeline";

/// Folders in which each subfolder is a bundle of kernels.
const FOLDERS: [&str; 2] = ["rungs", "book/labs"];

/// The attribute with which a page runs a command itself; empty if it cannot.
pub fn data(world: &World, command: &CommandLine, lines: &Lines) -> String {
    let found = described(world, command).map(|mut data| {
        if *lines != Lines::default() {
            data["lines"] = json!(lines);
        }
        data
    });
    attribute(found)
}

/// The same if the book shows only some of the lines: a page prints all of them.
pub fn data_of_some_lines(world: &World, command: &CommandLine) -> String {
    let found = described(world, command).map(|mut data| {
        data["whole"] = json!(true);
        data
    });
    attribute(found)
}

fn attribute(data: Option<Value>) -> String {
    data.map_or_else(String::new, |data| {
        format!(" data-run=\"{}\"", escape(&data.to_string()))
    })
}

/// The attributes that a page needs to run it.
fn described(world: &World, command: &CommandLine) -> Option<Value> {
    let bundles = bundles(world.root(), command)?;
    let head: &[&str] = match command.package.as_str() {
        "ladder" => &["cargo", "ladder"],
        package => &["cargo", "run", "-p", package],
    };
    let separator = (command.package != "ladder" && !command.arguments.is_empty()).then_some("--");
    let words = head.iter().copied().chain(separator);
    let words = words.chain(command.arguments.iter().map(String::as_str));
    let mut data = json!({ "words": words.collect::<Vec<_>>(), "bundles": bundles });
    let kernels = kernels(world, command);
    if !kernels.is_empty() {
        data["kernels"] = json!(kernels);
    }
    if command
        .arguments
        .first()
        .is_some_and(|word| word == "banks")
    {
        data["table"] = json!(command.arguments.get(1));
    }
    Some(data)
}

/// The bundles of a command; none if it does not run in a page.
fn bundles(root: &Path, command: &CommandLine) -> Option<Vec<String>> {
    let words = &command.arguments;
    if words
        .iter()
        .any(|word| word == "--help" || word == "--json")
    {
        return None;
    }
    let mut bundles = Vec::new();
    match command.package.as_str() {
        "ladder" if OF_LADDER.contains(&words.first()?.as_str()) => {}
        "labs" => bundles.push(format!("book/labs/{}", words.first()?)),
        package => {
            let rung = format!("rungs/{}", package.strip_prefix("rung")?);
            root.join(&rung).is_dir().then_some(())?;
            bundles.push(rung);
        }
    }
    let is_file = |word: &&String| {
        let path = Path::new(word);
        FILES.iter().any(|(folder, ending)| {
            path.parent() == Some(Path::new(folder)) && has_ending(path, ending)
        })
    };
    bundles.extend(words.iter().filter(is_file).cloned());
    Some(bundles)
}

/// The book's kernels for this program: those that a command in the book passes to it, and those in a folder with the
/// rung's name.
fn kernels(world: &World, command: &CommandLine) -> Vec<String> {
    let same = world
        .commands()
        .filter(|other| other.package == command.package);
    let given = same.filter_map(|other| {
        let mut words = other.arguments.iter();
        words.find(|word| *word == "--kernel")?;
        words.next().cloned()
    });
    let mut kernels: Vec<String> = given
        .filter(|kernel| kernel.starts_with("book/kernels/"))
        .collect();
    let rung = command.package.strip_prefix("rung").unwrap_or_default();
    if STAGES.ends_with(&format!("/{rung}")) {
        let files = entries(world.root(), Path::new(STAGES)).unwrap_or_default();
        let ptx = files.iter().filter(|file| has_ending(file, "ptx"));
        kernels.extend(ptx.map(|file| slashes(file)));
    }
    kernels.sort();
    kernels.dedup();
    kernels
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

/// A path with `/`, also on Windows.
fn slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Writes all bundles below `live/files` of the book's sources, from where mdBook copies them. Up-to-date bundles are
/// not touched, so that `mdbook serve` does not see a change.
pub fn write_bundles(root: &Path, sources: &Path) -> Result<()> {
    for (name, files) in all_bundles(root)? {
        let mut texts = BTreeMap::new();
        for file in files {
            let text = fs::read_to_string(root.join(&file));
            let text = text.with_context(|| format!("cannot read {}", file.display()))?;
            texts.insert(slashes(&file), text);
        }
        let script = format!(
            "globalThis.gemm.live.arrived({}, {});\n",
            json!(name),
            json!(texts)
        );
        let path = sources.join(format!("live/files/{name}.js"));
        if fs::read_to_string(&path).is_ok_and(|found| found == script) {
            continue;
        }
        let folder = path.parent().unwrap_or(sources);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, script))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Names, and the files of each.
fn all_bundles(root: &Path) -> Result<Vec<(String, Vec<PathBuf>)>> {
    let mut bundles = Vec::new();
    for folder in FOLDERS {
        for inner in entries(root, Path::new(folder))? {
            if !root.join(&inner).is_dir() {
                continue;
            }
            let is_kernel = |path: &PathBuf| {
                let ending = path.extension().and_then(|ending| ending.to_str());
                ending.is_some_and(|ending| ["cu", "ptx", "sass"].contains(&ending))
            };
            let mut files = entries(root, &inner)?;
            files.retain(is_kernel);
            if !files.is_empty() {
                bundles.push((slashes(&inner), files));
            }
        }
    }
    for (folder, ending) in FILES {
        let files = entries(root, Path::new(folder))?;
        for file in files.iter().filter(|file| has_ending(file, ending)) {
            let code = file.with_extension("sass");
            let code = files.contains(&code).then_some(code);
            bundles.push((
                slashes(file),
                [file.clone()].into_iter().chain(code).collect(),
            ));
        }
    }
    Ok(bundles)
}

/// The entries of a folder, sorted; empty if it does not exist.
fn entries(root: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let read = match fs::read_dir(root.join(folder)) {
        Ok(read) => read,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", folder.display()));
        }
    };
    let mut entries = Vec::new();
    for entry in read {
        entries.push(folder.join(entry?.file_name()));
    }
    entries.sort();
    Ok(entries)
}
