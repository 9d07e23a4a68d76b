//! Points: launches the kernel at every size and holds what happened against the rubric.
use std::collections::BTreeMap;

use anyhow::Result;
use harness::{Compile, Error, Launched, Source, Tile, Trial};

use super::hidden::Launch;
use super::rubric::{Part, Rubric, Task};
use super::{Complaint, Grade, Test, mechanism, sanitizer};

/// Launches of one part in their order, up to the first that could not be made, and why that one could not.
pub struct Launches<'a> {
    /// By the rubric's tile.
    trials: BTreeMap<usize, Trial>,
    pub done: Vec<(&'a Launch, Launched)>,
    pub stopped: Option<(&'a Launch, String)>,
}

impl Launches<'_> {
    /// What was launched.
    pub fn trial(&self, launch: &Launch) -> &Trial {
        // There is one for every launch that was made.
        &self.trials[&launch.tile]
    }
}

/// A kernel that is graded: its file's name, and its text.
pub struct Submission<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

/// Adds the points of all parts.
pub fn judge(
    grade: &mut Grade,
    rubric: &Rubric,
    submission: &Submission,
    launches: &[Launch],
    compiler: &dyn Compile,
) -> Result<()> {
    for part in &rubric.part {
        match trials(rubric, part, submission, launches, compiler)? {
            Ok(trials) => judge_part(grade, rubric, part, launch(trials, launches), launches)?,
            Err(why) => nothing(grade, rubric, part, why),
        }
    }
    Ok(())
}

