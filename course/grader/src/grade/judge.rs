//! Points: launches the kernel at every size and holds what happened against the rubric.
use std::collections::BTreeMap;

use anyhow::Result;
use harness::{Compile, Error, Launched, Source, Tile, Trial};

use super::labels::{self, Coverage};
use super::plan::{self, Class, PlannedLaunch};
use super::rubric::{AssignmentKind, Measure, Part, Rubric, TileVariant};
use super::values::{self, HIDDEN, PUBLIC};
use super::{Complaint, Grade, LaunchOutcome, RubricItem, mechanism, profile, sanitizer, warnings};
use crate::submission::harmless;

/// The kernel, compiled for each of the rubric's tiles.
type Trials = BTreeMap<usize, Trial>;

/// Launches of one part in their order, up to the first that could not be made, and why that one could not.
pub struct LaunchResults<'a> {
    pub rubric: &'a Rubric,
    pub part: &'a Part,
    pub planned: &'a [PlannedLaunch],
    trials: &'a Trials,
    pub done: Vec<(&'a PlannedLaunch, Launched)>,
    pub stopped: Option<(&'a PlannedLaunch, Error)>,
    /// Of the launches whose numbers tell, in the order of `done`.
    coverage: Vec<Option<Coverage>>,
}

impl<'a> LaunchResults<'a> {
    /// Before any launch.
    fn none(
        rubric: &'a Rubric,
        part: &'a Part,
        planned: &'a [PlannedLaunch],
        trials: &'a Trials,
    ) -> Self {
        Self {
            rubric,
            part,
            planned,
            trials,
            done: Vec::new(),
            stopped: None,
            coverage: Vec::new(),
        }
    }

    /// Makes the launches.
    fn of(
        rubric: &'a Rubric,
        part: &'a Part,
        planned: &'a [PlannedLaunch],
        trials: &'a Trials,
    ) -> Self {
        let mut all = Self::none(rubric, part, planned, trials);
        for launch in planned {
            let trial = all.trial(launch);
            let launched = match launch.class {
                // A kernel with a bug has launches of many waves beside it.
                Class::Large if rubric.bug.is_none() => trial.launch_on_one_sm(&launch.on),
                _ => trial.launch(&launch.on),
            };
            match launched {
                Ok(launched) => {
                    let told = !launched.run.factors.is_empty();
                    all.coverage.push(told.then(|| labels::coverage(&launched)));
                    all.done.push((launch, launched));
                }
                Err(error) => {
                    all.stopped = Some((launch, error));
                    break;
                }
            }
        }
        all
    }

    /// What was launched.
    pub fn trial(&self, launch: &PlannedLaunch) -> &'a Trial {
        // There is one for every launch that was made.
        &self.trials[&launch.tile]
    }

    /// What tensor cores multiplied in a launch; nothing where the numbers do not tell.
    pub fn coverage(&self, launch: &PlannedLaunch) -> Coverage {
        let mut all = self.done.iter().zip(&self.coverage);
        let found = all.find(|((other, _), _)| *other == launch);
        found
            .and_then(|(_, coverage)| *coverage)
            .unwrap_or_default()
    }

    /// Whether C is right at every size.
    fn sound(&self) -> bool {
        self.stopped.is_none() && self.done.iter().all(|(_, one)| one.verification.ok())
    }

    /// What became of every launch that was planned.
    fn outcomes(&self) -> impl Iterator<Item = LaunchOutcome> {
        self.planned.iter().map(|launch| {
            let done = self.done.iter().find(|(other, _)| *other == launch);
            let is_stopped = self.stopped.as_ref().is_some_and(|(at, _)| *at == launch);
            let label = self.label(launch);
            LaunchOutcome {
                name: match self.part.name.as_str() {
                    "" => label,
                    part => format!("{part}: {label}"),
                },
                right: match done {
                    Some((_, one)) => Some(one.verification.ok()),
                    None => is_stopped.then_some(false),
                },
                clean: done.is_some_and(|(_, one)| one.run.findings.is_empty()),
            }
        })
    }

    /// What a launch is called.
    pub fn label(&self, launch: &PlannedLaunch) -> String {
        launch.label(self.rubric)
    }
}

