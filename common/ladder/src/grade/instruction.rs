//! Names of instructions in a rubric, and how often a kernel executes them.
use emulator::Instruction;
use harness::operation;

use super::judge::Launches;
use super::rubric::{Part, Rubric, Task};

/// Elements that one `mma.sync.m16n8k16` multiplies and adds.
const PER_MMA: f64 = (16 * 8 * 16) as f64;

/// Whether the operation of a PTX instruction is the one of this name: the first word is the same, and the name's
/// other words are among its modifiers, in their order. `ld.global` is `ld.volatile.global.u16` too, and `ld.shared`
/// is `ld.shared::cta.u16`, but neither is `ldmatrix`.
pub fn is(name: &str, operation: &str) -> bool {
    let mut words = operation.split('.');
    let mut wanted = name.split('.');
    wanted.next() == words.next()
        && wanted.all(|word| words.any(|other| other == word || without_part(other) == word))
}

/// A state space without its part: `shared` of `shared::cta`.
fn without_part(word: &str) -> &str {
    word.split("::").next().unwrap_or(word)
}

/// As [`is`], where a generic access counts as one of the memory that it went to.
fn is_executed_as(name: &str, operation: &str, shared: bool, global: bool) -> bool {
    if is(name, operation) {
        return true;
    }
    let spaces = ["shared", "global", "local", "const", "param"];
    let mut words = operation.split('.').map(without_part);
    let generic = !words.any(|word| spaces.contains(&word));
    let Some((first, space)) = name.split_once('.') else {
        return false;
    };
    let went = (space == "shared" && shared) || (space == "global" && global);
    generic && went && is(first, operation)
}

/// How often it may or must be executed in all launches.
struct Work {
    mma: f64,
    steps: f64,
    /// Bytes of the tiles that come in: of A and B at each step, or of the one that is transposed.
    bytes: f64,
}

impl Work {
    fn of(rubric: &Rubric, all: &Launches) -> Self {
        let mut work = Self {
            mma: 0.0,
            steps: 0.0,
            bytes: 0.0,
        };
        for (launch, _) in &all.done {
            let tile = rubric.tile[launch.tile];
            let up = |side: u32, tile: u32| f64::from(side.div_ceil(tile));
            let [m, n, k] = [
                up(launch.size.m, tile.m),
                up(launch.size.n, tile.n),
                match rubric.task {
                    Task::Gemm => up(launch.size.k, tile.k),
                    _ => 1.0,
                },
            ];
            let elements = [tile.m, tile.n, tile.k]
                .map(f64::from)
                .iter()
                .product::<f64>();
            let of_a_step = match rubric.task {
                Task::Gemm => (tile.m + tile.n) * tile.k,
                _ => tile.m * tile.n,
            };
            work.steps += m * n * k;
            work.bytes += m * n * k * f64::from(2 * of_a_step);
            work.mma += m * n * k * elements / PER_MMA;
        }
        work
    }
}

/// What is missing, and what should be; each with its hint.
pub fn judge(
    rubric: &Rubric,
    part: &Part,
    all: &Launches,
) -> anyhow::Result<Vec<(String, String)>> {
    let work = Work::of(rubric, all);
    let mut found = Vec::new();
    for required in &part.required {
        let done = done(all, &required.any_of)?;
        let names = required.any_of.join(" or ");
        let wanted = required.per_mma * work.mma + required.per_step * work.steps;
        // Counts are whole, their bounds need not be.
        let what = if done.executions < wanted - 1e-6 {
            format!("too few {names}: {:.0}, not {:.0}", done.executions, wanted)
        } else if done.bytes < required.tiles * work.bytes {
            let wanted = required.tiles * work.bytes;
            format!(
                "too little by {names}: {:.0} bytes, not {wanted:.0}",
                done.bytes
            )
        } else {
            continue;
        };
        found.push((what, required.hint.clone()));
    }
    for forbidden in &part.forbidden {
        let name = std::slice::from_ref(&forbidden.instruction);
        let allowed = forbidden.per_mma * work.mma + forbidden.per_step * work.steps;
        let executions = done(all, name)?.executions;
        let what = if allowed > 0.0 {
            (executions > allowed + 1e-6).then(|| {
                let name = &forbidden.instruction;
                format!("too many {name}: {executions:.0}, not {allowed:.0}")
            })
        } else {
            first(all, &forbidden.instruction)?
        };
        found.extend(what.map(|what| (what, forbidden.hint.clone())));
    }
    Ok(found)
}

