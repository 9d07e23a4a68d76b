//! Checks whether a student has found the bug of a kernel that is almost always right: a size that shows it, which is
//! launched here; the line; and the cause. Without a size that shows the bug, line and cause might be guesses.
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use harness::{Compile, Size, Source, Task, Trial, TrialLaunch, Values};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use toml::{Table, Value};

use super::RubricItem;
use super::launches::why_stopped;
use super::rubric::{Rubric, TileVariant};
use crate::submission;

/// The broken kernel in the assignment's folder. Students change `kernel.cu`, which starts as a copy of it.
pub const BROKEN: &str = "broken.cu";

/// Keys of a student's diagnosis.
const KEYS: [&str; 3] = ["size", "line", "cause"];

/// `[bug]` of a rubric.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bug {
    /// The most products M N K of a student's size, since it is launched for every submission.
    pub most_products: u64,
    /// Names that the cause may have.
    pub causes: Vec<String>,
    /// The text of [`BROKEN`].
    #[serde(skip)]
    pub text: String,
    #[serde(skip)]
    known: Known,
}

/// The answers, hashed by [`sealed`], because students have this file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// The whole text of the broken kernel.
    text: String,
    cause: String,
    /// Lines of the broken kernel that fix it if only they are changed.
    lines: Vec<String>,
}

/// By assignment.
const KNOWN: &str = include_str!("bugs.toml");

impl Bug {
    /// Adds what the rubric lacks: the broken kernel, and the answers.
    pub fn read(&mut self, folder: &Path, assignment: &str) -> Result<()> {
        let path = folder.join(BROKEN);
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| {
            let path = path.display();
            format!("cannot read {path}, the kernel with the bug: restore it, such as by `git checkout -- {path}`")
        })?;
        self.text = text.replace("\r\n", "\n");
        let mut all: BTreeMap<String, Known> = toml::from_str(KNOWN)?;
        let none = || format!("bugs.toml of the grader does not know the bug of {assignment}");
        self.known = all.remove(assignment).with_context(none)?;
        Ok(())
    }
}

/// A stored answer: 16 digits of a SHA-256.
pub fn sealed(assignment: &str, key: &str, answer: &str) -> String {
    let digest = Sha256::digest(format!("{assignment} {key} {}", answer));
    harness::hex(&digest)[..16].to_owned()
}

/// A table row for each answer; none if the assignment has no bug to find.
///
/// # Errors
/// If the broken kernel does not compile.
pub fn judge(
    rubric: &Rubric,
    diagnosis: Option<&str>,
    compiler: &dyn Compile,
) -> Result<Vec<RubricItem>> {
    let Some(bug) = &rubric.bug else {
        return Ok(Vec::new());
    };
    let of = rubric.points.diagnosis;
    // Without the size, the other answers are worth nothing.
    let items = |verdicts: [(bool, String); 3]| {
        let shares = [0.5, 0.25, 0.25];
        let items = KEYS.into_iter().zip(shares).zip(verdicts);
        let items = items.map(|((key, share), (right, why))| RubricItem {
            name: format!("diagnosis: {key}"),
            points: if right { of * share } else { 0.0 },
            of: of * share,
            why: vec![why],
            visible: true,
        });
        items.collect()
    };
    let refused =
        |why: String| items([(false, why), (false, String::new()), (false, String::new())]);
    if sealed(&rubric.name, "text", &bug.text) != bug.known.text {
        let folder = &rubric.name;
        return Ok(refused(format!(
            "{BROKEN} of the assignment has been changed, so its lines and its bug are others: restore it, such as by \
             `git checkout -- course/assignments/{folder}/{BROKEN}`, and change your own kernel"
        )));
    }
    let Some(text) = diagnosis else {
        let why = "there is no diagnosis.toml beside the kernel: README.md shows its form";
        return Ok(refused(why.into()));
    };
    let answers = match submission::toml(text) {
        Ok(answers) => answers,
        Err(error) => {
            return Ok(refused(format!(
                "diagnosis.toml is not valid TOML: {error}"
            )));
        }
    };
    let mut size = size(rubric, bug, &answers, compiler)?;
    let shown = size.0;
    let needs_size = |(right, why): (bool, String)| match shown {
        true => (right, why),
        false => (false, "counts only with a size that shows the bug".into()),
    };
    let line = needs_size(line(rubric, bug, &answers));
    let cause = needs_size(cause(rubric, bug, &answers));
    let unknown = answers.keys().filter(|key| !KEYS.contains(&key.as_str()));
    let unknown = unknown
        .take(3)
        .map(|key| format!("{:?}", key.chars().take(40).collect::<String>()));
    let unknown: Vec<_> = unknown.collect();
    if !unknown.is_empty() {
        let (_, why) = &mut size;
        *why = format!(
            "diagnosis.toml has {}, but only {} are read: is one misspelt? {why}",
            unknown.join(", "),
            KEYS.join(", ")
        );
    }
    Ok(items([size, line, cause]))
}