/// What was found: the part of the points that is left, why, and what is wrong.
#[derive(Default)]
pub struct Judged<'a> {
    pub credit: f64,
    pub why: Vec<String>,
    pub complaints: Vec<Complaint>,
    /// Hidden launches that went wrong.
    pub closed: Vec<&'a PlannedLaunch>,
    /// Whether the first complaint says why what else was found is there, so that it comes first.
    pub explains: bool,
    /// Of the measure at hand: the worst number, and its words.
    worst: Option<(f64, f64, String)>,
    complained: bool,
}

impl<'a> Judged<'a> {
    pub fn new() -> Self {
        Self {
            credit: 1.0,
            ..Self::default()
        }
    }

    /// Notes what a measure has found in a launch. What it says of a hidden one is that it is short of points.
    pub fn measured(
        &mut self,
        measure: &Measure,
        all: &LaunchResults<'a>,
        launch: &'a PlannedLaunch,
        (number, words): (f64, String),
        mistake: &str,
    ) {
        let credit = measure.credit(number);
        if credit < 1.0 && !self.complained {
            self.complain(all, launch, &words, &measure.hint, mistake);
            self.complained = true;
        }
        self.note(credit, number, words, launch);
    }

    /// The same without a complaint, which has been made in other words.
    pub fn note(&mut self, credit: f64, number: f64, words: String, launch: &PlannedLaunch) {
        self.credit = self.credit.min(credit);
        let is_worse = |(worst, extreme, _): &(f64, f64, String)| {
            credit < *worst || credit <= *worst && number > *extreme
        };
        if !launch.closed && self.worst.as_ref().is_none_or(is_worse) {
            self.worst = Some((credit, number, words));
        }
    }

    /// Whether the measure at hand has been complained about.
    pub fn has_complained(&mut self) -> bool {
        std::mem::replace(&mut self.complained, true)
    }

    /// The measure at hand is through; whether it has been complained about.
    pub fn next(&mut self) -> bool {
        self.why.extend(self.worst.take().map(|(.., words)| words));
        std::mem::take(&mut self.complained)
    }

    /// Says what is wrong with a launch; of a hidden one only that something is.
    pub fn complain(
        &mut self,
        all: &LaunchResults<'a>,
        launch: &'a PlannedLaunch,
        what: &str,
        hint: &str,
        mistake: &str,
    ) {
        let complaint = match launch.closed {
            false if launch.is_public() => Complaint::new(what, hint, mistake),
            false => Complaint::new(format!("{}: {what}", all.label(launch)), hint, mistake),
            true => return self.closed(all, launch, "the mechanism is short of points"),
        };
        self.complaints.push(complaint);
    }

