//! The parts of an assignment that students see: the task, the starting point, and the grading criteria. Never the
//! solution.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use super::files::{private, text};
use super::links::Book;
use super::tree::{ExportedFile, FileTree};
use crate::grade::rubric::Rubric;
use crate::grade::{BROKEN, reasons};
use crate::submission::name;

/// The folder of assignments, here and in the students' repository.
const FOLDER: &str = "course/assignments";

/// Extensions of an assignment's exported files. Subfolders are not exported.
const KINDS: [&str; 3] = ["cu", "md", "toml"];

/// The order in which assignments are taken, one name per line; it is not their numeric order.
pub const ORDER: &str = "course/assignments/order.txt";

/// Files that students submit, if the assignment provides them.
const HANDED_IN: [&str; 2] = ["kernel.cu", "answers.toml"];

/// One assignment.
pub struct Assignment {
    /// Name of its folder, such as `05_swizzle`.
    pub name: String,
    /// Title of its README, such as `05: write the swizzle`.
    title: String,
    /// Files by name.
    files: BTreeMap<String, String>,
}

/// The folder of each assignment, in order.
pub fn folders(root: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(root.join(FOLDER));
    let entries = entries.with_context(|| format!("there is no folder {FOLDER} here"))?;
    let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.join("rubric.toml").is_file());
    let order = text(root, ORDER)?;
    let place = |folder: &PathBuf| order.lines().position(|line| line == name(folder));
    folders.sort_by_key(|folder| (place(folder).unwrap_or(usize::MAX), folder.clone()));
    ensure!(!folders.is_empty(), "there is no assignment in {FOLDER}");
    Ok(folders)
}

/// All assignments, in order, as students receive them.
pub fn all(root: &Path) -> Result<Vec<Assignment>> {
    let folders = folders(root)?;
    folders.iter().map(|folder| read(root, folder)).collect()
}

fn read(root: &Path, folder: &Path) -> Result<Assignment> {
    let assignment = name(folder);
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        let kind = path.extension().and_then(|kind| kind.to_str());
        let regular = entry.file_type().is_ok_and(|kind| kind.is_file());
        let file = name(&path);
        if !regular || !kind.is_some_and(|kind| KINDS.contains(&kind)) || private(&file) {
            continue;
        }
        let place = format!("{FOLDER}/{assignment}/{file}");
        let text = text(root, &place)?;
        ensure!(
            kind != Some("cu") || !text.contains("//:"),
            "{place} contains the markers of a solution: regenerate it with `cargo ladder starters`"
        );
        files.insert(file, text);
    }
    if let (Some(broken), false) = (files.get(BROKEN), files.contains_key("kernel.cu")) {
        files.insert("kernel.cu".into(), broken.clone());
    }
    let readme = files.get("README.md");
    let title = readme.and_then(|text| text.lines().next()?.strip_prefix("# "));
    let no_title = || format!("{FOLDER}/{assignment}/README.md does not begin with `# `");
    Ok(Assignment {
        title: title.with_context(no_title)?.to_owned(),
        name: assignment,
        files,
    })
}

impl Assignment {
    /// Adds its files.
    pub fn add(&self, book: &Book, tree: &mut FileTree) -> Result<()> {
        for (name, text) in &self.files {
            let text = match name.as_str() {
                // The command in its first lines.
                "kernel.cu" => self.in_place(text),
                name if name.ends_with(".md") => self.in_place(&book.linked(text)),
                _ => text.clone(),
            };
            tree.text(&format!("{FOLDER}/{}/{name}", self.name), &text);
        }
        Ok(())
    }

    /// A README that lets readers change the submitted file itself instead of a copy, because that file is graded when
    /// they push.
    fn in_place(&self, readme: &str) -> String {
        let copies = |line: &&str| line.starts_with("cp course/assignments/");
        let lines = readme.lines().filter(|line| !copies(line));
        let mut text: String = lines.map(|line| format!("{line}\n")).collect();
        for file in HANDED_IN {
            let place = format!("{FOLDER}/{}/{file}", self.name);
            text = text.replace(&format!("my_{file}"), &place);
        }
        text
    }

    /// The text of a file.
    pub fn file(&self, name: &str) -> Option<&str> {
        self.files.get(name).map(String::as_str)
    }
}

/// The explanations of all predictions' answers, as students get them.
pub fn encrypted_reasons(assignments: &[Assignment]) -> Result<String> {
    let rubrics = assignments.iter().filter_map(|one| one.file("rubric.toml"));
    let rubrics: Result<Vec<_>> = rubrics.map(Rubric::parse).collect();
    reasons::encrypted(&rubrics?)
}

/// The files around the assignments: what students read first, how grading works, where it runs.
pub fn templates(assignments: &[Assignment], book: &Book, tree: &mut FileTree) {
    let rows = assignments.iter().map(|one| {
        let (number, title) = one.title.split_once(": ").unwrap_or(("", &one.title));
        let readme = format!("{FOLDER}/{}/README.md", one.name);
        format!("| {number} | [{title}]({readme}) |")
    });
    let readme = include_str!("templates/README.md")
        .replace("{{ASSIGNMENTS}}", &rows.collect::<Vec<_>>().join("\n"))
        .replace("{{BOOK}}", &format!("{}/index.html", book.place()));
    let config = include_str!("templates/config.toml").replace("{{BOOK}}", book.place());
    let workflow = include_str!("templates/grade.yml");
    let container = include_str!("templates/devcontainer.json");
    for (path, text) in [
        ("README.md", &*readme),
        (".cargo/config.toml", &config),
        (".gitignore", include_str!("templates/gitignore")),
        (".gitattributes", include_str!("templates/gitattributes")),
        (".github/workflows/grade.yml", workflow),
        (".devcontainer/devcontainer.json", container),
        (
            ".devcontainer/Dockerfile",
            include_str!("templates/Dockerfile"),
        ),
        (".github/handed_out.sha256", &handed_out(tree)),
    ] {
        tree.text(path, text);
    }
    tree.script(".github/grade.sh", include_str!("templates/grade.sh"));
}

/// The hashes of the files that students change, in sha256sum's format, so that the workflow can tell what was changed.
fn handed_out(tree: &FileTree) -> String {
    let begun = tree.files().filter(|(path, _)| {
        let name = path.rsplit('/').next().unwrap_or_default();
        path.starts_with(FOLDER) && HANDED_IN.contains(&name)
    });
    let hash = |file: &ExportedFile| harness::hex(&Sha256::digest(&file.bytes));
    let lines = begun.map(|(path, file)| format!("{}  {path}\n", hash(file)));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_change_what_they_hand_in() {
        let assignment = Assignment {
            name: "05_x".into(),
            title: String::new(),
            files: BTreeMap::new(),
        };
        let readme = "cp course/assignments/05_x/kernel.cu my_kernel.cu\ngrade course/assignments/05_x my_kernel.cu  # 1\nmy_own.csv\n";
        assert_eq!(
            assignment.in_place(readme),
            "grade course/assignments/05_x course/assignments/05_x/kernel.cu  # 1\nmy_own.csv\n"
        );
    }
}
