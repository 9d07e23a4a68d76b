//! Points: launches the kernel at every size and compares the results with the rubric.
use std::collections::BTreeMap;

use anyhow::Result;
use harness::{Compile, Error, Function, Launched, Source, Tile, Trial};

use super::labels::{self, Coverage};
use super::plan::{self, Class, PlannedLaunch};
use super::rubric::{AssignmentKind, Measure, Part, Rubric, TileVariant};
use super::values::{self, HIDDEN, PUBLIC};
use super::{Complaint, Grade, LaunchOutcome, RubricItem, mechanism, profile, sanitizer, warnings};
use crate::submission::harmless;

/// The kernel, compiled for each tile of the rubric.
type Trials = BTreeMap<usize, Trial>;

/// The launches of a part, in order, up to the first one that failed, and why it failed.
pub struct LaunchResults<'a> {
    pub rubric: &'a Rubric,
    pub part: &'a Part,
    pub planned: &'a [PlannedLaunch],
    trials: &'a Trials,
    pub done: Vec<(&'a PlannedLaunch, Launched)>,
    pub stopped: Option<(&'a PlannedLaunch, Error)>,
    /// A launch whose result depends on what C holds before it, and whether it ends if C holds zeros.
    pub reads_c: Option<(&'a PlannedLaunch, bool)>,
    /// For each launch in `done`, what was multiplied; none if the inputs do not identify elements.
    coverage: Vec<Option<Coverage>>,
}

impl<'a> LaunchResults<'a> {
    /// No launches yet.
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
            reads_c: None,
            coverage: Vec::new(),
        }
    }

    /// Performs the launches.
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
                // Under the sanitizer this would take longer than all other launches together.
                Class::Many => trial.launch_unsanitized(&launch.on),
                // In an assignment to debug, the bug may need all blocks of a large launch.
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
        all.reads_c = all.depends_on_c();
        all
    }

    /// The first public launch of several tiles, if its result is right, but not if C holds zeros before the launch.
    fn depends_on_c(&self) -> Option<(&'a PlannedLaunch, bool)> {
        let (launch, one) = self.done.iter().find(|(launch, _)| {
            let [rows, columns, _] = launch.tiles(self.rubric);
            launch.is_public() && rows * columns > 1
        })?;
        if !one.verification.ok() {
            return None;
        }
        match self.trial(launch).launch_on_zeros(&launch.on) {
            Ok(again) if again.verification.ok() => None,
            again => Some((launch, again.is_ok())),
        }
    }

    /// The launches that show how the kernel computes C: [`Class::Many`] only shows whether it is right.
    pub fn measured(&self) -> impl Iterator<Item = &(&'a PlannedLaunch, Launched)> + Clone {
        let done = self.done.iter();
        done.filter(|(launch, _)| launch.class != Class::Many)
    }

    /// The compiled kernel of a launch.
    pub fn trial(&self, launch: &PlannedLaunch) -> &'a Trial {
        // Every launch that was performed has one.
        &self.trials[&launch.tile]
    }

    /// What tensor cores multiplied in a launch; empty if its inputs do not identify elements.
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

    /// The outcome of every planned launch.
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

    /// The name of a launch.
    pub fn label(&self, launch: &PlannedLaunch) -> String {
        launch.label(self.rubric)
    }
}

/// A judgement: the fraction of the points that is left, reasons, and complaints.
#[derive(Default)]
pub struct Judged<'a> {
    pub credit: f64,
    pub why: Vec<String>,
    pub complaints: Vec<Complaint>,
    /// Hidden launches that failed.
    pub closed: Vec<&'a PlannedLaunch>,
    /// Whether the first complaint explains the findings of other parts, so that it must come first.
    pub explains: bool,
    /// Of the current measure, the worst number and its description.
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

    /// Records what a measure found in a launch. About a hidden launch, students only learn that points are missing.
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

    /// The same without a complaint, because there already is one.
    pub fn note(&mut self, credit: f64, number: f64, words: String, launch: &PlannedLaunch) {
        self.credit = self.credit.min(credit);
        let is_worse = |(worst, extreme, _): &(f64, f64, String)| {
            credit < *worst || credit <= *worst && number > *extreme
        };
        if !launch.closed && self.worst.as_ref().is_none_or(is_worse) {
            self.worst = Some((credit, number, words));
        }
    }

    /// Whether the current measure has a complaint.
    pub fn has_complained(&mut self) -> bool {
        std::mem::replace(&mut self.complained, true)
    }

    /// Ends the current measure; returns whether it had a complaint.
    pub fn next(&mut self) -> bool {
        self.why.extend(self.worst.take().map(|(.., words)| words));
        std::mem::take(&mut self.complained)
    }

    /// Complains about a launch; if it is hidden, without details.
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
            true => return self.closed(all, launch, "points for the mechanism are missing"),
        };
        self.complaints.push(complaint);
    }

    /// The only complaint about hidden launches.
    pub fn closed(&mut self, all: &LaunchResults<'a>, launch: &'a PlannedLaunch, what: &str) {
        if self.closed.contains(&launch) {
            return;
        }
        self.closed.push(launch);
        let what = format!("{}: {what}", all.label(launch));
        let hint = match all.rubric.bug {
            Some(_) => "finding a size that shows the bug is your task: which numbers of tiles and of steps along K have you not launched?".to_owned(),
            None => format!(
            "`--tile {}` grades the public sizes with this tile. M, N, K and the inputs differ, too: which of them does the kernel assume?",
            launch.tile + 1
        ),
        };
        self.complaints
            .push(Complaint::new(what, &hint, "wrong-for-other-sizes"));
    }
}