    /// The only thing that is said of a hidden launch.
    pub fn closed(&mut self, all: &LaunchResults<'a>, launch: &'a PlannedLaunch, what: &str) {
        if self.closed.contains(&launch) {
            return;
        }
        self.closed.push(launch);
        let what = format!("{}: {what}", all.label(launch));
        let hint = match all.rubric.bug {
            Some(_) => "a size that shows what is wrong is yours to find: which numbers of tiles and of steps along K have you not launched?".to_owned(),
            None => format!(
            "`--tile {}` grades the public sizes with this tile; M, N, K and the numbers are others, too: which of them does the kernel take for granted?",
            launch.tile + 1
        ),
        };
        self.complaints
            .push(Complaint::new(what, &hint, "wrong-for-other-sizes"));
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
        let of_part = grade.complaints.len();
        match trials(rubric, part, kernel, launches, compiler)? {
            Ok(trials) => {
                judge_part(grade, rubric, part, launches, &trials);
                if grade.complaints.len() > of_part {
                    let few = trials.values().find_map(too_few_threads);
                    let few = few.map(|few| few.in_part(&part.name));
                    grade.complaints.splice(of_part..of_part, few);
                }
            }
            Err(why) => nothing(grade, rubric, part, launches, why),
        }
        if grade.complaints.len() == of_part {
            continue;
        }
        let macros = macros_of(
            rubric,
            part,
            launches.first().map_or(0, |launch| launch.tile),
        );
        if let Some(warned) = warnings::of(kernel, &rubric.arch, &macros, compiler) {
            grade.complaints.insert(of_part, warned.in_part(&part.name));
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
) -> Result<Result<Trials, Complaint>> {
    let mut trials = Trials::new();
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

/// Of a kernel that is launched with fewer threads than it is written for.
fn too_few_threads(trial: &Trial) -> Option<Complaint> {
    let (_, bound) = trial.source().ptx.split_once(".maxntid ")?;
    let bound = bound.split(|c: char| !c.is_ascii_digit()).next()?;
    let (bound, stated) = (bound.parse::<u32>().ok()?, trial.threads());
    let what = format!(
        "the launch that the kernel states has {stated} threads, and its __launch_bounds__ {bound}"
    );
    let hint = "how many threads share the work, and how many are there?";
    (stated < bound).then(|| Complaint::new(what, hint, "not-launched"))
}

/// The macros of a part and a tile.
fn macros_of(rubric: &Rubric, part: &Part, tile: usize) -> Vec<String> {
    let TileVariant { m, n, k, .. } = rubric.tile[tile];
    let macros = [("TILE_M", m), ("TILE_N", n), ("TILE_K", k)];
    let mut defines: Vec<String> = macros.map(|(name, side)| format!("{name}={side}")).into();
    defines.extend(part.define.clone());
    defines
}

fn trial(
    rubric: &Rubric,
    part: &Part,
    (file, text): (&str, &str),
    launch: &PlannedLaunch,
    compiler: &dyn Compile,
) -> Result<Result<Trial, Complaint>> {
    let TileVariant { m, n, k, .. } = rubric.tile[launch.tile];
    let defines = macros_of(rubric, part, launch.tile);
    let task = match rubric.task {
        AssignmentKind::Transpose => harness::Task::Transpose,
        AssignmentKind::Gemm | AssignmentKind::Predict => harness::Task::Gemm,
    };
    let source = Source::compiled(file, text, &rubric.arch, &defines, compiler);
    let source = source.and_then(|mut source| {
        if rubric.sizes.timed.is_some() {
            // Whether it can be launched is said in better words than the assembler's.
            Trial::new(source.clone(), task)?;
            source.sass = compiler.assemble(&source.ptx, "gemm", &rubric.arch)?;
        }
        Ok(source)
    });
    let trial = match source.and_then(|source| Trial::new(source, task)) {
        Ok(trial) => trial,
        Err(error) if is_the_kernels(&error) => {
            let hint = match &error {
                Error::Compile { .. } => {
                    "begin with the compiler's first message: others may follow from it"
                }
                Error::Ptx { error, .. } if error.line == 0 => {
                    "the message names what there is too much of, and how much there may be"
                }
                Error::Ptx { .. } => {
                    "the line has an instruction in inline PTX, or calls a function that has: compare its modifiers and operands with \
                     the PTX ISA, and with the assignment's kernel.cu"
                }
                _ => {
                    "begin with the assignment's kernel.cu, and keep its parameters and its launch"
                }
            };
            let what = match launch.tile {
                0 => error.to_string(),
                other => format!(
                    "with tile {} ({}): {error}",
                    other + 1,
                    rubric.tile[other].name()
                ),
            };
            return Ok(Err(Complaint::new(what, hint, "not-launched")));
        }
        Err(error) => return Err(error.into()),
    };
    let Tile { bm, bn, bk } = trial.tile();
    if rubric.own_tile || [bm, bn, bk] == [m, n, k] {
        return Ok(Ok(trial));
    }
    Ok(Err(Complaint::new(
        format!(
            "the kernel states a tile of {bm}x{bn}x{bk}, where TILE_M, TILE_N and TILE_K ask for {m}x{n}x{k}"
        ),
        "these three are macros that the grader defines: take the tile from them",
        "not-launched",
    )))
}

/// Whether it is the kernel's fault, and not that of the machine.
fn is_the_kernels(error: &Error) -> bool {
    !matches!(
        error,
        Error::NoNvrtc { .. }
            | Error::NoAssembler(_)
            | Error::Read { .. }
            | Error::Gpu(_)
            | Error::Locked(_)
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

fn judge_part(
    grade: &mut Grade,
    rubric: &Rubric,
    part: &Part,
    launches: &[PlannedLaunch],
    trials: &Trials,
) {
    let all = LaunchResults::of(rubric, part, launches, trials);
    grade.launches.extend(all.outcomes());
    grade.printed = grade.printed.take().or_else(|| printed(&all));
    let (sound, points) = (all.sound(), &all.rubric.points);
    let faults = sanitizer::judge(&all);
    let (items, values) = values::judge(&all, &faults);
    let mechanism = mechanism::judge(&all);
    for (name, of, points, why) in items {
        grade.add(part, name, points, of, why);
    }
    for (name, of, judged) in [
        ("mechanism", points.mechanism, &mechanism),
        ("sanitizer", points.sanitizer, &faults),
    ] {
        let mut why = judged.why.clone();
        if !sound {
            why.insert(0, "counts only where C is right at every size".into());
        }
        let points = if sound { of * judged.credit } else { 0.0 };
        grade.add(part, name, points, of, why);
    }
    // Where C is wrong, the kernel may have ended early: how it got there is the second question.
    let found = match values.explains {
        true => [values, faults, mechanism],
        false => [faults, values, mechanism],
    };
    let closed: Vec<_> = found.iter().flat_map(|judged| &judged.closed).collect();
    // Where a bug is to be found, a launch that shows it is the student's to find.
    let open: Vec<_> = closed
        .first()
        .filter(|_| rubric.bug.is_none())
        .map(|launch| plan::open_like(rubric, launch))
        .into_iter()
        .collect();
    let of_part = grade.complaints.len();
    for judged in found {
        grade.complain(part, judged.complaints);
    }
    let at_fault = grade
        .complaints
        .iter()
        .skip(of_part)
        .find_map(|one| one.line);
    let profile = || profile::around(&all, at_fault?);
    grade.profile = grade.profile.take().or_else(profile);
    if !open.is_empty() {
        grade.complain(
            part,
            explained(&LaunchResults::of(rubric, part, &open, trials)),
        );
    }
}

/// Lines that a kernel printed and that are shown, and the characters of each.
const PRINTED: usize = 20;
const PRINTED_WIDTH: usize = 200;

/// What the kernel printed with `printf`, at the first public size where it did.
fn printed(all: &LaunchResults) -> Option<String> {
    let public = all.done.iter().filter(|(launch, _)| launch.is_public());
    let (launch, one) = public
        .into_iter()
        .find(|(_, one)| !one.run.printed.is_empty())?;
    let text: String = one
        .run
        .printed
        .iter()
        .map(|call| call.text.as_str())
        .collect();
    let text = harmless(&text);
    let lines = text.lines().take(PRINTED);
    let lines = lines.map(|line| {
        format!(
            "  {}\n",
            line.chars().take(PRINTED_WIDTH).collect::<String>()
        )
    });
    let more = text.lines().count().saturating_sub(PRINTED);
    let more = match more {
        0 => String::new(),
        more => format!("  and {more} lines more\n"),
    };
    let label = all.label(launch);
    Some(format!(
        "printed {label}:\n{}{more}",
        lines.collect::<String>()
    ))
}

/// What is wrong with public launches that are like hidden ones.
fn explained(open: &LaunchResults) -> Vec<Complaint> {
    let faults = sanitizer::judge(open);
    let values = values::judge(open, &faults).1;
    let all = match values.explains {
        true => [values, faults, mechanism::judge(open)],
        false => [faults, values, mechanism::judge(open)],
    };
    let all = all.into_iter().flat_map(|judged| judged.complaints);
    all.map(|complaint| Complaint {
        what: format!("a public launch like it, {}", complaint.what),
        ..complaint
    })
    .collect()
}

impl Grade {
    /// Adds a line of the table; points are those of all parts together.
    pub(super) fn add(&mut self, part: &Part, name: &str, points: f64, of: f64, why: Vec<String>) {
        if of == 0.0 {
            return;
        }
        let visible = name != HIDDEN;
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
fn nothing(
    grade: &mut Grade,
    rubric: &Rubric,
    part: &Part,
    launches: &[PlannedLaunch],
    complaint: Complaint,
) {
    let trials = Trials::new();
    let none = LaunchResults::none(rubric, part, launches, &trials);
    grade.launches.extend(none.outcomes());
    let has_hidden = launches.iter().any(|launch| !launch.is_public());
    let points = &rubric.points;
    for (name, of) in [
        (PUBLIC, points.values / 2.0),
        (HIDDEN, points.values / 2.0),
        ("mechanism", points.mechanism),
        ("sanitizer", points.sanitizer),
    ] {
        if name == HIDDEN && !has_hidden {
            continue;
        }
        let why = vec!["the kernel was not launched".into()];
        grade.add(part, name, 0.0, of, why);
    }
    grade.complain(part, [complaint]);
}
