//! The answers below "What to try" agree with what commands print: book/answers.toml.
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use book::check;
use rayon::prelude::*;
use regex::Regex;
use serde::Deserialize;
use transcript::{CommandLine, Programs};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answers {
    answer: Vec<Answer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    page: String,
    says: String,
    package: String,
    arguments: String,
    #[serde(default)]
    change: Vec<(String, String)>,
    prints: String,
    #[serde(default, rename = "not")]
    is_absent: bool,
}

impl Answer {
    /// The error, if any; none without a compiler for a changed kernel, unless one is required.
    fn wrong(&self, root: &Path, programs: &Programs) -> Result<(), String> {
        let read = |file: &str| {
            let text = std::fs::read_to_string(root.join(file));
            text.map_err(|error| format!("{file}: {error}"))
        };
        if !read(&format!("book/src/{}", self.page))?.contains(&self.says) {
            return Err(format!("the page does not say {:?}", self.says));
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut arguments = self.arguments.clone();
        if !self.change.is_empty() {
            let rung = self.package.trim_start_matches("rung");
            let mut kernel = read(&format!("rungs/{rung}/kernel.cu"))?;
            for (from, to) in &self.change {
                if !kernel.contains(from) {
                    return Err(format!("{rung} has no {from:?} to change"));
                }
                kernel = kernel.replace(from, to);
            }
            let copy = folder.path().join("mine.cu");
            std::fs::write(&copy, kernel).map_err(|error| error.to_string())?;
            // Without a prediction of the time, for which ptxas would have to compile the kernel, and of which no answer says anything.
            let has_command = !(arguments.is_empty() || arguments.starts_with("--"));
            let launch = if has_command { "" } else { "launch " };
            arguments = format!("{launch}{arguments} --kernel '{}'", copy.display());
        }
        let command = format!("cargo run -p {} -- {arguments}", self.package);
        let command: CommandLine = command.parse().map_err(|error| format!("{error}"))?;
        // Not `Programs::run`, which hides the compiler.
        let executable = programs.executable(&self.package);
        let is_rung = self.package.starts_with("rung");
        let device: &[&str] = if is_rung {
            &["--device", "emulator"]
        } else {
            &[]
        };
        let output = Command::new(executable.ok_or("it is not built")?)
            .args(device)
            .args(&command.arguments)
            .env("NO_COLOR", "1")
            .current_dir(root)
            .output();
        let output = output.map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let printed = text(&output.stdout) + &text(&output.stderr);
        let no_compiler = printed.contains("get-nvrtc");
        let required = std::env::var_os("GEMM_REQUIRE_NVRTC").is_some_and(|value| value == "1");
        if no_compiler && !required && !self.change.is_empty() {
            eprintln!("skipped, since there is no NVRTC: {}", self.says);
            return Ok(());
        }
        let pattern = Regex::new(&self.prints).map_err(|error| error.to_string())?;
        match pattern.is_match(&printed) != self.is_absent {
            true => Ok(()),
            false => Err(format!("`{}` prints\n{printed}", command.text)),
        }
    }
}

/// The answers with a change to a kernel, or those without.
fn check_answers(changed: bool) {
    let root = check::root().expect("a repository");
    let text = std::fs::read_to_string(root.join("book/answers.toml")).expect("its answers");
    let mut answers = toml::from_str::<Answers>(&text)
        .expect("answers as TOML")
        .answer;
    answers.retain(|one| one.change.is_empty() != changed);
    let programs = Programs::of(&root);
    let packages: BTreeSet<&str> = answers.iter().map(|one| &*one.package).collect();
    programs.build(&packages).expect("the rungs");
    let wrong: Vec<String> = answers
        .par_iter()
        .filter_map(|one| {
            let why = one.wrong(&root, &programs).err()?;
            Some(format!("{}, {:?}: {why}", one.page, one.says))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}

/// No compiler is needed: CI runs this once.
#[test]
fn every_answer_about_a_kernel_as_it_is_is_what_its_command_prints() {
    check_answers(false);
}

#[test]
fn every_answer_about_a_changed_kernel_is_what_its_command_prints() {
    check_answers(true);
}
