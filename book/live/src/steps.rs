//! The first block of a rung, instruction by instruction, for a page that steps through it.
use emulator::{Effect, Operand, TraceEffect};
use harness::{Rung, StepThrough};
use serde_json::{Value, json};

/// The most instructions that a page gets.
const MOST: usize = 50_000;

/// The kernel's text, its PTX instructions with their source lines, the findings of `sanitize`, the steps in the
/// emulator's order with their operands, and the effect of each on barriers and copies.
pub fn steps(rung: &Rung, words: &[&str], most: usize) -> Result<Value, String> {
    let (settings, target) = harness::asked(rung, words)?;
    let found = StepThrough::new(rung, &settings, &target, most.min(MOST));
    let found = found.map_err(|error| harness::explained(&error))?;
    let function = &found.kernel.function;
    let instructions = function.instructions().iter().map(|one| {
        let source = one.source.as_ref();
        json!({ "ptx": one.text, "ptxLine": one.ptx_line, "line": source.map(|source| source.line),
            "file": source.map(|source| source.file.as_ref()) })
    });
    let variables = function.shared_variables();
    let variables = variables
        .iter()
        .map(|one| json!({ "name": one.name, "start": one.start, "bytes": one.bytes }));
    let findings = found.findings.iter().map(|one| {
        json!({ "text": one.to_string(), "step": one.step, "line": one.location.source.as_ref().map(|source| source.line) })
    });
    let mut executed = std::collections::BTreeMap::new();
    let steps = found.snapshot.steps.iter().map(|step| {
        // A warp's steps have the same numbers as in its trace.
        let event = executed.entry(step.warp).or_insert(0u32);
        let effects = found.traces.iter().find(|trace| trace.warp == step.warp);
        let effects = effects.map_or(&[][..], |trace| {
            let from = trace.effects.partition_point(|one| one.event < *event);
            let to = trace.effects.partition_point(|one| one.event <= *event);
            &trace.effects[from..to]
        });
        *event += 1;
        let mut one = json!({ "i": step.instruction, "w": step.warp, "a": step.active });
        if !step.changed.is_empty() {
            one["changed"] = json!(step.changed);
        }
        if !effects.is_empty() {
            one["effects"] = effects.iter().map(effect).collect();
        }
        if !step.landed.is_empty() {
            let landed = step.landed.iter();
            one["landed"] = landed
                .map(|one| json!({ "at": one.at, "bytes": one.bytes, "mbarrier": one.mbarrier }))
                .collect();
        }
        let operands = step.operands.and_then(|at| found.snapshot.operands.get(at));
        if let Some(operands) = operands {
            one["operands"] = operands.operands.iter().map(operand).collect();
        }
        one
    });
    let executed_in_all: usize = found.traces.iter().map(|trace| trace.events.len()).sum();
    Ok(json!({
        "source": found.kernel.source.text, "file": found.kernel.source.file, "base": emulator::SHARED_BASE,
        "threads": found.kernel.spec.threads, "instructions": instructions.collect::<Vec<_>>(),
        "shared": variables.collect::<Vec<_>>(), "findings": findings.collect::<Vec<_>>(),
        "steps": steps.collect::<Vec<_>>(), "executed": executed_in_all,
    }))
}

/// Role, index, bytes, and the value in each lane as hexadecimal digits, two per byte, lane after lane.
fn operand(one: &Operand) -> Value {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(64 * one.bytes as usize);
    for lane in one.lanes {
        for digit in (0..2 * one.bytes).rev() {
            text.push(DIGITS[(lane >> (4 * digit) & 15) as usize].into());
        }
    }
    json!([one.role, one.number, one.bytes, text])
}

fn effect(one: &TraceEffect) -> Value {
    match one.effect {
        Effect::Shared { wavefronts } => json!({ "shared": { "wavefronts": wavefronts } }),
        Effect::Global { count, .. } => json!({ "global": { "lines": count } }),
        Effect::BulkCopy {
            bytes,
            mbarrier,
            ranks,
            ..
        } => {
            json!({ "bulkCopy": { "bytes": bytes, "mbarrier": mbarrier, "ranks": ranks } })
        }
        Effect::MbarrierInit { at, count } => json!({ "init": { "at": at, "count": count } }),
        Effect::MbarrierArrive {
            rank,
            at,
            count,
            bytes,
        } => {
            json!({ "arrive": { "rank": rank, "at": at, "count": count, "bytes": bytes } })
        }
        Effect::MbarrierCopies { at, noinc } => json!({ "copies": { "at": at, "noinc": noinc } }),
        Effect::MbarrierWait { at, parity } => json!({ "wait": { "at": at, "parity": parity } }),
        Effect::Barrier { number, threads } => {
            json!({ "barrier": { "number": number, "threads": threads } })
        }
    }
}
