//! `cargo ladder course` in a workspace of its own: a grade counts as long as the file is unchanged.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const FOLDER: &str = "course/assignments/00_predict";

struct Workspace(TempDir);

impl Workspace {
    /// A workspace with the first assignment, which needs no compiler.
    fn new() -> Self {
        let workspace = Self(tempfile::tempdir().expect("a folder"));
        workspace.write("Cargo.toml", "");
        workspace.write("rungs/README.md", "");
        workspace.write("course/assignments/order.txt", "00_predict\n");
        for file in ["README.md", "rubric.toml", "answers.toml"] {
            let path = format!("{FOLDER}/{file}");
            workspace.write(&path, &ours(&path));
        }
        workspace
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    /// The output of a command.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text + &String::from_utf8_lossy(&output.stderr)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ladder"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("CARGO_MANIFEST_DIR")
            .output()
            .expect("ladder")
    }

    /// The line of the assignment.
    fn state(&self) -> String {
        let said = self.says(&["course"]);
        let line = said.lines().find(|line| line.contains(" 00: predict"));
        line.unwrap_or_else(|| panic!("{said}"))
            .trim_end()
            .to_owned()
    }
}

fn ours(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn an_open_assignment_is_not_an_error_and_a_missing_course_is() {
    let workspace = Workspace::new();
    assert_eq!(workspace.run(&["course"]).status.code(), Some(0));
    fs::remove_dir_all(workspace.at("course")).expect("the course");
    assert_eq!(workspace.run(&["course"]).status.code(), Some(2));
}

#[test]
fn a_grading_counts_as_long_as_the_file_is_the_same() {
    let workspace = Workspace::new();
    let said = workspace.says(&["course"]);
    assert!(
        said.starts_with("0 of 1 passed\n\n> 00: predict  not begun\n"),
        "{said}"
    );
    let copy = format!("  cp {FOLDER}/answers.toml my_answers.toml\n");
    assert!(said.contains(&copy), "{said}");

    let right = ours(&format!("{FOLDER}/solution/answers.toml"));
    workspace.write("my_answers.toml", &right);
    workspace.says(&["grade", FOLDER, "my_answers.toml"]);
    assert_eq!(
        workspace.state(),
        "x 00: predict  passed, 100 of 100 points"
    );
    workspace.write("my_answers.toml", "# none\n");
    assert_eq!(
        workspace.state(),
        "> 00: predict  to be graded again; it had 100 points, which passed"
    );
    workspace.says(&["course", "--grade"]);
    assert_eq!(
        workspace.state(),
        "> 00: predict  not passed, 0 of 100 points; an earlier version had 100"
    );
    fs::remove_file(workspace.at("my_answers.toml")).expect("a file");
    assert_eq!(workspace.state(), "> 00: predict  not begun");
}

/// Students change the files in place, and hashes identify their versions.
#[test]
fn in_an_exported_course_files_are_changed_in_their_place() {
    let workspace = Workspace::new();
    let file = format!("{FOLDER}/answers.toml");
    let handed_out = grader_hash(&ours(&file));
    workspace.write(
        ".github/handed_out.sha256",
        &format!("{handed_out}  {file}\n"),
    );
    let said = workspace.says(&["course"]);
    let command = format!("then\n  cargo ladder grade --watch {FOLDER} {file}\n");
    assert!(
        said.contains(&command) && said.contains("not begun"),
        "{said}"
    );
    workspace.write(&file, &ours(&format!("{FOLDER}/solution/answers.toml")));
    assert_eq!(workspace.state(), "> 00: predict  begun, not graded");
    workspace.says(&["course", "--grade"]);
    assert_eq!(
        workspace.state(),
        "x 00: predict  passed, 100 of 100 points"
    );
    // A file elsewhere does not replace it.
    workspace.write("other.toml", &ours(&file));
    workspace.run(&["grade", FOLDER, "other.toml"]);
    assert_eq!(
        workspace.state(),
        "x 00: predict  passed, 100 of 100 points"
    );
    // Another rubric could give other points.
    let rubric = format!("{FOLDER}/rubric.toml");
    workspace.write(&rubric, &ours(&rubric).replace("pass = 80", "pass = 81"));
    assert_eq!(
        workspace.state(),
        "> 00: predict  to be graded again; it had 100 points, which passed"
    );
}

fn grader_hash(text: &str) -> String {
    use sha2::{Digest, Sha256};
    harness::hex(&Sha256::digest(text))
}
