//! The object that `--json` prints. Launches are stored under their names, so that a JSON pointer can select one.
use std::collections::BTreeMap;

use emulator::Counters;
use harness::counted_lines;
use harness::lines::{Row, sum, totals};
use serde_json::{Map, Value, json};

use crate::lab::{CompletedLaunch, Lab, Purpose};

/// The list of experiments: what each shows, under its name.
pub fn list(labs: &[Lab]) -> String {
    let labs: Map<String, Value> = labs
        .iter()
        .map(|lab| (lab.name.to_owned(), lab.about.into()))
        .collect();
    harness::schema::LABS.pretty(&json!({ "labs": labs }))
}

/// All launches of an experiment.
pub fn text(lab: &Lab, place: &str, done: &[CompletedLaunch]) -> String {
    let launches: Map<String, Value> = done
        .iter()
        .map(|done| (done.launch.name.clone(), launch(done)))
        .collect();
    harness::schema::LABS.pretty(&json!({ "lab": lab.name, "on": place, "launches": launches }))
}

fn launch(done: &CompletedLaunch) -> Value {
    let purpose = match done.launch.purpose {
        Purpose::Right => "right",
        Purpose::Wrong => "wrong",
        Purpose::Fault(_) => "fault",
    };
    let verdict = done.verdict.as_ref();
    let first = verdict.and_then(|verdict| verdict.first_wrong);
    json!({
        "kernel": done.launch.entry,
        "arch": done.source.arch,
        "purpose": purpose,
        "as_intended": done.as_intended(),
        "checked": verdict.map(|verdict| verdict.checked),
        "wrong": verdict.map(|verdict| verdict.wrong),
        "first_wrong": first.map(|(place, got, want)| json!({ "place": place, "got": got, "want": want })),
        "worst_error_of_bound": verdict.map(|verdict| verdict.worst),
        "findings": done.findings(),
        "counters": counters(done),
    })
}

fn counters(done: &CompletedLaunch) -> Option<Value> {
    let (program, run) = done.emulated.as_ref()?;
    let all = sum(&run.counters);
    let totals = totals(program.instructions(), &run.counters);
    let by_kind: BTreeMap<Row, Value> = totals.iter().map(|(row, of)| (*row, kind(of))).collect();
    Some(json!({
        "instructions": all.executions,
        "shared_bytes": program.static_shared() + done.launch.dynamic_shared,
        "shared_wavefronts": all.shared.wavefronts,
        "shared_wavefronts_ideal": all.shared.ideal,
        "bank_conflicts": all.shared.conflicts,
        "global_requests": all.global_requests,
        "global_sectors": all.global_sectors,
        "by_kind": by_kind,
        "lines": counted_lines(&done.source, program.instructions(), &run.counters),
    }))
}

fn kind(counters: &Counters) -> Value {
    json!({
        "executions": counters.executions,
        "wavefronts": counters.shared.wavefronts,
        "ideal": counters.shared.ideal,
        "conflicts": counters.shared.conflicts,
        "requests": counters.global_requests,
        "sectors": counters.global_sectors,
    })
}
