//! Whether C is right.
use emulator::FindingKind;
use harness::{Error, Launched};

use super::diagnosis::{self, CauseKind};
use super::judge::Judged;
use super::launches::{LaunchResults, why_stopped};
use super::plan::PlannedLaunch;
use super::rubric::AssignmentKind;

/// The mistake of a rubric whose task is the layout of a tile.
const SWIZZLE: &str = "swizzle-on-one-side";

pub const PUBLIC: &str = "values at public sizes";
pub const HIDDEN: &str = "values at hidden sizes";

/// A row of the table: name, available points, achieved points, and reasons.
pub type Line = (&'static str, f64, f64, Vec<String>);

/// The points for public sizes, by how many are right, for hidden ones, only if all are right, and complaints.
pub fn judge<'a>(all: &LaunchResults<'a>, faults: &Judged<'a>) -> (Vec<Line>, Judged<'a>) {
    let mut judged = Judged::new();
    let mut items = Vec::new();
    for (public, name) in [(true, PUBLIC), (false, HIDDEN)] {
        let of = all.rubric.points.values / 2.0;
        let is_it = |launch: &PlannedLaunch| launch.is_public() == public;
        let wanted = all.planned.iter().filter(|launch| is_it(launch)).count();
        // If only public sizes are launched, there is no row for hidden ones.
        if wanted == 0 {
            continue;
        }
        let done = all.done.iter().filter(|(launch, _)| is_it(launch));
        let (right, wrong): (Vec<_>, Vec<_>) = done.partition(|(_, one)| one.verification.ok());
        let output = all.rubric.task.output();
        // How many hidden sizes are right would say where it is wrong.
        let is_known = !(right.is_empty() && wrong.is_empty());
        let mut why = vec![match public || right.len() == wanted {
            true => format!("{output} is right at {} of {wanted} sizes", right.len()),
            false if is_known => format!("{output} is wrong at one or more of the {wanted} sizes"),
            false => format!("none of the {wanted} sizes was launched to its end"),
        }];
        if let Some((launch, error)) = &all.stopped
            && is_it(launch)
        {
            let what = why_stopped(error);
            why.push(match launch.closed {
                false => format!(
                    "{}: {what}; the sizes after it were not launched",
                    all.label(launch)
                ),
                true => format!(
                    "{}: stopped; the sizes after it were not launched",
                    all.label(launch)
                ),
            });
            not_launched(all, launch, error, &mut judged);
        }
        if let Some((launch, _)) = wrong.first().filter(|_| !public && all.is_cut_short()) {
            why.push(format!(
                "{}: wrong; the sizes after it were not launched",
                all.label(launch)
            ));
        }
        let is_first = judged.complaints.is_empty();
        if let Some((launch, one)) = wrong.first().filter(|_| is_first) {
            wrong_values(all, launch, one, faults, &mut judged);
        }
        let part = right.len() as f64 / wanted as f64;
        // How many of the hidden launches are right may depend on the student's numbers, and whether all are does not.
        let part = if public { part } else { part.floor() };
        let points = of * part;
        items.push((name, of, points, why));
    }
    (items, judged)
}

/// A number with some of its digits.
fn rounded(number: f64) -> String {
    match number.abs() {
        size if size > 0.0 && size < 0.001 => format!("{number:.3e}"),
        _ => format!("{number:.4}"),
    }
}

/// A word that was only moved: compare its bits.
fn word(one: &Launched, row: u32, column: u32, want: f64) -> String {
    let padded = one.problem.padded;
    let got = one.c.get((row * padded.m + column) as usize);
    let wanted = one.problem.a.get((column * padded.k + row) as usize);
    let bits = |value: Option<&half::f16>| value.map_or(0, |value| value.to_bits());
    let (got, wanted) = (bits(got), bits(wanted));
    let nothing = if got == 0xffff {
        ", as before the launch"
    } else {
        ""
    };
    format!("0x{got:04x}{nothing}, where 0x{wanted:04x} ({want}) should be")
}

fn not_launched<'a>(
    all: &LaunchResults<'a>,
    launch: &'a PlannedLaunch,
    error: &Error,
    judged: &mut Judged<'a>,
) {
    if launch.closed {
        return judged.closed(all, launch, "the kernel was stopped");
    }
    let what = format!("{}: {}", all.label(launch), why_stopped(error));
    // It ran longer than any honest kernel.
    let endless = matches!(
        error,
        Error::Emulator(emulator::Error::InstructionLimit { .. })
    );
    let (hint, mistake) = match error {
        _ if endless => (
            "does every loop come to its end, and how often does each go round?",
            "deadlock",
        ),
        Error::BadBoxes { .. } => (
            "`gemm_boxes` has three numbers for each of A, B and C: columns, rows and the bytes of the swizzle; a row of a box may be \
             as wide as its swizzle",
            "invalid-bulk-copy",
        ),
        _ => (
            "the message names what there is too much of: what asks for it?",
            "not-launched",
        ),
    };
    judged
        .complaints
        .push(super::Complaint::new(what, hint, mistake));
}

