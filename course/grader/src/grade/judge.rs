//! Points: launches the kernel at every size and holds what happened against the rubric.
use std::collections::BTreeMap;

use anyhow::Result;
use harness::{Compile, Error, Launched, Source, Tile, Trial};

use super::plan::PlannedLaunch;
use super::rubric::{AssignmentKind, Part, Rubric, TileVariant};
use super::values::{self, HIDDEN, PUBLIC};
use super::{Complaint, Grade, NO_MISTAKE, RubricItem, mechanism, sanitizer};

/// Launches of one part in their order, up to the first that could not be made, and why that one could not.
pub struct LaunchResults<'a> {
    pub rubric: &'a Rubric,
    pub part: &'a Part,
    pub planned: &'a [PlannedLaunch],
    /// By the rubric's tile.
    trials: BTreeMap<usize, Trial>,
    pub done: Vec<(&'a PlannedLaunch, Launched)>,
    pub stopped: Option<(&'a PlannedLaunch, Error)>,
}

impl<'a> LaunchResults<'a> {
    /// Makes the launches.
    fn of(
        rubric: &'a Rubric,
        part: &'a Part,
        planned: &'a [PlannedLaunch],
        trials: BTreeMap<usize, Trial>,
    ) -> Self {
        let mut all = Self {
            rubric,
            part,
            planned,
            trials,
            done: Vec::new(),
            stopped: None,
        };
        for launch in planned {
            let trial = all.trial(launch);
            match trial.launch(launch.size, launch.seed, launch.schedule) {
                Ok(launched) => all.done.push((launch, launched)),
                Err(error) => {
                    all.stopped = Some((launch, error));
                    break;
                }
            }
        }
        all
    }

    /// What was launched.
    pub fn trial(&self, launch: &PlannedLaunch) -> &Trial {
        // There is one for every launch that was made.
        &self.trials[&launch.tile]
    }

    /// Whether C is right at every size.
    fn sound(&self) -> bool {
        self.stopped.is_none() && self.done.iter().all(|(_, one)| one.verification.ok())
    }
}

/// Adds the points of all parts. A kernel is its file's name, and its text.
pub fn judge(
    grade: &mut Grade,
    rubric: &Rubric,
    kernel: (&str, &str),
    launches: &[PlannedLaunch],
    compiler: &dyn Compile,
) -> Result<()> {
    for part in &rubric.part {
        match trials(rubric, part, kernel, launches, compiler)? {
            Ok(trials) => judge_part(grade, &LaunchResults::of(rubric, part, launches, trials)),
            Err(why) => nothing(grade, rubric, part, why),
        }
    }
    Ok(())
}

/// The kernel, compiled for each tile that is launched; or what is wrong with it.
fn trials(
    rubric: &Rubric,
    part: &Part,
    kernel: (&str, &str),
    launches: &[PlannedLaunch],
    compiler: &dyn Compile,
) -> Result<Result<BTreeMap<usize, Trial>, Complaint>> {
    let mut trials = BTreeMap::new();
    for launch in launches {
        if trials.contains_key(&launch.tile) {
            continue;
        }
        match trial(rubric, part, kernel, launch, compiler)? {
            Ok(trial) => trials.insert(launch.tile, trial),
            Err(complaint) => return Ok(Err(complaint)),
        };
    }
    Ok(Ok(trials))
}

fn trial(
    rubric: &Rubric,
    part: &Part,
    (file, text): (&str, &str),
    launch: &PlannedLaunch,
    compiler: &dyn Compile,
) -> Result<Result<Trial, Complaint>> {
    let TileVariant { m, n, k, .. } = rubric.tile[launch.tile];
    let macros = [("TILE_M", m), ("TILE_N", n), ("TILE_K", k)];
    let mut defines: Vec<String> = macros.map(|(name, side)| format!("{name}={side}")).into();
    defines.extend(part.define.clone());
    let task = match rubric.task {
        AssignmentKind::Transpose => harness::Task::Transpose,
        AssignmentKind::Gemm | AssignmentKind::Predict => harness::Task::Gemm,
    };
    let source = Source::compiled(file, text, &rubric.arch, &defines, compiler);
    let trial = match source.and_then(|source| Trial::new(source, task)) {
        Ok(trial) => trial,
        Err(error) if is_the_kernels(&error) => {
            let hint = if let Error::Compile { .. } = error {
                "begin with the compiler's first message: others may follow from it"
            } else {
                "begin with the assignment's kernel.cu, and keep its parameters and its launch"
            };
            // A hidden variant is nothing to talk about.
            let what = match launch.hidden {
                false => error.to_string(),
                true => format!("with another tile: {error}"),
            };
            return Ok(Err(Complaint::new(what, hint, NO_MISTAKE)));
        }
        Err(error) => return Err(error.into()),
    };
    let Tile { bm, bn, bk } = trial.tile();
    if [bm, bn, bk] == [m, n, k] {
        return Ok(Ok(trial));
    }
    let wanted = match launch.hidden {
        false => format!("{m}x{n}x{k}"),
        true => "another one".into(),
    };
    Ok(Err(Complaint::new(
        format!(
            "the kernel states a tile of {bm}x{bn}x{bk}, where TILE_M, TILE_N and TILE_K ask for {wanted}"
        ),
        "these three are macros that the grader defines: take the tile from them",
        NO_MISTAKE,
    )))
}

/// Whether it is the kernel's fault, and not that of the machine.
fn is_the_kernels(error: &Error) -> bool {
    !matches!(
        error,
        Error::NoNvrtc { .. } | Error::Read { .. } | Error::Gpu(_) | Error::Locked(_)
    )
}

/// Why a launch could not be made. Limits are the grader's: their remedies are for those who set them.
pub fn why_stopped(error: &Error) -> String {
    match error {
        Error::Emulator(emulator::Error::InstructionLimit { limit }) => {
            format!("the kernel was stopped after {limit} warp instructions")
        }
        Error::Emulator(emulator::Error::MemoryLimit { limit }) => {
            format!("the kernel's blocks need more than {limit} bytes of memory")
        }
        Error::Emulator(emulator::Error::BlockLimit { blocks, limit }) => {
            format!("a grid of {blocks} blocks, and {limit} are allowed")
        }
        Error::Memory { wanted, limit } => {
            format!("the matrices need {wanted} bytes, and {limit} are allowed")
        }
        other => other.to_string(),
    }
}

fn judge_part(grade: &mut Grade, all: &LaunchResults) {
    let (sound, points) = (all.sound(), &all.rubric.points);
    values::judge(grade, all);
    let (credit, why, complaints) = mechanism::judge(all, sound);
    let (findings, faults) = sanitizer::judge(all);
    let clean = if faults.is_empty() { 1.0 } else { 0.0 };
    for (name, of, credit, mut why) in [
        ("mechanism", points.mechanism, credit, why),
        ("sanitizer", points.sanitizer, clean, findings),
    ] {
        if !sound {
            why.insert(0, "counts only where C is right at every size".into());
        }
        let points = if sound { of * credit } else { 0.0 };
        grade.add(all.part, name, points, of, why, true);
    }
    grade.complain(all.part, faults.into_iter().chain(complaints));
}

impl Grade {
    /// Adds a line of the table; points are those of all parts together.
    pub(super) fn add(
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
        self.items.push(RubricItem {
            name,
            points: points * part.share,
            of: of * part.share,
            why,
            visible,
        });
    }

    pub(super) fn complain(&mut self, part: &Part, all: impl IntoIterator<Item = Complaint>) {
        let all = all.into_iter().map(|one| one.in_part(&part.name));
        self.complaints.extend(all);
    }
}

/// A kernel that is not launched at all.
fn nothing(grade: &mut Grade, rubric: &Rubric, part: &Part, complaint: Complaint) {
    let points = &rubric.points;
    for (name, of) in [
        (PUBLIC, points.values / 2.0),
        (HIDDEN, points.values / 2.0),
        ("mechanism", points.mechanism),
        ("sanitizer", points.sanitizer),
    ] {
        let why = vec!["the kernel was not launched".into()];
        grade.add(part, name, 0.0, of, why, true);
    }
    grade.complain(part, [complaint]);
}