/// Judges all parts. A kernel is its file's name and its text.
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

/// Compiles the kernel for each tile that is launched, or complains.
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
    let Function::Emulator(function) = trial.function() else {
        return None;
    };
    let (bound, stated) = (function.max_threads()?, trial.threads());
    let what = format!(
        "the launch that the kernel states has {stated} threads, and its __launch_bounds__ {bound}"
    );
    let hint = "how many threads share the work, and how many are there?";
    (u64::from(stated) < bound).then(|| Complaint::new(what, hint, "not-launched"))
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
                    "the message names the limit, and by how much the kernel exceeds it"
                }
                Error::Ptx { .. } => {
                    "the line contains inline PTX, or calls a function that does: compare its modifiers and operands with \
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
            "the kernel declares a tile of {bm}x{bn}x{bk}, but TILE_M, TILE_N and TILE_K are {m}x{n}x{k}"
        ),
        "these three are macros that the grader defines: take the tile from them",
        "not-launched",
    )))
}

/// Whether an error is the kernel's fault and not the machine's.
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

/// Why a launch failed. Limits are set by the grader, so the emulator's remedies are omitted.
pub fn why_stopped(error: &Error) -> String {
    match error {
        Error::Emulator(emulator::Error::InstructionLimit { limit }) => {
            format!("the kernel was stopped after {limit} warp instructions")
        }
        Error::Emulator(emulator::Error::MemoryLimit { limit }) => {
            format!("the kernel's blocks need more than {limit} bytes of memory")
        }
        Error::Emulator(emulator::Error::BlockLimit { blocks, limit }) => {
            format!("a grid of {blocks} blocks, but only {limit} are allowed")
        }
        Error::Memory { wanted, limit } => {
            format!("the matrices need {wanted} bytes, but only {limit} are allowed")
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
            why.insert(0, "counts only if C is right at every size".into());
        }
        let points = if sound { of * judged.credit } else { 0.0 };
        grade.add(part, name, points, of, why);
    }
    // If C is wrong, the kernel may have ended early, so how it computes C is judged only if C is right.
    let found = match values.explains {
        true => [values, faults, mechanism],
        false => [faults, values, mechanism],
    };
    let closed: Vec<_> = found.iter().flat_map(|judged| &judged.closed).collect();
    // In a debugging assignment, finding a launch that shows the bug is the student's task.
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

/// How many printed lines are shown, and how many characters of each.
const PRINTED: usize = 20;
const PRINTED_WIDTH: usize = 200;

/// The kernel's `printf` output at the first public size that has any.
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
        more => format!("  and {more} more lines\n"),
    };
    let label = all.label(launch);
    Some(format!(
        "printed {label}:\n{}{more}",
        lines.collect::<String>()
    ))
}

/// Complaints about public launches that resemble failed hidden ones.
fn explained(open: &LaunchResults) -> Vec<Complaint> {
    let faults = sanitizer::judge(open);
    let values = values::judge(open, &faults).1;
    let all = match values.explains {
        true => [values, faults, mechanism::judge(open)],
        false => [faults, values, mechanism::judge(open)],
    };
    let all = all.into_iter().flat_map(|judged| judged.complaints);
    all.map(|complaint| Complaint {
        what: format!("a similar public launch, {}", complaint.what),
        ..complaint
    })
    .collect()
}

impl Grade {
    /// Adds a row of the table; its points are a fraction of all parts' points.
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

/// The judgement of a kernel that is not launched.
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