/// Which element of `in` an element of a transposition holds, if only one has these bits.
fn another_element(
    all: &LaunchResults,
    one: &Launched,
    (row, column): (u32, u32),
) -> Option<String> {
    if all.rubric.task != AssignmentKind::Transpose {
        return None;
    }
    let size = one.problem.padded;
    let got = one.c.get((row * size.m + column) as usize)?.to_bits();
    let words = one.problem.a.iter().zip(0u32..);
    let mut same = words.filter(|(word, _)| word.to_bits() == got);
    let (_, at) = same.next()?;
    if same.next().is_some() {
        return None;
    }
    let (of, other) = (at / size.k.max(1), at % size.k.max(1));
    Some(format!(
        "\n  out[{row}][{column}] holds in[{of}][{other}], should hold in[{column}][{row}]"
    ))
}

fn wrong_values<'a>(
    all: &LaunchResults<'a>,
    launch: &'a PlannedLaunch,
    one: &Launched,
    faults: &Judged<'a>,
    judged: &mut Judged<'a>,
) {
    let name = all.rubric.task.output();
    if launch.closed {
        return judged.closed(all, launch, &format!("{name} is wrong"));
    }
    let found = &one.verification;
    let Some(first) = found.first_wrong.first() else {
        return;
    };
    let mut what = format!(
        "{}: {} of {} elements of {name} are wrong; the first is {name}[{}][{}], {}",
        all.label(launch),
        found.wrong,
        found.checked,
        first.row,
        first.col,
        match all.rubric.task {
            AssignmentKind::Gemm | AssignmentKind::Predict =>
                format!("{} where {} should be", first.got, rounded(first.want)),
            AssignmentKind::Transpose => word(one, first.row, first.col, first.want),
        }
    );
    if let Some(which) = diagnosis::pattern(one, all.rubric.task) {
        what += &format!("\n  all wrong elements are in {which}");
    }
    let findings = &one.run.findings;
    let has_fault = findings.iter().any(emulator::Finding::is_fatal);
    // Uninitialized bytes may be read because an address is wrong, and the values of C may show which address.
    let by_address = |kind: &FindingKind| matches!(kind, FindingKind::Uninitialized(_));
    let unwritten = findings.iter().find(|finding| by_address(&finding.kind));
    if let Some(finding) = unwritten
        && let Some((symbol, offset)) = &finding.symbol
    {
        what += &format!(
            "\n  {} reads bytes that nobody has written: {symbol} + 0x{offset:x}",
            finding.location.at()
        );
    }
    let by_address = findings.iter().all(|finding| by_address(&finding.kind));
    let cause = match (has_fault, by_address) {
        (true, _) => None,
        (false, true) => diagnosis::of(all, launch, one),
        (false, false) => diagnosis::no_products(all, launch, one),
    };
    let by_sanitizer = faults.complaints.first();
    let (hint, mistake): (String, String) = if let Some(found) = by_sanitizer.filter(|_| has_fault)
    {
        (
            format!(
                "a fault ended the launch before {name} was written: see what the sanitizer says of it"
            ),
            found.mistake.clone(),
        )
    } else if let Some(cause) = cause {
        what += &format!("\n  {}", cause.what);
        // Which factors are wrong follows from bytes that nobody wrote, if there are any.
        judged.explains = findings.is_empty() || cause.kind != CauseKind::Factors;
        let wrong = &all.rubric.wrong;
        // A fragment may be wrong because its source bytes are misplaced; the rubric says which mistake is likely.
        let is_likely = !["wrong-fragment", super::NO_MISTAKE].contains(&&*wrong.mistake);
        match cause.kind {
            // A swizzle on one side leaves an element in its row.
            CauseKind::Chunk if wrong.mistake == SWIZZLE => {
                (wrong.hint.clone(), wrong.mistake.clone())
            }
            // A stage that holds another tile has no wrong fragments, but fragments of another k.
            CauseKind::Chunk if is_likely => (cause.hint, SWIZZLE.into()),
            // Where there is no tile in shared memory, the places are those of global memory.
            kind if kind.mistake() == SWIZZLE && all.rubric.tile[launch.tile].shared_bytes == 0 => (
                "which column does the address that this lane loads name, and which column of C does it store? If a shuffle brings the element: \
                 from which lane?"
                    .into(),
                "exchanged-indices".into(),
            ),
            // A step whose bytes are missing is no step that is left out.
            kind if kind.mistake() == "missing-step" && !findings.is_empty() => (
                "the bytes of a step are missing: where are they stored, and where are they read?".into(),
                "uninitialized".into(),
            ),
            kind => (cause.hint, kind.mistake().to_owned()),
        }
    } else if let Some(found) = by_sanitizer.filter(|_| !by_address) {
        (
            "the sanitizer has found something that may be the cause: begin with that".into(),
            found.mistake.clone(),
        )
    } else if first.got.is_nan() && !first.want.is_nan() {
        let before = match all.rubric.task {
            AssignmentKind::Transpose => "0xffff, a NaN,",
            AssignmentKind::Gemm | AssignmentKind::Predict => "NaN",
        };
        (
            format!(
                "{name} was {before} before the launch: which thread should write this element, and does it?"
            ),
            "c-is-nan".to_owned(),
        )
    } else {
        what += &another_element(all, one, (first.row, first.col)).unwrap_or_default();
        let wrong = &all.rubric.wrong;
        (wrong.hint.clone(), wrong.mistake.clone())
    };
    judged
        .complaints
        .push(super::Complaint::new(what, &hint, &mistake));
}
