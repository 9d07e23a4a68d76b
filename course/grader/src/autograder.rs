//! Runs on Gradescope's machine: reads a submission and writes `results/results.json`, whatever was submitted. A child
//! process computes the grade, so that there are results even if it crashes.
use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::grade::{Process, Request};
use crate::submission::{self, BESIDE};

/// `autograder.toml` in the zip: what to grade, and where complaints link to.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The folder with the rubric.
    pub assignment: String,
    /// The file to grade.
    pub handed_in: String,
    /// The folder or address of the book.
    pub book: String,
}

/// Grades the submission in the folder that Gradescope calls /autograder.
///
/// # Errors
/// If the folders are not those of an autograder. An error in the submission is reported in its results.
pub fn run(root: &Path, process: &Process) -> Result<()> {
    let root = std::path::absolute(root)?;
    let config = root.join("source/autograder.toml");
    let config = fs::read_to_string(&config)
        .with_context(|| format!("cannot read {}, which belongs to the zip", config.display()))?;
    let config: Config = toml::from_str(&config).context("autograder.toml")?;
    let results = root.join("results");
    fs::create_dir_all(&results).with_context(|| format!("cannot create {}", results.display()))?;
    let text = match Submission::find(&root.join("submission"), &config) {
        Err(reason) => nothing(&format!("{reason:#}")),
        Ok(submission) => graded(&root, &config, &submission, process)?,
    };
    let path = results.join("results.json");
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Results that are written first, in case the process is stopped before it can write others.
pub(crate) fn unfinished() -> String {
    nothing(STOPPED)
}

const STOPPED: &str = "The grader was stopped before it had a grade: it ran out of time or memory. Does every loop end?";

/// Results that explain why there are no points.
fn nothing(reason: &str) -> String {
    let results = json!({
        "score": 0,
        "output": reason,
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
    });
    format!("{results:#}\n")
}

struct Submission {
    /// The text that is graded.
    text: String,
    /// Files that belong to a kernel, by name: predictions, a diagnosis.
    beside: Vec<(&'static str, String)>,
}

impl Submission {
    fn find(folder: &Path, config: &Config) -> Result<Self> {
        let wanted = &config.handed_in;
        // As in the students' repository; in a folder; alone.
        let places = [
            folder.join("course/assignments").join(&config.assignment),
            folder.join(&config.assignment),
            folder.to_owned(),
        ];
        let mut paths = places.iter().map(|place| place.join(wanted));
        let path = paths.find(|path| path.exists());
        let path = path.map_or_else(|| submission::find(folder, wanted), Ok)?;
        let mut beside = Vec::new();
        for name in BESIDE {
            let path = path.with_file_name(name);
            if path.exists() {
                beside.push((name, text(&path, folder)?));
            }
        }
        Ok(Self {
            text: text(&path, folder)?,
            beside,
        })
    }
}

/// Reads a submitted file. No folder of its path may be a link, since the target was not submitted.
fn text(path: &Path, folder: &Path) -> Result<String> {
    let name = path.strip_prefix(folder).unwrap_or(path).display();
    let [real, folder] = [path, folder].map(Path::canonicalize);
    let inside = real.is_ok_and(|real| folder.is_ok_and(|folder| real.starts_with(folder)));
    ensure!(
        inside,
        "{name} is a link to elsewhere: hand in the file itself."
    );
    submission::read(path).with_context(|| format!("cannot read {name}"))
}

/// The results of the grade, or why there is none.
fn graded(
    root: &Path,
    config: &Config,
    handed_in: &Submission,
    process: &Process,
) -> Result<String> {
    let folder = tempfile::tempdir().context("cannot create a folder for the submission")?;
    let submission = folder.path().join(&config.handed_in);
    fs::write(&submission, &handed_in.text)?;
    for (name, text) in &handed_in.beside {
        fs::write(folder.path().join(name), text)?;
    }
    let source = root.join("source");
    let secret = Some(source.join("secret")).filter(|file| file.exists());
    let request = Request {
        assignment: source.join(&config.assignment),
        submission,
        book: config.book.clone(),
        student: match secret {
            Some(_) => student(&root.join("submission_metadata.json"))?,
            None => String::new(),
        },
        secret,
        untrusted: true,
    };
    let mut command = process(&request)?;
    let output = command.current_dir(&source).stdin(Stdio::null()).output();
    let output = output.context("the grader cannot be started")?;
    let results = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_json = serde_json::from_str::<serde_json::Value>(&results).is_ok();
    let path = request.submission.to_string_lossy();
    Ok(match output.status.code() {
        Some(0 | 1) if is_json => results,
        Some(_) => nothing(&format!(
            "This was not graded. Unless the reason names your file, show it to your teacher:\n{}",
            String::from_utf8_lossy(&output.stderr).replace(&*path, &config.handed_in)
        )),
        None => unfinished(),
    })
}

/// The student's address; of a group, the first address.
fn student(metadata: &Path) -> Result<String> {
    #[derive(Deserialize)]
    struct Metadata {
        users: Vec<User>,
    }
    #[derive(Deserialize)]
    struct User {
        email: String,
    }
    let text = fs::read_to_string(metadata)
        .with_context(|| format!("cannot read {}", metadata.display()))?;
    let metadata: Metadata = serde_json::from_str(&text).context("submission_metadata.json")?;
    let users = metadata.users.into_iter().map(|user| user.email);
    users
        .min()
        .context("submission_metadata.json has no student")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], handed_in: &str) -> Result<Submission> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let config = Config {
            assignment: "05_swizzle".into(),
            handed_in: handed_in.into(),
            book: String::new(),
        };
        Submission::find(folder.path(), &config)
    }

    #[test]
    fn a_submission_is_found_where_students_put_it() {
        let deep = "course/assignments/05_swizzle/kernel.cu";
        for (files, text) in [
            (&[("kernel.cu", "a"), ("old.cu", "b")][..], "a"),
            (&[("my_kernel.cu", "a"), ("notes.txt", "b")], "a"),
            (
                &[(deep, "a"), ("course/assignments/06/kernel.cu", "b")],
                "a",
            ),
            (&[("05_swizzle/kernel.cu", "a")], "a"),
        ] {
            let submission = found(files, "kernel.cu").expect("a submission");
            assert_eq!(submission.text, text, "{files:?}");
            assert_eq!(submission.beside, []);
        }
        let all = [
            ("kernel.cu", "a"),
            ("prediction.toml", "b"),
            ("diagnosis.toml", "c"),
        ];
        let submission = found(&all, "kernel.cu").expect("a submission");
        let beside = [("prediction.toml", "b"), ("diagnosis.toml", "c")];
        assert_eq!(
            submission.beside,
            beside.map(|(name, text)| (name, text.to_owned()))
        );
        let answers = found(&[("mine.toml", "a"), ("notes.md", "b")], "answers.toml");
        assert_eq!(answers.expect("a submission").text, "a");
    }

    #[test]
    fn what_is_missing_or_wrong_is_reported() {
        let large = " ".repeat((1 << 20) + 1);
        for (files, why) in [
            (&[][..], "nothing was handed in"),
            (&[("kernel.ptx", "")], "handed in: kernel.ptx"),
            (
                &[("a.cu", ""), ("b.cu", "")],
                "several files might be meant (a.cu, b.cu)",
            ),
            (&[("kernel.cu", &large)], "at most 1048576 are read"),
            (&[("kernel.cu/x", "")], "is not a plain file but a folder"),
            (&[("prediction.toml", "")], "handed in: prediction.toml"),
        ] {
            let error = found(files, "kernel.cu")
                .err()
                .map(|error| format!("{error:#}"));
            assert!(
                error.as_ref().is_some_and(|error| error.contains(why)),
                "{error:?}"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let outside = folder.path().join("outside");
        fs::create_dir_all(outside.join("05_swizzle")).expect("a folder");
        fs::write(outside.join("05_swizzle/kernel.cu"), "secret").expect("a file");
        let submission = folder.path().join("submission");
        fs::create_dir_all(&submission).expect("a folder");
        let config = || Config {
            assignment: "05_swizzle".into(),
            handed_in: "kernel.cu".into(),
            book: String::new(),
        };
        let link = |from: &str, to: &str| {
            let _ = fs::remove_file(submission.join("kernel.cu"));
            std::os::unix::fs::symlink(outside.join(from), submission.join(to)).expect("a link");
            let error = Submission::find(&submission, &config()).err();
            error.map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(link("05_swizzle/kernel.cu", "kernel.cu").contains("is a link"));
        assert!(link("05_swizzle", "05_swizzle").contains("is a link"));
    }

    #[test]
    fn a_group_is_its_first_member() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("submission_metadata.json");
        fs::write(
            &path,
            r#"{"id": 1, "users": [{"email": "b@x", "id": 2}, {"email": "a@x"}]}"#,
        )
        .expect("a file");
        assert_eq!(student(&path).expect("a student"), "a@x");
        fs::write(&path, r#"{"users": []}"#).expect("a file");
        assert!(student(&path).is_err());
    }
}
