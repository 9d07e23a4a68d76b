//! Points: launches the kernel at every size and holds what happened against the rubric.
use std::path::Path;

use anyhow::Result;
use emulator::{Access, Finding, Kind};
use harness::{Error, Launched, Origin, Source, Trial};

use super::hidden::Launch;
use super::rubric::Rubric;
use super::{Complaint, Grade, Test, mechanism, predict};

/// What every assignment's kernel is compiled for, so far.
const ARCH: &str = "sm_80";

/// Findings of a launch that are shown.
const SHOWN: usize = 3;

/// Launches in their order, up to the first that could not be made, and why that one could not.
pub struct Launches<'a> {
    pub trial: &'a Trial,
    pub done: Vec<(&'a Launch, Launched)>,
    pub stopped: Option<(&'a Launch, String)>,
}

pub fn grade(
    rubric: &Rubric,
    kernel: &Path,
    predictions: Option<&str>,
    launches: &[Launch],
) -> Result<Grade> {
    let mut grade = Grade {
        assignment: rubric.name.clone(),
        pass: rubric.pass,
        tests: vec![prediction(rubric, predictions)],
        complaints: Vec::new(),
        after: None,
        rubric: rubric.hash.clone(),
        compiler: compiler()?,
        secret: false,
    };
    let name = kernel.file_name().unwrap_or_default().to_string_lossy();
    let trial = match Source::of_file(kernel, ARCH).and_then(Trial::new) {
        Ok(trial) => trial,
        Err(error @ (Error::NoNvrtc { .. } | Error::Read { .. } | Error::Gpu(_))) => {
            return Err(error.into());
        }
        Err(error) => {
            // Grades do not depend on where a file lies.
            let what = error.to_string().replace(&*kernel.to_string_lossy(), &name);
            return Ok(nothing(grade, rubric, what));
        }
    };
    let tile = trial.tile();
    if [tile.bm, tile.bn, tile.bk] != rubric.geometry.tile {
        let [bm, bn, bk] = rubric.geometry.tile;
        let what = format!(
            "gemm_launch states a tile of {}x{}x{}; this assignment's is {bm}x{bn}x{bk}",
            tile.bm, tile.bn, tile.bk
        );
        return Ok(nothing(grade, rubric, what));
    }
    if let Origin::Nvrtc(compiler) = &trial.source().origin {
        grade.compiler.clone_from(compiler);
    }
    let launched = launch(&trial, launches);
    let sound =
        launched.stopped.is_none() && launched.done.iter().all(|(_, one)| one.verification.ok());
    values(&mut grade, rubric, launches, &launched);
    let (credit, why, complaints) = mechanism::judge(rubric, &launched, sound)?;
    let (findings, mut faults) = sanitizer(&launched);
    let mut add = |name, of: f64, part: f64, mut why: Vec<String>| {
        if !sound {
            why.insert(0, "counts only where C is right at every size".into());
        }
        let points = if sound { of * part } else { 0.0 };
        grade.tests.push(Test {
            name,
            points,
            of,
            why,
            visible: true,
        });
    };
    add("mechanism", rubric.points.mechanism, credit, why);
    let clean = if faults.is_empty() { 1.0 } else { 0.0 };
    add("sanitizer", rubric.points.sanitizer, clean, findings);
    grade.complaints.append(&mut faults);
    grade.complaints.extend(complaints);
    grade.after = grade.passed().then(|| rubric.after.passed.clone());
    Ok(grade)
}

/// The compiler's name; without one, the error says how to get it.
fn compiler() -> Result<String> {
    let (major, minor) = harness::compiler_version()?;
    Ok(format!("NVRTC {major}.{minor}"))
}

fn prediction(rubric: &Rubric, predictions: Option<&str>) -> Test {
    let of = rubric.points.prediction;
    let (right, why) = match predict::check(rubric, predictions) {
        Ok(checked) => checked,
        Err(error) => (0, vec![format!("{error:#}")]),
    };
    let questions = rubric.prediction.len().max(1);
    Test {
        name: "prediction",
        points: of * right as f64 / questions as f64,
        of,
        why,
        visible: true,
    }
}

/// A kernel that is not launched at all.
fn nothing(mut grade: Grade, rubric: &Rubric, what: String) -> Grade {
    let half = rubric.points.values / 2.0;
    for (name, of) in [
        ("values at public sizes", half),
        ("values at hidden sizes", half),
        ("mechanism", rubric.points.mechanism),
        ("sanitizer", rubric.points.sanitizer),
    ] {
        let why = vec!["the kernel was not launched".into()];
        grade.tests.push(Test {
            name,
            points: 0.0,
            of,
            why,
            visible: true,
        });
    }
    grade.complaints.push(Complaint {
        what,
        hint: "begin with the assignment's kernel.cu, and keep its tile, its parameters and its launch".into(),
        mistake: "none-of-these",
        player: None,
    });
    grade
}

fn launch<'a>(trial: &'a Trial, launches: &'a [Launch]) -> Launches<'a> {
    let mut all = Launches {
        trial,
        done: Vec::new(),
        stopped: None,
    };
    for launch in launches {
        match trial.launch(launch.size, launch.seed, launch.schedule) {
            Ok(launched) => all.done.push((launch, launched)),
            Err(error) => {
                // The flags that it names are the rungs'.
                let said = error.to_string();
                let why = said.split("; raise").next().unwrap_or(&said).to_owned();
                all.stopped = Some((launch, why));
                break;
            }
        }
    }
    all
}

/// A hidden launch does not say what it is.
fn place(launch: &Launch) -> String {
    match launch.hidden {
        true => "at a hidden size".into(),
        false => format!("at {}", launch.size),
    }
}

fn values(grade: &mut Grade, rubric: &Rubric, wanted: &[Launch], all: &Launches) {
    let mut public_is_right = true;
    for (hidden, name) in [
        (false, "values at public sizes"),
        (true, "values at hidden sizes"),
    ] {
        let of = rubric.points.values / 2.0;
        let wanted = wanted
            .iter()
            .filter(|launch| launch.hidden == hidden)
            .count();
        let done = all
            .done
            .iter()
            .filter(|(launch, _)| launch.hidden == hidden);
        let (right, wrong): (Vec<_>, Vec<_>) = done.partition(|(_, one)| one.verification.ok());
        let mut why = vec![format!("C is right at {} of {wanted} sizes", right.len())];
        if let Some((launch, stopped)) = &all.stopped
            && launch.hidden == hidden
        {
            why.push(format!("{}: {stopped}; no launch after it", place(launch)));
            grade.complaints.push(Complaint {
                what: format!("{}: {stopped}", place(launch)),
                hint:
                    "does every loop come to its end, and does the block fit on a multiprocessor?"
                        .into(),
                mistake: if stopped.contains("was stopped") {
                    "deadlock"
                } else {
                    "none-of-these"
                },
                player: None,
            });
        }
        if let Some((launch, one)) = wrong.first() {
            let complaint = wrong_values(launch, one, public_is_right);
            grade.complaints.push(complaint);
        }
        public_is_right &= right.len() == wanted;
        let points = of * right.len() as f64 / wanted.max(1) as f64;
        grade.tests.push(Test {
            name,
            points,
            of,
            why,
            visible: !hidden,
        });
    }
}

fn wrong_values(launch: &Launch, one: &Launched, public_is_right: bool) -> Complaint {
    let found = &one.verification;
    let nan = found
        .first_wrong
        .first()
        .is_some_and(|wrong| wrong.got.is_nan());
    let what = match (launch.hidden, found.first_wrong.first()) {
        (false, Some(wrong)) => format!(
            "{}: {} of {} elements of C are wrong; the first is C[{}][{}], {} where {:.4} should be",
            place(launch),
            found.wrong,
            found.checked,
            wrong.row,
            wrong.col,
            wrong.got,
            wrong.want
        ),
        _ => "C is wrong at a hidden size".into(),
    };
    let fault = one
        .run
        .findings
        .iter()
        .find(|finding| ends_the_launch(finding));
    let (hint, mistake) = match (fault, launch.hidden && public_is_right, nan) {
        (Some(fault), ..) => (
            "a fault ended the launch before C was written: see what the sanitizer says of it",
            mistake(fault),
        ),
        (_, true, _) => (
            "M, N, K and the numbers differ there: which of them does the kernel take for granted?",
            "wrong-for-other-sizes",
        ),
        (.., true) => (
            "C was NaN before the launch: does every element get written?",
            "c-is-nan",
        ),
        _ => (
            "do all who write and read a tile agree on where a chunk lies, and does it stay in its row?",
            "swizzle-on-one-side",
        ),
    };
    Complaint {
        what,
        hint: hint.into(),
        mistake,
        player: None,
    }
}

/// Why, and a complaint for each finding that is shown.
fn sanitizer(all: &Launches) -> (Vec<String>, Vec<Complaint>) {
    let mut complaints = Vec::new();
    for (launch, one) in &all.done {
        let findings = &one.run.findings;
        if findings.is_empty() || !complaints.is_empty() {
            continue;
        }
        // What ended the launch comes first: the rest may follow from it.
        let (ending, others): (Vec<_>, Vec<_>) =
            findings.iter().partition(|one| ends_the_launch(one));
        for finding in ending.into_iter().chain(others).take(SHOWN) {
            complaints.push(Complaint {
                what: format!("{}: {finding}", place(launch)),
                hint: hint(finding).into(),
                mistake: mistake(finding),
                player: None,
            });
        }
    }
    let why = match complaints.len() {
        0 => "nothing found".into(),
        _ => "something found: see below".into(),
    };
    (vec![why], complaints)
}

fn mistake(finding: &Finding) -> &'static str {
    match &finding.kind {
        Kind::OutOfBounds { .. } => "out-of-bounds",
        Kind::Misaligned { .. } => "misaligned",
        Kind::Uninitialised { .. } => "uninitialised",
        Kind::Deadlock { .. } => "deadlock",
        Kind::DivergentBarrier { .. } => "divergent-barrier",
        // A copy that somebody reads while it is on its way.
        Kind::Race {
            access,
            other_access,
            ..
        } if [access, other_access].contains(&&Access::AsyncWrite)
            && [access, other_access].contains(&&Access::Read) =>
        {
            "cp-async-wait"
        }
        Kind::Race { .. } => "race-after-the-copy",
        _ => "none-of-these",
    }
}

fn hint(finding: &Finding) -> &'static str {
    match finding.kind {
        Kind::OutOfBounds { .. } => "how far does this index get, and how many bytes are there?",
        Kind::Deadlock { .. } => "who is to end this, and can it?",
        _ => "who wrote these bytes last, and what orders that before this access?",
    }
}

/// An access that no memory takes ends the kernel, and a deadlock its emulation.
fn ends_the_launch(finding: &Finding) -> bool {
    matches!(
        finding.kind,
        Kind::OutOfBounds { .. } | Kind::Misaligned { .. } | Kind::Deadlock { .. }
    )
}
