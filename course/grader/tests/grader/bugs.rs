//! Kernels with a bug to find: they are almost always right, a change to one of the accepted lines fixes them, and a
//! student's size is judged by what the kernel does at it.
use std::fs;
use std::path::{Path, PathBuf};

use grader::grade::{BROKEN, Grader, sealed};
use harness::{Nvrtc, Source, Task, Trial, TrialLaunch, Values};
use serde::Deserialize;

use crate::grading::assignments;
use crate::support::{has_nvrtc, name, read, root};

/// `solution/mends.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mends {
    mend: Vec<Mend>,
}

/// A change to one line that fixes the broken kernel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mend {
    number: usize,
    /// Without leading blanks.
    line: String,
    with: String,
}

impl Mend {
    /// Its name.
    pub fn name(&self) -> String {
        format!("line {}: {}", self.number, self.with)
    }

    /// The broken kernel with this line changed.
    pub fn text(&self, assignment: &Path) -> String {
        let broken = read(&assignment.join(BROKEN));
        let changed = broken.lines().zip(1..).map(|(line, number)| {
            if number != self.number {
                return format!("{line}\n");
            }
            assert_eq!(line.trim(), self.line, "line {number}");
            format!("{}\n", self.with)
        });
        changed.collect()
    }
}

/// The fixes of an assignment; none if its kernel has no bug.
pub fn mends(assignment: &Path) -> Vec<Mend> {
    let path = assignment.join("solution/mends.toml");
    if !path.exists() {
        return Vec::new();
    }
    let mends: Mends = toml::from_str(&read(&path)).expect("mends");
    mends.mend
}

fn with_a_bug() -> Vec<PathBuf> {
    let mut all = assignments();
    all.retain(|folder| folder.join(BROKEN).is_file());
    assert!(!all.is_empty());
    all
}

fn diagnosis(assignment: &Path) -> toml::Table {
    let text = read(&assignment.join("solution/diagnosis.toml"));
    text.parse().expect("a diagnosis")
}

/// The grader's hashes are those of the solution's answers.
#[test]
fn a_bug_is_what_its_solution_says() {
    let path = root().join("course/grader/src/grade/bugs.toml");
    let known: toml::Table = read(&path).parse().expect("TOML");
    for assignment in with_a_bug() {
        let name = name(&assignment);
        let cause = diagnosis(&assignment)["cause"].as_str().map(str::to_owned);
        let cause = sealed(&name, "cause", &cause.expect("a name"));
        let lines = mends(&assignment);
        let lines = lines
            .iter()
            .map(|one| sealed(&name, "line", &one.number.to_string()));
        let lines: Vec<_> = lines.map(toml::Value::String).collect();
        let of = &known[&name];
        assert_eq!(of["cause"].as_str(), Some(&*cause), "{name}");
        assert_eq!(of["lines"].as_array(), Some(&lines), "{name}");
        let text = sealed(&name, "text", &read(&assignment.join(BROKEN)));
        assert_eq!(of["text"].as_str(), Some(&*text), "{name}");
    }
}

/// At every public size and with every tile it is right, and the sanitizer finds nothing.
#[test]
fn a_bug_does_not_show_at_public_sizes() {
    if !has_nvrtc() {
        return;
    }
    for assignment in with_a_bug() {
        let rubric = read(&assignment.join("rubric.toml"));
        let rubric: toml::Table = rubric.parse().expect("TOML");
        let arch = rubric.get("arch").and_then(|arch| arch.as_str());
        let broken = read(&assignment.join(BROKEN));
        let nvrtc = Nvrtc::find().expect("NVRTC");
        for tile in rubric["tile"].as_array().expect("tiles") {
            let sides = ["m", "n", "k"].map(|side| {
                let name = side.to_uppercase();
                format!("TILE_{name}={}", tile[side])
            });
            let arch = arch.unwrap_or("sm_80");
            let source = Source::compiled(BROKEN, &broken, arch, &sides, &nvrtc);
            let trial = Trial::new(source.expect("PTX"), Task::Gemm).expect("a kernel");
            for size in rubric["sizes"]["public"].as_array().expect("sizes") {
                let text = size.as_str().expect("a size");
                let on = TrialLaunch {
                    size: text.parse().expect("a size"),
                    values: Values::Random,
                    seed: 3,
                    schedule: 5,
                };
                let launched = trial.launch(&on).expect("a launch");
                let label = format!("{} {text} {sides:?}", assignment.display());
                assert!(launched.verification.ok(), "{label}");
                assert!(launched.run.findings.is_empty(), "{label}");
            }
        }
    }
}

