//! Points: compares the results of the launches with the rubric.
use anyhow::Result;
use harness::{Compile, Function, Trial};

use super::launches::{LaunchResults, Trials, macros_of};
use super::plan::{self, Class, PlannedLaunch};
use super::rubric::{Measure, Part, Rubric};
use super::values::{self, HIDDEN, PUBLIC};
use super::{Complaint, Grade, RubricItem, mechanism, profile, sanitizer, warnings};
use harness::terminal::harmless;

/// A judgment: the fraction of the points that is left, reasons, and complaints.
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
            let words = match launch.tile {
                0 => words,
                other => format!("{words}, with tile {}", other + 1),
            };
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
            None if launch.tile == 0 => "this is the tile of the public sizes, but M, N, K and the inputs differ: which of them does the kernel assume?".to_owned(),
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
        let mut ignored = None;
        let trials = Trials::new(rubric, part, kernel, launches, compiler);
        match LaunchResults::of(launches, &trials)? {
            Ok(all) => {
                judge_part(grade, &all, &trials)?;
                if grade.complaints.len() > of_part {
                    let few = trials.compiled().find_map(too_few_threads);
                    let few = few.map(|few| few.in_part(&part.name));
                    grade.complaints.splice(of_part..of_part, few);
                }
                // A remark, which costs no points and is no reason for other complaints.
                ignored = trials.compiled().next().and_then(|trial| {
                    let ptx = &trial.source().ptx;
                    warnings::of_setmaxnreg(ptx, &rubric.arch, compiler)
                });
            }
            Err(why) => nothing(grade, &LaunchResults::none(launches, &trials), why),
        }
        if grade.complaints.len() > of_part {
            let macros = macros_of(
                rubric,
                part,
                launches.first().map_or(0, |launch| launch.tile),
            );
            if let Some(warned) = warnings::of(kernel, &rubric.arch, &macros, compiler) {
                grade.complaints.insert(of_part, warned.in_part(&part.name));
            }
        }
        let ignored = ignored.map(|one| one.in_part(&part.name));
        grade.complaints.extend(ignored);
    }
    Ok(())
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

fn judge_part(grade: &mut Grade, all: &LaunchResults, trials: &Trials) -> Result<()> {
    let (rubric, part) = (all.rubric, all.part);
    grade.launches.extend(all.outcomes());
    grade.printed = grade.printed.take().or_else(|| printed(all));
    let (sound, points) = (all.sound(), &all.rubric.points);
    let faults = sanitizer::judge(all);
    let (items, values) = values::judge(all, &faults);
    let mechanism = mechanism::judge(all);
    for (name, of, points, why) in items {
        grade.add(part, name, points, of, why);
    }
    for (name, of, judged) in [
        ("mechanism", points.mechanism, &mechanism),
        ("sanitizer", points.sanitizer, &faults),
    ] {
        let mut why = judged.why.clone();
        if !sound {
            let output = rubric.task.output();
            why.insert(0, format!("counts only if {output} is right at every size"));
        }
        let points = if sound { of * judged.credit } else { 0.0 };
        // Where clocks count and the launch that is timed is not among these, only the loss of all points is known.
        let is_timed = |launch: &PlannedLaunch| launch.class == Class::Timed;
        let is_known = rubric.sizes.timed.is_none() || all.planned.iter().any(is_timed);
        if is_known || points == 0.0 || name != "mechanism" {
            grade.add(part, name, points, of, why);
        }
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
    let profile = || profile::around(all, at_fault?);
    grade.profile = grade.profile.take().or_else(profile);
    if !open.is_empty()
        && let Ok(open) = LaunchResults::of(&open, trials)?
    {
        grade.complain(part, explained(&open));
    }
    Ok(())
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

/// The judgment of a kernel that is not launched.
fn nothing(grade: &mut Grade, none: &LaunchResults, complaint: Complaint) {
    let part = none.part;
    grade.launches.extend(none.outcomes());
    let has_hidden = none.planned.iter().any(|launch| !launch.is_public());
    let points = &none.rubric.points;
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
