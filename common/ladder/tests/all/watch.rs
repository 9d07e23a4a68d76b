//! `grade --watch` as a student uses it, without a terminal: the program is started on a copy, the copy is changed,
//! the output changes, and `q` ends it.
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use harness::Nvrtc;
use tempfile::TempDir;

const LADDER: &str = env!("CARGO_BIN_EXE_ladder");

/// A launch may have to wait for other tests; its time is not measured here.
const LONGEST: Duration = Duration::from_secs(60);

/// A running `grade --watch`.
struct Student {
    folder: TempDir,
    file: PathBuf,
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    /// All lines so far.
    seen: Vec<String>,
}

impl Student {
    /// Starts it with this text in a file of this name.
    fn begins(assignment: &str, name: &str, text: &str, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(name);
        fs::write(&file, text).expect("a file");
        let mut child = Command::new(LADDER)
            .current_dir(root())
            .args(["grade", "--watch"])
            .args(more)
            .arg(Path::new("course/assignments").join(assignment))
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("ladder");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (to, lines) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(stdout.expect("a pipe")).lines();
            lines
                .map_while(Result::ok)
                .all(|line| to.send(line).is_ok())
        });
        Self {
            folder,
            file,
            child,
            stdin: stdin.expect("a pipe"),
            lines,
            seen: Vec::new(),
        }
    }

    /// Saves the file as many editors do: by renaming another file.
    fn saves(&self, text: &str) {
        let new = self.folder.path().join(".new");
        fs::write(&new, text).expect("a file");
        fs::rename(new, &self.file).expect("a file");
    }

    fn presses(&mut self, keys: &str) {
        writeln!(self.stdin, "{keys}").expect("a key");
    }

    /// Waits for a line with this text.
    fn sees(&mut self, text: &str) -> String {
        loop {
            match self.lines.recv_timeout(LONGEST) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(_) => panic!("no {text:?} in:\n{}", self.seen.join("\n")),
            }
        }
    }

    /// Ends it; returns all output.
    fn quits(mut self) -> String {
        self.presses("q");
        let status = self.child.wait().expect("an end");
        assert!(status.success(), "{status}");
        self.seen.extend(self.lines.iter());
        self.seen.join("\n")
    }
}

impl Drop for Student {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn root() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.ancestors().nth(2).expect("the workspace")
}

fn assignment(path: &str) -> String {
    let path = root().join("course/assignments").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn has_nvrtc() -> bool {
    let required = std::env::var("GEMM_REQUIRE_NVRTC").is_ok_and(|value| value == "1");
    let found = Nvrtc::find().is_ok();
    assert!(
        found || !required,
        "GEMM_REQUIRE_NVRTC=1, but there is no NVRTC"
    );
    if !found {
        let said = "skipped: no NVRTC (`cargo ladder get-nvrtc` fetches it)\n";
        let _ = std::io::stderr().write_all(said.as_bytes());
    }
    found
}

/// Needs no compiler.
#[test]
fn answers_are_graded_again_when_they_are_saved() {
    let answers = assignment("00_predict/solution/answers.toml");
    let question = answers.find("[q01]").expect("a question");
    let number = question + answers[question..].find(" = ").expect("an answer") + 3;
    let end = number + answers[number..].find('\n').expect("a line");
    let wrong = format!("{}1000{}", &answers[..number], &answers[end..]);
    let mut student = Student::begins("00_predict", "answers.toml", &wrong, &[]);
    student.sees("00_predict, answers.toml: 97.5 of 100 points, passed");
    student.saves(&answers);
    student.sees("newly right: q01");
    student.sees("nothing is wrong");
    student.presses("h");
    student.sees("hint 1 of 3: Which lanes are served together");
    student.presses("p");
    student.sees("nothing is launched in this assignment");
    student.quits();
}

#[test]
fn a_kernel_is_launched_again_when_it_is_saved() {
    if !has_nvrtc() {
        return;
    }
    let starter = assignment("05_swizzle/kernel.cu");
    let mut student = Student::begins("05_swizzle", "my.cu", &starter, &[]);
    student.sees("at the public sizes");
    student.sees("line 121: ldmatrix(regA[m], &As[place(row, chunk)]);");
    student.sees("55 of 100 points, 90 pass");
    student.presses("p");
    student.sees("  256 / 64");
    student.presses("p");
    student.saves(&starter.replace("chunk * CHUNK;", "(chunk ^ (row & 1)) * CHUNK;"));
    student.sees("35 of 80 points at the public sizes");
    student.saves(&assignment("05_swizzle/solution/kernel.cu"));
    student.sees("newly right: mechanism");
    student.sees("90 of 100 points, passed");
    student.presses("a");
    student.sees("with tile 2 (32x32x32): right");
    student.presses("a");
    student.saves("not a kernel");
    student.sees("nothing was launched");
    student.sees("my.cu does not compile");
    student.sees("my.cu(1): error");
    let solution = assignment("05_swizzle/solution/kernel.cu");
    student.saves(&solution);
    student.sees("no item has changed between right and wrong");
    fs::remove_file(&student.file).expect("a file");
    student.sees("my.cu has been removed");
    // The same text as before.
    student.saves(&solution);
    student.sees("the file has changed");
    student.sees("90 of 100 points, passed");
    let seen = student.quits();
    assert!(!seen.contains("newly wrong"), "{seen}");
}

/// A hidden launch reveals only whether it passed, and its tile: with another secret, whose sizes and numbers differ,
/// all output is the same.
#[test]
fn a_hidden_launch_is_not_revealed() {
    if !has_nvrtc() {
        return;
    }
    let solution = assignment("05_swizzle/solution/kernel.cu");
    // Correct at the public sizes, whose K is at most 160, and wrong beyond.
    let kernel = solution.replace("k0 < K; k0 += BK", "k0 < K && k0 < 160; k0 += BK");
    assert_ne!(kernel, solution);
    let shown = |secret: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret");
        fs::write(&file, secret).expect("a secret");
        let file = file.display().to_string();
        let more = ["--secret", &file, "--student", "ada"];
        let mut student = Student::begins("05_swizzle", "my.cu", &kernel, &more);
        student.sees(" points, 90 pass");
        student.presses("a");
        student.sees("at a hidden size with tile 2 (32x32x32): right");
        student.presses("p");
        let own = student.folder.path().display().to_string();
        student.quits().replace(&own, "FOLDER")
    };
    // Both secrets draw the same tile for the launch that fails, which is shown.
    let [one, other] = ["another secret of them", "a sixth secret of them"].map(shown);
    assert!(
        one.contains("at a hidden size with tile 1 (64x32x32): C is wrong"),
        "{one}"
    );
    // Of the others, which may have other tiles, only the tile and the verdict are shown.
    let without_tiles = |shown: &str| {
        let verdict = |line: &str| match line.split_once("): ") {
            Some((launch, verdict)) if launch.starts_with("at a hidden size with tile ") => {
                verdict.to_owned()
            }
            _ => line.to_owned(),
        };
        shown.lines().map(verdict).collect::<Vec<_>>()
    };
    assert_eq!(without_tiles(&one), without_tiles(&other));
}
