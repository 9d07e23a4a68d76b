//! Whether C is right.
use harness::{Error, Launched};

use super::judge::{LaunchResults, why_stopped};
use super::plan::PlannedLaunch;
use super::rubric::Rubric;
use super::{Complaint, Grade, NO_MISTAKE, sanitizer};

pub const PUBLIC: &str = "values at public sizes";
pub const HIDDEN: &str = "values at hidden sizes";

/// Adds the points for public and for hidden sizes.
pub fn judge(grade: &mut Grade, all: &LaunchResults) {
    let rubric = all.rubric;
    let mut public_is_right = true;
    for (hidden, name) in [(false, PUBLIC), (true, HIDDEN)] {
        let of = rubric.points.values / 2.0;
        let is_it = |launch: &PlannedLaunch| launch.hidden == hidden;
        let wanted = all.planned.iter().filter(|launch| is_it(launch)).count();
        let done = all.done.iter().filter(|(launch, _)| is_it(launch));
        let (right, wrong): (Vec<_>, Vec<_>) = done.partition(|(_, one)| one.verification.ok());
        let mut why = vec![format!("C is right at {} of {wanted} sizes", right.len())];
        let mut complaints = Vec::new();
        if let Some((launch, error)) = &all.stopped
            && is_it(launch)
        {
            let what = format!("{}: {}", launch.label(), why_stopped(error));
            why.push(format!("{what}; no launch after it"));
            complaints.push(not_launched(what, error));
        }
        if let Some((launch, one)) = wrong.first() {
            complaints.push(wrong_values(rubric, launch, one, public_is_right));
        }
        public_is_right &= right.len() == wanted;
        let points = of * right.len() as f64 / wanted.max(1) as f64;
        grade.add(all.part, name, points, of, why, !hidden);
        grade.complain(all.part, complaints);
    }
}

fn not_launched(what: String, error: &Error) -> Complaint {
    let hint = "does every loop come to its end, and does the block fit on a multiprocessor?";
    // It ran for longer than any honest kernel.
    let endless = matches!(
        error,
        Error::Emulator(emulator::Error::InstructionLimit { .. })
    );
    Complaint::new(what, hint, if endless { "deadlock" } else { NO_MISTAKE })
}

fn wrong_values(
    rubric: &Rubric,
    launch: &PlannedLaunch,
    one: &Launched,
    public_is_right: bool,
) -> Complaint {
    let found = &one.verification;
    let first = found.first_wrong.first();
    let nan = first.is_some_and(|wrong| wrong.got.is_nan());
    let what = match (launch.hidden, first) {
        (false, Some(wrong)) => format!(
            "{}: {} of {} elements of C are wrong; the first is C[{}][{}], {} where {:.4} should be",
            launch.label(),
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
    Complaint::new(what, hint, mistake)
}
