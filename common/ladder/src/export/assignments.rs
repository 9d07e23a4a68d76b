//! What a student sees of an assignment: the task, what to begin with, and what counts. Never the solution.
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use super::files::{private, text};
use super::links::Book;
use super::tree::Tree;
use harness::hex;

/// Endings of the files of an assignment's folder. Folders in it stay here.
const KINDS: [&str; 3] = ["cu", "md", "toml"];

/// What students hand in, if the assignment has them to begin with; a kernel counts before answers.
const HANDED_IN: [&str; 2] = ["kernel.cu", "answers.toml"];

/// One assignment.
pub struct Assignment {
    /// Of its folder, such as `05_swizzle`.
    pub name: String,
    /// Of its README, such as `05: write the swizzle`.
    title: String,
    /// By name.
    files: Vec<(String, String)>,
}

/// All of them, in order.
pub fn all(root: &Path) -> Result<Vec<Assignment>> {
    let folder = root.join("assignments");
    let entries = fs::read_dir(&folder).context("there is no folder assignments/ here")?;
    let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.join("rubric.toml").is_file());
    folders.sort();
    ensure!(
        !folders.is_empty(),
        "there is no assignment in assignments/"
    );
    folders.iter().map(|folder| read(root, folder)).collect()
}

fn read(root: &Path, folder: &Path) -> Result<Assignment> {
    let name = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.map(str::to_owned)
            .with_context(|| format!("{}: not a name for all systems", path.display()))
    };
    let assignment = name(folder)?;
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        let kind = path.extension().and_then(|kind| kind.to_str());
        let regular = entry.file_type().is_ok_and(|kind| kind.is_file());
        let file = name(&path)?;
        if !regular || !kind.is_some_and(|kind| KINDS.contains(&kind)) || private(&file) {
            continue;
        }
        let place = format!("assignments/{assignment}/{file}");
        let text = text(root, &place)?;
        ensure!(
            kind != Some("cu") || !text.contains("//:"),
            "{place} has the markers of a solution: `cargo ladder starters` makes it without"
        );
        files.push((file, text));
    }
    files.sort();
    let readme = files.iter().find(|(name, _)| name == "README.md");
    let title = readme.and_then(|(_, text)| text.lines().next()?.strip_prefix("# "));
    let title = title
        .with_context(|| format!("assignments/{assignment}/README.md does not begin with `# `"))?
        .to_owned();
    Ok(Assignment {
        name: assignment,
        title,
        files,
    })
}

impl Assignment {
    /// Its files.
    pub fn add(&self, book: &Book, tree: &mut Tree) -> Result<()> {
        for (name, text) in &self.files {
            let text = match name.ends_with(".md") {
                true => self.in_place(&book.linked(text)),
                false => text.clone(),
            };
            tree.text(&format!("assignments/{}/{name}", self.name), &text);
        }
        Ok(())
    }

    /// A README that has its readers change what is handed in, not a copy: what they push under that name is graded.
    fn in_place(&self, readme: &str) -> String {
        let mut text = String::new();
        for line in readme
            .lines()
            .filter(|line| !line.starts_with("cp assignments/"))
        {
            let mut line = line.to_owned();
            for file in HANDED_IN {
                let place = format!("assignments/{}/{file}", self.name);
                line = line.replace(&format!("my_{file}"), &place);
            }
            text += &line;
            text.push('\n');
        }
        text
    }

    /// The file that is graded: a kernel, or answers.
    pub fn handed_in(&self) -> &'static str {
        let has = |name: &&str| self.file(name).is_some();
        HANDED_IN.into_iter().find(has).unwrap_or(HANDED_IN[0])
    }

    /// The text of one of them.
    pub fn file(&self, name: &str) -> Option<&str> {
        let found = self.files.iter().find(|(file, _)| file == name);
        found.map(|(_, text)| text.as_str())
    }
}

/// What is around the assignments: what a student reads first, how it is graded, where it runs.
pub fn templates(assignments: &[Assignment], book: &Book, tree: &mut Tree) {
    let rows = assignments.iter().map(|one| {
        let (number, title) = one.title.split_once(": ").unwrap_or(("", &one.title));
        format!(
            "| {number} | [{title}](assignments/{}/README.md) |",
            one.name
        )
    });
    let readme = include_str!("templates/README.md")
        .replace("{{ASSIGNMENTS}}", &rows.collect::<Vec<_>>().join("\n"))
        .replace("{{BOOK}}", &format!("{}/index.html", book.place()));
    tree.text("README.md", &readme);
    let config = include_str!("templates/config.toml").replace("{{BOOK}}", book.place());
    tree.text(".cargo/config.toml", &config);
    tree.text(".gitignore", include_str!("templates/gitignore"));
    tree.text(".gitattributes", include_str!("templates/gitattributes"));
    tree.text(
        ".github/workflows/grade.yml",
        include_str!("templates/grade.yml"),
    );
    tree.script(".github/grade.sh", include_str!("templates/grade.sh"));
    tree.text(".github/handed_out.sha256", &handed_out(tree));
    let container = [
        (
            "devcontainer.json",
            include_str!("templates/devcontainer.json"),
        ),
        ("Dockerfile", include_str!("templates/Dockerfile")),
    ];
    for (name, text) in container {
        tree.text(&format!(".devcontainer/{name}"), text);
    }
}

/// The hashes of what students change, as sha256sum has them, so that the workflow knows what was changed.
fn handed_out(tree: &Tree) -> String {
    let begun = tree.files().filter(|(path, _)| {
        let name = path.rsplit('/').next().unwrap_or_default();
        path.starts_with("assignments/") && HANDED_IN.contains(&name)
    });
    begun
        .map(|(path, file)| format!("{}  {path}\n", hex(&Sha256::digest(&file.bytes))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_change_what_they_hand_in() {
        let assignment = Assignment {
            name: "05_x".into(),
            title: String::new(),
            files: Vec::new(),
        };
        let readme = "cp assignments/05_x/kernel.cu my_kernel.cu\ngrade assignments/05_x my_kernel.cu  # 1\nmy_own.csv\n";
        assert_eq!(
            assignment.in_place(readme),
            "grade assignments/05_x assignments/05_x/kernel.cu  # 1\nmy_own.csv\n"
        );
    }
}
