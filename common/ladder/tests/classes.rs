//! `cargo ladder grade --class` and `--regrade`, on answers, which take no compiler.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn assignment() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assignments/00_predict")
}

fn ladder(words: &[&str], folders: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
    command.arg("grade").arg(folders[0]);
    for (word, folder) in words.iter().zip(&folders[1..]) {
        command.arg(word).arg(folder);
    }
    command.output().expect("the ladder runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder for each student, with what they handed in.
fn class() -> TempDir {
    let class = tempfile::tempdir().expect("a folder");
    let right = fs::read_to_string(assignment().join("solution/answers.toml")).expect("answers");
    let some_wrong = right.replace("wavefronts = ", "wavefronts = 1");
    assert_ne!(right, some_wrong);
    for (student, answers) in [
        ("ada", Some(right.as_str())),
        ("-bob", Some(some_wrong.as_str())),
        ("cyd", Some("= no TOML")),
        ("dee", None),
    ] {
        let folder = class.path().join(student);
        fs::create_dir(&folder).expect("a folder");
        if let Some(answers) = answers {
            fs::write(folder.join("answers.toml"), answers).expect("a file");
        }
    }
    class
}

fn grades(class: &Path) -> Vec<Vec<String>> {
    let mut csv = csv::Reader::from_path(class.join("grades.csv")).expect("grades");
    let rows = csv.records().map(|row| row.expect("a row"));
    rows.map(|row| row.iter().map(str::to_owned).collect())
        .collect()
}

#[test]
fn everybody_has_a_grade_whatever_others_handed_in() {
    let class = class();
    let output = ladder(&["--class"], &[&assignment(), class.path()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = grades(class.path());
    let column = |at: usize| -> Vec<&str> { rows.iter().map(|row| row[at].as_str()).collect() };
    assert_eq!(column(0), ["-bob", "ada", "cyd", "dee"]);
    assert_eq!(column(3), ["false", "true", "false", "false"]);
    let points: Vec<f64> = column(1)
        .iter()
        .map(|of| of.parse().expect("points"))
        .collect();
    assert!(0.0 < points[0] && points[0] < 80.0, "{points:?}");
    assert_eq!(points[1..], [100.0, 0.0, 0.0]);
    assert!(column(4)[3].contains("no .cu file and no answers.toml"));
    assert!(class.path().join("cyd/grade.json").is_file());
    assert!(!class.path().join("dee/grade.json").exists());
    let said = text(&output.stdout);
    assert!(said.contains("3 graded, 1 could not be"), "{said}");
}

#[test]
fn a_class_graded_again_lists_who_changed_and_why() {
    let class = class();
    let again = || text(&ladder(&["--regrade"], &[&assignment(), class.path()]).stdout);
    let nothing = ladder(&["--regrade"], &[&assignment(), class.path()]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("grade the class first"));

    ladder(&["--class"], &[&assignment(), class.path()]);
    assert!(again().contains("0 of 3 have another grade"), "{}", again());

    let ada = class.path().join("ada/answers.toml");
    fs::copy(class.path().join("-bob/answers.toml"), &ada).expect("a file");
    let said = again();
    assert!(
        said.contains("ada: 100 -> ") && said.contains("(another submission)"),
        "{said}"
    );
    assert!(said.contains("1 of 3 have another grade"), "{said}");
    // Nothing was written.
    assert_eq!(said, again());

    fs::write(class.path().join("ada/grade.json"), "{}").expect("a file");
    let broken = ladder(&["--regrade"], &[&assignment(), class.path()]);
    assert_eq!(broken.status.code(), Some(2));
    assert!(text(&broken.stderr).contains("is no grade; `--class` writes it anew"));
}

#[test]
fn another_rubric_is_a_reason() {
    let class = class();
    let harder = tempfile::tempdir().expect("a folder");
    let rubric = fs::read_to_string(assignment().join("rubric.toml")).expect("a rubric");
    let other = rubric.replacen("prediction = 100", "prediction = 50", 1);
    assert_ne!(rubric, other);
    fs::write(harder.path().join("rubric.toml"), other).expect("a file");
    ladder(&["--class"], &[&assignment(), class.path()]);
    let said = text(&ladder(&["--regrade"], &[harder.path(), class.path()]).stdout);
    assert!(said.contains("ada: 100 -> 50 (another rubric)"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed() {
    let class = class();
    let host = class.path().join("host.toml");
    fs::write(&host, "the host's own line").expect("a file");
    let dee = class.path().join("dee");
    std::os::unix::fs::symlink(&host, dee.join("answers.toml")).expect("a link");
    std::os::unix::fs::symlink(&host, dee.join("grade.json")).expect("a link");
    let output = ladder(&["--class"], &[&assignment(), class.path()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(
        fs::read_to_string(&host).expect("it is there"),
        "the host's own line"
    );
    assert!(!text(&output.stdout).contains("the host's own line"));
    let rows = grades(class.path());
    assert!(rows[3][4].contains("is no plain file"), "{:?}", rows[3]);
}

#[test]
fn a_folder_without_students_is_an_error() {
    let empty = tempfile::tempdir().expect("a folder");
    let output = ladder(&["--class"], &[&assignment(), empty.path()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("make one for each student"));
}