/// Launches the broken kernel at the student's size.
fn size(
    rubric: &Rubric,
    bug: &Bug,
    answers: &Table,
    compiler: &dyn Compile,
) -> Result<(bool, String)> {
    let no = |why: String| Ok((false, why));
    let text = match answers.get("size") {
        None => return no("no answer".into()),
        Some(Value::String(text)) => text,
        Some(other) => {
            let kind = other.type_str();
            return no(format!("not a size such as \"64x96x128\": type {kind}"));
        }
    };
    let size: Size = match text.parse() {
        Ok(size) => size,
        Err(why) => {
            let text: String = text.chars().take(40).collect();
            return no(format!(
                "{text:?} is not a size such as \"64x96x128\": {why}"
            ));
        }
    };
    let products = [size.n, size.k]
        .iter()
        .try_fold(u64::from(size.m), |all, side| {
            all.checked_mul(u64::from(*side))
        });
    if products.is_none_or(|products| products > bug.most_products) {
        let most = harness::thousands(bug.most_products);
        return no(format!(
            "{size} has more than {most} products: the bug needs no more"
        ));
    }
    let trial = broken(rubric, bug, compiler)?;
    let on = TrialLaunch {
        size,
        values: Values::Random,
        seed: 0,
        schedule: 0,
    };
    let launched = match trial.launch(&on) {
        Ok(launched) => launched,
        Err(error) => return no(format!("{size}: {}", why_stopped(&error))),
    };
    let wrong = !launched.verification.ok();
    let found = !launched.run.findings.is_empty();
    Ok(match (wrong, found) {
        (false, false) => (
            false,
            format!(
                "at {size} the kernel as it was handed out is right, and the sanitizer finds nothing"
            ),
        ),
        (true, _) => (true, format!("{size}: C is wrong there")),
        (false, true) => (true, format!("{size}: the sanitizer finds something there")),
    })
}

/// The broken kernel, with the first tile.
fn broken(rubric: &Rubric, bug: &Bug, compiler: &dyn Compile) -> Result<Trial> {
    let tile = rubric.tile.first().context("a rubric has a tile")?;
    let TileVariant { m, n, k, .. } = tile;
    let macros = [("TILE_M", m), ("TILE_N", n), ("TILE_K", k)];
    let defines = macros.map(|(name, side)| format!("{name}={side}"));
    let source = Source::compiled(BROKEN, &bug.text, &rubric.arch, &defines, compiler)?;
    Ok(Trial::new(source, Task::Gemm)?)
}

/// Whether the student's line is one of those that fix the kernel.
fn line(rubric: &Rubric, bug: &Bug, answers: &Table) -> (bool, String) {
    let number = match answers.get("line") {
        None | Some(Value::Integer(0)) => return (false, "no answer".into()),
        Some(Value::Integer(number)) => *number,
        Some(other) => {
            let kind = other.type_str();
            return (false, format!("not a line number: type {kind}"));
        }
    };
    let line = usize::try_from(number).ok().and_then(|number| {
        let mut lines = bug.text.lines();
        lines.nth(number.checked_sub(1)?)
    });
    let Some(line) = line else {
        return (false, format!("{BROKEN} has no line {number}"));
    };
    if line.trim().is_empty() || line.trim().starts_with("//") {
        let why = format!("line {number} of {BROKEN} has no code: {:?}", line.trim());
        return (false, why);
    }
    let seal = sealed(&rubric.name, "line", &number.to_string());
    match bug.known.lines.contains(&seal) {
        true => (true, format!("{number} is right")),
        false => (
            false,
            format!(
                "{number} is not one of the lines that fix the kernel and keep its pipeline if they alone are changed: {:?}",
                line.trim()
            ),
        ),
    }
}

fn cause(rubric: &Rubric, bug: &Bug, answers: &Table) -> (bool, String) {
    let name = match answers.get("cause") {
        None => return (false, "no answer".into()),
        Some(Value::String(name)) if name.is_empty() => return (false, "no answer".into()),
        Some(Value::String(name)) => name,
        Some(other) => {
            let kind = other.type_str();
            return (false, format!("not the name of a cause: type {kind}"));
        }
    };
    if !bug.causes.contains(name) {
        let name: String = name.chars().take(40).collect();
        let causes = bug.causes.join(", ");
        return (false, format!("{name:?} is not one of {causes}"));
    }
    match sealed(&rubric.name, "cause", name) == bug.known.cause {
        true => (true, format!("{name} is right")),
        false => (false, format!("{name} is not the cause")),
    }
}

/// Checks that a rubric's causes are distinct and not easily guessed.
pub fn check(bug: &Bug) -> Result<()> {
    let mut causes = bug.causes.clone();
    causes.sort();
    causes.dedup();
    ensure!(
        causes.len() == bug.causes.len() && causes.len() >= 6,
        "a [bug] has six causes or more, each once: others could be guessed"
    );
    Ok(())
}