/// Why a kernel is not launched, and a hint.
struct NoLaunch(String, &'static str);

/// The kernel, compiled for each tile that is launched; or what is wrong with it.
fn trials(
    rubric: &Rubric,
    part: &Part,
    submission: &Submission,
    launches: &[Launch],
    compiler: &dyn Compile,
) -> Result<Result<BTreeMap<usize, Trial>, NoLaunch>> {
    let mut trials = BTreeMap::new();
    for launch in launches {
        if trials.contains_key(&launch.tile) {
            continue;
        }
        let tile = rubric.tile[launch.tile];
        let mut defines = vec![
            format!("TILE_M={}", tile.m),
            format!("TILE_N={}", tile.n),
            format!("TILE_K={}", tile.k),
        ];
        defines.extend(part.define.clone());
        let task = match rubric.task {
            Task::Transpose => harness::Task::Transpose,
            _ => harness::Task::Gemm,
        };
        let source = Source::compiled(
            submission.file,
            submission.text,
            &rubric.arch,
            &defines,
            compiler,
        );
        let trial = match source.and_then(|source| Trial::new(source, task)) {
            Ok(trial) => trial,
            // A hidden variant is nothing to talk about.
            Err(error) if is_the_kernels(&error) => {
                let hint = match error {
                    Error::Compile { .. } => {
                        "begin with the compiler's first message: others may follow from it"
                    }
                    _ => {
                        "begin with the assignment's kernel.cu, and keep its parameters and its launch"
                    }
                };
                let what = match launch.hidden {
                    false => error.to_string(),
                    true => format!("with another tile: {error}"),
                };
                return Ok(Err(NoLaunch(what, hint)));
            }
            Err(error) => return Err(error.into()),
        };
        let Tile { bm, bn, bk } = trial.tile();
        if [bm, bn, bk] != [tile.m, tile.n, tile.k] {
            let what = format!(
                "the kernel states a tile of {bm}x{bn}x{bk}, where TILE_M, TILE_N and TILE_K ask for {}",
                match launch.hidden {
                    false => format!("{}x{}x{}", tile.m, tile.n, tile.k),
                    true => "another one".into(),
                }
            );
            let hint = "these three are macros that the grader defines: take the tile from them";
            return Ok(Err(NoLaunch(what, hint)));
        }
        trials.insert(launch.tile, trial);
    }
    Ok(Ok(trials))
}

/// Whether it is the kernel's fault, and not that of the machine.
fn is_the_kernels(error: &Error) -> bool {
    !matches!(
        error,
        Error::NoNvrtc { .. } | Error::Read { .. } | Error::Gpu(_) | Error::Locked(_)
    )
}

fn launch(trials: BTreeMap<usize, Trial>, launches: &[Launch]) -> Launches<'_> {
    let mut all = Launches {
        trials,
        done: Vec::new(),
        stopped: None,
    };
    for launch in launches {
        match all
            .trial(launch)
            .launch(launch.size, launch.seed, launch.schedule)
        {
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

fn judge_part(
    grade: &mut Grade,
    rubric: &Rubric,
    part: &Part,
    launched: Launches,
    launches: &[Launch],
) -> Result<()> {
    let sound =
        launched.stopped.is_none() && launched.done.iter().all(|(_, one)| one.verification.ok());
    values(grade, rubric, part, launches, &launched);
    let (credit, why, complaints) = mechanism::judge(rubric, part, &launched, sound)?;
    let (findings, faults) = sanitizer::judge(&launched);
    let mut add = |name, of: f64, credit: f64, mut why: Vec<String>| {
        if !sound {
            why.insert(0, "counts only where C is right at every size".into());
        }
        let points = if sound { of * credit } else { 0.0 };
        grade.add(part, name, points, of, why, true);
    };
    add("mechanism", rubric.points.mechanism, credit, why);
    let clean = if faults.is_empty() { 1.0 } else { 0.0 };
    add("sanitizer", rubric.points.sanitizer, clean, findings);
    let all = faults.into_iter().chain(complaints);
    let name = &part.name;
    grade.complaints.extend(all.map(|one| one.in_part(name)));
    Ok(())
}

impl Grade {
    /// Adds a line of the table; points are those of all parts together.
    fn add(
        &mut self,
        part: &Part,
        name: &str,
        points: f64,
        of: f64,
        why: Vec<String>,
        visible: bool,
    ) {
        if of == 0.0 {
            return;
        }
        let name = match part.name.as_str() {
            "" => name.to_owned(),
            part => format!("{part}: {name}"),
        };
        self.tests.push(Test {
            name,
            points: points * part.share,
            of: of * part.share,
            why,
            visible,
        });
    }
}

/// A kernel that is not launched at all.
fn nothing(grade: &mut Grade, rubric: &Rubric, part: &Part, why: NoLaunch) {
    let NoLaunch(what, hint) = why;
    let half = rubric.points.values / 2.0;
    for (name, of) in [
        (PUBLIC, half),
        (HIDDEN, half),
        ("mechanism", rubric.points.mechanism),
        ("sanitizer", rubric.points.sanitizer),
    ] {
        let why = vec!["the kernel was not launched".into()];
        grade.add(part, name, 0.0, of, why, true);
    }
    let complaint = Complaint {
        what,
        hint: hint.into(),
        mistake: "none-of-these".into(),
        player: None,
    };
    grade.complaints.push(complaint.in_part(&part.name));
}

const PUBLIC: &str = "values at public sizes";
const HIDDEN: &str = "values at hidden sizes";

/// A hidden launch does not say what it is.
pub fn place(launch: &Launch) -> String {
    match launch.hidden {
        false => launch.size.to_string(),
        true => "at a hidden size".into(),
    }
}

fn values(grade: &mut Grade, rubric: &Rubric, part: &Part, wanted: &[Launch], all: &Launches) {
    let mut public_is_right = true;
    for (hidden, name) in [(false, PUBLIC), (true, HIDDEN)] {
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
        let mut complaints = Vec::new();
        if let Some((launch, stopped)) = &all.stopped
            && launch.hidden == hidden
        {
            why.push(format!("{}: {stopped}; no launch after it", place(launch)));
            complaints.push(not_launched(launch, stopped));
        }
        if let Some((launch, one)) = wrong.first() {
            complaints.push(wrong_values(rubric, launch, one, public_is_right));
        }
        public_is_right &= right.len() == wanted;
        let points = of * right.len() as f64 / wanted.max(1) as f64;
        grade.add(part, name, points, of, why, !hidden);
        let complaints = complaints.into_iter().map(|one| one.in_part(&part.name));
        grade.complaints.extend(complaints);
    }
}

fn not_launched(launch: &Launch, stopped: &str) -> Complaint {
    Complaint {
        what: format!("{}: {stopped}", place(launch)),
        hint: "does every loop come to its end, and does the block fit on a multiprocessor?".into(),
        mistake: match stopped.contains("was stopped") {
            true => "deadlock".into(),
            false => "none-of-these".into(),
        },
        player: None,
    }
}

fn wrong_values(
    rubric: &Rubric,
    launch: &Launch,
    one: &Launched,
    public_is_right: bool,
) -> Complaint {
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
    let mut findings = one.run.findings.iter();
    let fault = findings.find(|finding| finding.is_fatal());
    let (hint, mistake) = match (fault, launch.hidden && public_is_right, nan) {
        (Some(fault), ..) => (
            "a fault ended the launch before C was written: see what the sanitizer says of it",
            sanitizer::mistake(fault),
        ),
        (_, true, _) => (
            "M, N, K, the tile and the numbers differ there: which of them does the kernel take for granted?",
            "wrong-for-other-sizes",
        ),
        (.., true) => (
            "C was NaN before the launch: does every element get written?",
            "c-is-nan",
        ),
        _ => (rubric.wrong.hint.as_str(), rubric.wrong.mistake.as_str()),
    };
    Complaint {
        what,
        hint: hint.into(),
        mistake: mistake.into(),
        player: None,
    }
}
