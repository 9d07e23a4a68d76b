//! Finds launches of the same kernel that execute what the user's launch does not, by trying them. Buffers keep their
//! size, so a launch that leaves them is not proposed.
use std::str::FromStr;

use anyhow::Result;
use emulator::{Finding, FindingKind, LaunchReport, Limits, Options, ParamKind, Synchronization};
use harness::Target;

use super::argument::Argument;
use super::element::integer;
use super::launch::{Dimensions, Launch};
use super::prepared;
use super::program::Program;

/// The maximum number of trials.
const MOST: usize = 24;
/// The limit of warp instructions per trial: this many times those of the user's launch, and at least this many.
const TIMES: u64 = 8;
const LEAST: u64 = 1 << 16;

/// Looks for launches that execute what `report` lists as never executed, and names the first for each.
pub fn propose(
    program: &Program,
    launch: &Launch,
    target: &Target,
    options: &Options,
    report: &mut LaunchReport,
) {
    let own: u64 = report.counters.iter().map(|one| one.executions).sum();
    let options = Options {
        sanitize: false,
        patterns: false,
        limits: Limits {
            instructions: options
                .limits
                .instructions
                .min(own.saturating_mul(TIMES).max(LEAST)),
            ..options.limits
        },
        ..options.clone()
    };
    let is_unseen = |one: &&mut Finding| matches!(one.kind, FindingKind::NeverExecuted { .. });
    let mut left: Vec<&mut Finding> = report.remarks.iter_mut().filter(is_unseen).collect();
    for (other, by) in others(program, launch).into_iter().take(MOST) {
        if left.is_empty() {
            return;
        }
        // A launch that is refused or fails proves nothing.
        let Ok(Some(executed)) = executed(program, &other, target, &options) else {
            continue;
        };
        left.retain_mut(|finding| {
            let seen = executed(finding.location.instruction);
            if let (true, FindingKind::NeverExecuted { executed_by, .. }) =
                (seen, &mut finding.kind)
            {
                *executed_by = Some(by.clone());
            }
            !seen
        });
    }
}

/// The instructions that a plain launch executes; none if it has a finding.
fn executed(
    program: &Program,
    launch: &Launch,
    target: &Target,
    options: &Options,
) -> Result<Option<impl Fn(usize) -> bool>> {
    let mut ready = prepared(program, launch, target, options.clone())?;
    let run = ready
        .device
        .launch(&ready.function, &ready.config, &ready.placed.args)?;
    let Some(run) = run.filter(|run| run.findings.is_empty()) else {
        return Ok(None);
    };
    Ok(Some(move |index: usize| {
        let instructions = ready.function.instructions();
        let line = |at: usize| {
            let instruction = &instructions[at];
            let source = instruction.source.as_ref()?;
            Some((source, Synchronization::of(instruction)))
        };
        let mut counted = run.counters.iter().enumerate();
        counted.any(|(at, counters)| {
            let same = at == index || line(at).is_some_and(|one| Some(one) == line(index));
            same && counters.threads > 0
        })
    }))
}

/// Launches with one change, each with a description: more blocks, or another integer.
fn others(program: &Program, launch: &Launch) -> Vec<(Launch, String)> {
    let mut all = Vec::new();
    if let Some(Dimensions([x, y, z])) = launch.grid {
        for times in [2, 4, 8] {
            let Some(more) = x.checked_mul(times) else {
                continue;
            };
            let other = Launch {
                grid: Some(Dimensions([more, y, z])),
                ..launch.clone()
            };
            all.push((other, format!("--grid {more},{y},{z}")));
        }
    }
    for (position, (argument, param)) in launch.arguments.iter().zip(&program.params).enumerate() {
        let (Argument::Number(text), ParamKind::Integer) = (argument, param.kind) else {
            continue;
        };
        let small = |value: &i128| value.abs() < 1 << 62;
        let Some(value) = integer(text).filter(small) else {
            continue;
        };
        for value in [value + 1, value - 1, 2 * value, 4 * value, value / 2] {
            let mut other = launch.clone();
            let Ok(argument) = Argument::from_str(&value.to_string()) else {
                continue;
            };
            other.arguments[position] = argument;
            all.push((other, format!("argument {position} as {value}")));
        }
    }
    all
}
