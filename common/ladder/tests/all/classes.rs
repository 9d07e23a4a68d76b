//! `cargo ladder grade --class` and `--regrade`, on answers, which need no compiler.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn assignment() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../course/assignments/00_predict")
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

/// A folder for each student, with the files that the student handed in.
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
fn every_student_has_a_grade_whatever_others_submit() {
    let class = class();
    let output = ladder(&["--class"], &[&assignment(), class.path()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = grades(class.path());
    let column = |at: usize| -> Vec<&str> { rows.iter().map(|row| row[at].as_str()).collect() };
    // A name that a spreadsheet would interpret as a formula is quoted.
    assert_eq!(column(0), ["'-bob", "ada", "cyd", "dee"]);
    assert_eq!(column(3), ["false", "true", "false", "false"]);
    let points: Vec<f64> = column(1)
        .iter()
        .map(|of| of.parse().expect("points"))
        .collect();
    assert!(0.0 < points[0] && points[0] < 80.0, "{points:?}");
    assert_eq!(points[1..], [100.0, 0.0, 0.0]);
    assert!(column(4)[3].contains("There is no answers.toml (nothing was handed in)"));
    assert!(class.path().join("cyd/grade.json").is_file());
    assert!(!class.path().join("dee/grade.json").exists());
    let said = text(&output.stdout);
    assert!(said.contains("3 graded, 1 failed to be graded"), "{said}");
}

#[test]
fn a_class_graded_again_lists_who_changed_and_why() {
    let class = class();
    let again = || text(&ladder(&["--regrade"], &[&assignment(), class.path()]).stdout);
    let nothing = ladder(&["--regrade"], &[&assignment(), class.path()]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("grade the class first"));

    ladder(&["--class"], &[&assignment(), class.path()]);
    assert!(again().contains("0 of 3 grades changed"), "{}", again());

    let ada = class.path().join("ada/answers.toml");
    fs::copy(class.path().join("-bob/answers.toml"), &ada).expect("a file");
    let said = again();
    assert!(
        said.contains("ada: 100 -> ") && said.contains("(another submission)"),
        "{said}"
    );
    assert!(said.contains("1 of 3 grades changed"), "{said}");
    // Nothing was written.
    assert_eq!(said, again());

    // One submission that cannot be compared does not affect the others.
    fs::write(class.path().join("-bob/grade.json"), "{}").expect("a file");
    let said = again();
    assert!(
        said.contains("-bob: not compared: ") && said.contains("grade the class again"),
        "{said}"
    );
    assert!(said.contains("ada: 100 -> "), "{said}");
    assert!(
        said.contains(
            "1 of 2 grades changed; 1 could not be compared, 1 have no grade yet; nothing"
        ),
        "{said}"
    );
}

#[test]
fn what_is_wrong_for_everybody_leaves_old_grades_alone() {
    let class = class();
    ladder(&["--class"], &[&assignment(), class.path()]);
    let grade = class.path().join("ada/grade.json");
    let before = fs::read(&grade).expect("a grade");
    let short = class.path().join("short");
    fs::write(&short, "guess").expect("a file");
    let nowhere = class.path().join("nowhere");
    for way in ["--class", "--regrade"] {
        for (words, folders, why) in [
            (
                &[way][..],
                &[nowhere.as_path(), class.path()][..],
                "name the folder of an assignment",
            ),
            (
                &[way, "--secret"],
                &[&assignment(), class.path(), &nowhere],
                "`--secret` names a file",
            ),
            (
                &[way, "--secret"],
                &[&assignment(), class.path(), &short],
                "which can be guessed",
            ),
        ] {
            let output = ladder(words, folders);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(why), "{said}");
            assert_eq!(fs::read(&grade).expect("the old grade"), before);
        }
    }
}

#[test]
fn one_bad_folder_does_not_stop_the_others() {
    let class = class();
    fs::create_dir(class.path().join("-bob/grade.json")).expect("a folder");
    let output = ladder(&["--class"], &[&assignment(), class.path()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = grades(class.path());
    assert!(rows[0][4].contains("cannot be written to"), "{:?}", rows[0]);
    assert_eq!(rows[1][1], "100");
    assert!(class.path().join("ada/grade.json").is_file());
    let said = text(&output.stdout);
    assert!(said.contains("2 graded, 2 failed to be graded"), "{said}");
    let said = text(&ladder(&["--regrade"], &[&assignment(), class.path()]).stdout);
    assert!(said.contains("-bob: not compared: cannot read"), "{said}");
}

#[test]
fn answers_of_another_name_count() {
    let class = class();
    let ada = class.path().join("ada");
    fs::rename(ada.join("answers.toml"), ada.join("my_answers.toml")).expect("a file");
    for other in ["._my_answers.toml", "prediction.toml", "._my.cu", "my.cu"] {
        fs::write(ada.join(other), "").expect("a file");
    }
    ladder(&["--class"], &[&assignment(), class.path()]);
    let rows = grades(class.path());
    assert_eq!(rows[1][1], "100", "{:?}", rows[1]);
}

#[test]
fn a_quoted_line_does_not_steer_the_terminal() {
    let class = class();
    let cyd = class.path().join("cyd/answers.toml");
    fs::write(&cyd, "= \u{1b}[2J\u{9b}H no TOML").expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
    // As on a terminal, where escape sequences are not removed.
    command.env("CLICOLOR_FORCE", "1").arg("grade");
    let output = command.arg(assignment()).arg(&cyd).output();
    let said = text(&output.expect("the ladder runs").stdout);
    assert!(said.contains("\u{fffd}[2J\u{fffd}H no TOML"), "{said:?}");
    assert!(!said.contains(['\u{1b}', '\u{9b}']), "{said:?}");
}

#[test]
fn links_have_one_slash() {
    let class = class();
    let bob = class.path().join("-bob/answers.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
    command.arg("grade").arg(assignment()).arg(&bob);
    let output = command.args(["--book", "https://x.example/"]).output();
    let said = text(&output.expect("the ladder runs").stdout);
    assert!(said.contains("https://x.example/mistakes.html#"), "{said}");
    assert!(!said.contains("example//"), "{said}");
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
    assert!(rows[3][4].contains("is not a plain file"), "{:?}", rows[3]);
}

#[cfg(unix)]
#[test]
fn a_linked_folder_has_a_row_that_says_so() {
    let class = class();
    let elsewhere = tempfile::tempdir().expect("a folder");
    fs::copy(
        class.path().join("ada/answers.toml"),
        elsewhere.path().join("answers.toml"),
    )
    .expect("a file");
    fs::write(elsewhere.path().join("grade.json"), "theirs").expect("a file");
    for (to, name) in [(elsewhere.path(), "eve"), (Path::new("nowhere"), "fay")] {
        std::os::unix::fs::symlink(to, class.path().join(name)).expect("a link");
    }
    let output = ladder(&["--class"], &[&assignment(), class.path()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = grades(class.path());
    for (row, name) in rows[4..].iter().zip(["eve", "fay"]) {
        assert_eq!(row[0], name);
        assert!(row[4].contains("is a link"), "{row:?}");
    }
    assert_eq!(rows.len(), 6);
    let theirs = fs::read_to_string(elsewhere.path().join("grade.json"));
    assert_eq!(theirs.expect("it is there"), "theirs");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn public_questions_have_no_autograder() {
    let folder = tempfile::tempdir().expect("a folder");
    // The first bytes of an executable for Gradescope, and a version that it requires.
    let mut elf = b"\x7fELF\x02\x01".to_vec();
    elf.resize(18, 0);
    elf.extend(b"\x3e\0\0GLIBC_2.34\0");
    fs::write(folder.path().join("ladder"), elf).expect("a file");
    fs::write(folder.path().join("secret"), [7; 16]).expect("a file");
    let export = |out: &str, secret: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
        let output = command
            .args(["export-course", &format!("{out}-course")])
            .args(["--book", "https://x.example/", "--ladder", "ladder"])
            .args(["--gradescope", out])
            .args(secret)
            .current_dir(folder.path())
            .output()
            .expect("the ladder runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let zip = |name: &str| folder.path().join(out).join(name).exists();
        assert!(zip("05_swizzle.zip"));
        (zip("00_predict.zip"), text(&output.stdout))
    };
    let (made, said) = export("public", &[]);
    assert!(!made);
    assert!(
        said.contains("no autograder for 00_predict: without --secret"),
        "{said}"
    );
    let (made, said) = export("secret-zips", &["--secret", "secret"]);
    assert!(made && !said.contains("no autograder"), "{said}");
}

#[test]
fn a_folder_without_students_is_an_error() {
    let empty = tempfile::tempdir().expect("a folder");
    let output = ladder(&["--class"], &[&assignment(), empty.path()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("make one for each student"));
}