#[test]
fn what_is_said_of_a_bug_is_judged() {
    if !has_nvrtc() {
        return;
    }
    for assignment in with_a_bug() {
        let compiler = || Ok(Box::new(Nvrtc::find()?) as Box<dyn harness::Compile>);
        let grader = Grader::new(&assignment, None, compiler).expect("a grader");
        let folder = tempfile::tempdir().expect("a folder");
        let kernel = folder.path().join("kernel.cu");
        // Only the diagnosis is checked.
        fs::write(&kernel, "no kernel").expect("a file");
        let right = diagnosis(&assignment);
        let with = |key: &str, value: &str| {
            let mut text = String::new();
            for (name, answer) in &right {
                let answer = answer.to_string();
                let answer = if name == key { value } else { &*answer };
                text += &format!("{name} = {answer}\n");
            }
            text
        };
        let long = format!("\"{}\"", "9x".repeat(100_000));
        for (text, points, says) in [
            (with("", ""), 40.0, "is right"),
            (
                with("size", "\"64x64x64\""),
                0.0,
                "the sanitizer finds nothing",
            ),
            (with("size", "\"0x1x1\""), 0.0, "is not a size"),
            (
                with("size", "\"9999x9999x9999\""),
                0.0,
                "the bug needs no more",
            ),
            (with("size", &long), 0.0, "is not a size"),
            (with("size", "7"), 0.0, "type integer"),
            (with("line", "1"), 30.0, "line 1 of broken.cu has no code"),
            (with("line", "16"), 30.0, "16 is not one of the lines"),
            (with("line", "-1"), 30.0, "no line -1"),
            (
                with("line", "9223372036854775807"),
                30.0,
                "no line 9223372036854775807",
            ),
            (with("line", "[1, 2]"), 30.0, "type array"),
            (
                with("cause", "\"gremlins\""),
                30.0,
                "is not one of missing-wait",
            ),
            (
                with("cause", "\"missing-fence\""),
                30.0,
                "missing-fence is not the cause",
            ),
            (with("cause", "3"), 30.0, "type integer"),
            (
                "why = 1\n".to_owned() + &with("", ""),
                40.0,
                "diagnosis.toml has \"why\", but only size, line, cause are read",
            ),
            (
                with("", "").replace("line =", "lime ="),
                30.0,
                "diagnosis.toml has \"lime\", but only size, line, cause are read",
            ),
            (
                format!("size = {}", "x".repeat(100_000)),
                0.0,
                "is not valid TOML",
            ),
        ] {
            fs::write(folder.path().join("diagnosis.toml"), &text).expect("a file");
            let grade = grader.grade(&kernel, "").expect("a grade");
            let shown = grade.text("book");
            let got = grade.points();
            assert!(
                (got - points).abs() < 1e-6,
                "{points} for\n{text:.200}\n{shown:.3000}"
            );
            assert!(shown.contains(says), "{says}\n{shown:.3000}");
        }
        fs::remove_file(folder.path().join("diagnosis.toml")).expect("a file");
        let grade = grader.grade(&kernel, "").expect("a grade");
        assert!(grade.text("book").contains("there is no diagnosis.toml"));
    }
}

/// Lines are those of the kernel as it was handed out.
#[test]
fn a_broken_kernel_that_was_edited_is_named() {
    if !has_nvrtc() {
        return;
    }
    for assignment in with_a_bug() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("a file");
        };
        let broken = read(&assignment.join(BROKEN));
        write("rubric.toml", &read(&assignment.join("rubric.toml")));
        write("diagnosis.toml", &diagnosis(&assignment).to_string());
        write("kernel.cu", "no kernel");
        let graded = |broken: &str| {
            write(BROKEN, broken);
            let compiler = || Ok(Box::new(Nvrtc::find()?) as Box<dyn harness::Compile>);
            let grader = Grader::new(folder.path(), None, compiler).expect("a grader");
            let grade = grader.grade(&folder.path().join("kernel.cu"), "");
            let grade = grade.expect("a grade");
            (grade.points(), grade.text("book"))
        };
        // The ends of lines do not count.
        let (points, text) = graded(&broken.replace('\n', "\r\n"));
        assert!((points - 40.0).abs() < 1e-6, "{text}");
        let (points, text) = graded(&format!("// mine\n{broken}"));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(points < 1e-6 && text.contains("git checkout"), "{text}");
    }
}

/// A line longer than any table, in the answers and in a rubric.
#[test]
fn long_lines_of_toml_are_refused_in_few_words() {
    if !has_nvrtc() {
        return;
    }
    let long = format!("size = {}", "x".repeat(1 << 17));
    for assignment in with_a_bug() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("a file");
        };
        write("kernel.cu", "no kernel");
        write("diagnosis.toml", &long);
        let compiler = || Ok(Box::new(Nvrtc::find()?) as Box<dyn harness::Compile>);
        let grader = Grader::new(&assignment, None, compiler).expect("a grader");
        let grade = grader.grade(&folder.path().join("kernel.cu"), "");
        let text = grade.expect("a grade").text("book");
        assert!(
            text.contains("is not valid TOML") && text.len() < 20_000,
            "{}",
            text.len()
        );
        write("rubric.toml", &long);
        let error = Grader::new(folder.path(), None, compiler)
            .err()
            .expect("no rubric");
        assert!(format!("{error:#}").contains("is not a rubric"));
    }
}