/// What instructions did in all launches.
#[derive(Default)]
struct Done {
    /// Warp-level, in which at least one lane took part; of `mma.sync`, in products of m16n8k16.
    executions: f64,
    bytes: f64,
}

fn done(all: &Launches, names: &[String]) -> anyhow::Result<Done> {
    let mut sum = Done::default();
    for (launch, one) in &all.done {
        let instructions = all.trial(launch).instructions()?;
        for (instruction, counters) in instructions.iter().zip(&one.run.counters) {
            let operation = operation(&instruction.text);
            let (shared, global) = (counters.shared.wavefronts > 0, counters.global_sectors > 0);
            if names
                .iter()
                .any(|name| is_executed_as(name, &operation, shared, global))
            {
                // With a false predicate no lane takes part.
                let executions = counters.executions.min(counters.threads) as f64;
                sum.executions += executions * products(&operation);
                sum.bytes += counters.bytes as f64;
            }
        }
    }
    Ok(sum)
}

/// How many `mma.sync.m16n8k16` an instruction is worth: those of fewer K are a part of one.
fn products(operation: &str) -> f64 {
    match is("mma.sync", operation) && is("mma.m16n8k8", operation) {
        true => 0.5,
        false => 1.0,
    }
}

/// Where an instruction stands that may not be there at all, executed or not.
fn first(all: &Launches, name: &str) -> anyhow::Result<Option<String>> {
    for (launch, one) in &all.done {
        let trial = all.trial(launch);
        let is_one = |(index, instruction): &(usize, &Instruction)| {
            let operation = operation(&instruction.text);
            let counters = one.run.counters.get(*index).copied().unwrap_or_default();
            let (shared, global) = (counters.shared.wavefronts > 0, counters.global_sectors > 0);
            is_executed_as(name, &operation, shared, global)
        };
        let instructions = trial.instructions()?;
        if let Some((_, instruction)) = instructions.iter().enumerate().find(is_one) {
            let line = harness::lines::line_of(trial.source(), instruction).unwrap_or_default();
            let operation = operation(&instruction.text);
            return Ok(Some(format!(
                "line {line}: {operation} is not allowed here"
            )));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_matched_by_words() {
        for (name, operation, same) in [
            ("ld.global", "ld.global.u16", true),
            ("ld.global", "ld.volatile.global.v4.u32", true),
            ("ld.global", "ld.shared.u16", false),
            ("ld.shared", "ld.shared::cta.u16", true),
            ("ld", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", false),
            (
                "mma.sync",
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                true,
            ),
            ("fma", "fma.rn.f32", true),
            ("add.f32", "add.rn.f32", true),
            ("add.f32", "add.s32", false),
            ("cp.async.cg", "cp.async.cg.shared.global", true),
            ("cp.async.wait_all", "cp.async.cg.shared.global", false),
        ] {
            assert_eq!(is(name, operation), same, "{name} and {operation}");
        }
    }

    #[test]
    fn a_generic_access_is_what_it_does() {
        assert!(is_executed_as("ld.global", "ld.u16", false, true));
        assert!(!is_executed_as("ld.global", "ld.u16", true, false));
        assert!(is_executed_as("ld.shared", "ld.volatile.u16", true, false));
        assert!(!is_executed_as("ld.shared", "ld.param.u64", true, true));
        assert!(!is_executed_as(
            "ld.global",
            "ld.shared::cta.u16",
            false,
            true
        ));
    }
}
