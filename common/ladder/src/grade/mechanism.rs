//! Whether C is right for the right reason: wavefronts, instructions, bytes of shared memory.
use std::collections::BTreeMap;

use anyhow::Result;
use emulator::Wavefronts;
use harness::{lines, operation, thousands};

use super::Complaint;
use super::conflict::{Conflict, worst};
use super::judge::Launches;
use super::rubric::Rubric;

/// Elements that one `mma.sync.m16n8k16` multiplies and adds.
const PER_MMA: u64 = 16 * 8 * 16;

/// Lines that are complained about; the rest are mostly the same mistake again.
const SHOWN: usize = 4;

/// The part of the points that it has, why, and what is wrong.
///
/// Where C is wrong the kernel may have ended early, so nobody counts its instructions.
pub fn judge(
    rubric: &Rubric,
    all: &Launches,
    sound: bool,
) -> Result<(f64, Vec<String>, Vec<Complaint>)> {
    let (degree, mut complaints) = conflicts(all)?;
    let mut credit = rubric.credit(degree);
    let mut why = vec![format!(
        "the worst access takes {degree:.2} times its ideal wavefronts"
    )];

    let (bytes, allowed) = (all.trial.shared_bytes()?, rubric.geometry.shared_bytes);
    why.push(format!(
        "{} bytes of shared memory, {} are allowed",
        thousands(bytes),
        thousands(allowed)
    ));
    if bytes > allowed {
        credit = 0.0;
        complaints.push(complaint(
            format!(
                "a block has {} bytes of shared memory, {} more than allowed",
                thousands(bytes),
                thousands(bytes - allowed)
            ),
            "the same bytes in another order",
            "over-padding",
        ));
    }
    let found = if sound {
        instructions(rubric, all)?
    } else {
        Vec::new()
    };
    for (what, hint) in found {
        credit = 0.0;
        why.push(what.clone());
        complaints.push(complaint(what, &hint, "none-of-these"));
    }
    Ok((credit, why, complaints))
}

fn complaint(what: String, hint: &str, mistake: &'static str) -> Complaint {
    Complaint {
        what,
        hint: hint.into(),
        mistake,
        player: None,
    }
}

/// What is missing, and what should be; each with its hint.
fn instructions(rubric: &Rubric, all: &Launches) -> Result<Vec<(String, String)>> {
    let instructions = all.trial.instructions()?;
    let mut found = Vec::new();
    let mut mma = 0;
    for (launch, _) in &all.done {
        let [bm, bn, bk] = rubric.geometry.tile.map(u64::from);
        let up = |side: u32, tile: u64| u64::from(side).next_multiple_of(tile);
        mma += up(launch.size.m, bm) * up(launch.size.n, bn) * up(launch.size.k, bk) / PER_MMA;
    }
    for required in &rubric.required {
        let is_one = |index: usize| {
            let name = operation(&instructions[index].text);
            required.any_of.iter().any(|one| name.starts_with(one))
        };
        let executions: u64 = all
            .done
            .iter()
            .flat_map(|(_, one)| one.run.counters.iter().enumerate())
            .filter(|(index, _)| is_one(*index))
            .map(|(_, counters)| counters.executions)
            .sum();
        if (executions as f64) < required.per_mma * mma as f64 {
            let names = required.any_of.join(" or ");
            found.push((
                format!("too few {names}: {executions}"),
                required.hint.clone(),
            ));
        }
    }
    for forbidden in &rubric.forbidden {
        let mut all_of = instructions.iter();
        if let Some(one) =
            all_of.find(|one| operation(&one.text).starts_with(&forbidden.instruction))
        {
            let line = lines::line_of(all.trial.source(), one).unwrap_or_default();
            let what = format!("line {line}: {} is not allowed here", operation(&one.text));
            found.push((what, forbidden.hint.clone()));
        }
    }
    Ok(found)
}

/// The worst quotient of any instruction at any size, and its lines at the first size that shows it.
fn conflicts(all: &Launches) -> Result<(f64, Vec<Complaint>)> {
    let instructions = all.trial.instructions()?;
    let mut degree: f64 = 1.0;
    let mut complaints = Vec::new();
    for (launch, one) in &all.done {
        // By line, the counters and the worst access.
        let mut found = BTreeMap::<u32, (Wavefronts, &str, Option<Conflict>)>::new();
        for (index, (instruction, counters)) in
            instructions.iter().zip(&one.run.counters).enumerate()
        {
            let Wavefronts {
                wavefronts, ideal, ..
            } = counters.shared;
            if wavefronts <= ideal {
                continue;
            }
            degree = degree.max(wavefronts as f64 / ideal.max(1) as f64);
            let line = lines::line_of(all.trial.source(), instruction).unwrap_or_default();
            let asked = one
                .run
                .patterns
                .iter()
                .filter(|asked| asked.instruction == index);
            let conflict = worst(asked, &operation(&instruction.text));
            let entry =
                found
                    .entry(line)
                    .or_insert((Wavefronts::default(), &instruction.text, None));
            entry.0 += counters.shared;
            if entry.2.is_none() {
                entry.2 = conflict;
            }
        }
        if !complaints.is_empty() {
            continue;
        }
        if launch.hidden && !found.is_empty() {
            complaints.push(complaint(
                "conflicts at a hidden size, and at none of the public ones".into(),
                "where does a chunk lie that no public size has?",
                "wrong-for-other-sizes",
            ));
            continue;
        }
        let shown = found.into_iter().take(SHOWN);
        complaints.extend(
            shown.map(|(line, (sum, text, conflict))| at_line(all, line, sum, text, conflict)),
        );
    }
    Ok((degree, complaints))
}

fn at_line(
    all: &Launches,
    line: u32,
    sum: Wavefronts,
    text: &str,
    conflict: Option<Conflict>,
) -> Complaint {
    let operation = operation(text);
    let code = all.trial.source().text.as_deref().unwrap_or_default();
    let code = code
        .lines()
        .nth((line as usize).saturating_sub(1))
        .unwrap_or_default();
    let mut what = format!(
        "line {line}: {}\n  {operation}: {} wavefronts, {} would do",
        code.trim(),
        thousands(sum.wavefronts),
        thousands(sum.ideal)
    );
    if let Some(([one, other], bank)) = conflict.as_ref().and_then(|found| found.meeting) {
        what += &format!(
            "\n  lanes {one} and {other} are served together and want different words of bank {bank}"
        );
    }
    let mistake = match operation.split('.').next() {
        Some("ldmatrix") => "conflicts-on-ldmatrix",
        Some("ld") => "conflicts-on-loads",
        _ => "conflicts-on-stores",
    };
    Complaint {
        what,
        hint: "which bits of the row tell these two lanes apart, and does your formula use them?"
            .into(),
        mistake,
        player: conflict.map(|found| found.player),
    }
}
