//! Names of instructions in a rubric, and how often a kernel executes them.
use emulator::{Counters, Instruction};
use harness::lines;

use super::judge::LaunchResults;
use super::rubric::AssignmentKind;

/// Elements that one `mma.sync.m16n8k16` multiplies and adds.
const PER_MMA: f64 = (16 * 8 * 16) as f64;

/// Whether the opcode of a PTX instruction is the one of this name: the first word is the same, and the name's
/// other words are among its modifiers, in their order. `ld.global` is `ld.volatile.global.u16` too, and `ld.shared`
/// is `ld.shared::cta.u16`, but neither is `ldmatrix`.
pub fn is(name: &str, opcode: &str) -> bool {
    let mut words = opcode.split('.');
    let mut wanted = name.split('.');
    wanted.next() == words.next()
        && wanted.all(|word| words.any(|other| other == word || without_part(other) == word))
}

/// A state space without its part: `shared` of `shared::cta`.
fn without_part(word: &str) -> &str {
    word.split("::").next().unwrap_or(word)
}

/// As [`is`], where a generic access counts as one of the memory that it went to.
fn is_executed_as(name: &str, opcode: &str, counters: &Counters) -> bool {
    if is(name, opcode) {
        return true;
    }
    let spaces = ["shared", "global", "local", "const", "param"];
    let mut words = opcode.split('.').map(without_part);
    let generic = !words.any(|word| spaces.contains(&word));
    let went = match name.split_once('.') {
        Some((_, "shared")) => counters.shared.wavefronts > 0,
        Some((_, "global")) => counters.global_sectors > 0,
        _ => false,
    };
    let first = name.split('.').next().unwrap_or(name);
    generic && went && is(first, opcode)
}

/// How often it may or must be executed in all launches.
#[derive(Default)]
struct Work {
    mma: f64,
    steps: f64,
    /// Bytes of the tiles that come in: of A and B at each step, or of the one that is transposed.
    bytes: f64,
}

impl Work {
    fn of(all: &LaunchResults) -> Self {
        let mut work = Self::default();
        for (launch, _) in &all.done {
            let tile = all.rubric.tile[launch.tile];
            let [rows, columns, steps] = launch.tiles(all.rubric).map(|tiles| tiles as f64);
            let (steps, elements) = match all.rubric.task {
                AssignmentKind::Gemm => (rows * columns * steps, (tile.m + tile.n) * tile.k),
                AssignmentKind::Transpose | AssignmentKind::Predict => {
                    (rows * columns, tile.m * tile.n)
                }
            };
            let products: f64 = [tile.m, tile.n, tile.k].map(f64::from).iter().product();
            work.steps += steps;
            work.bytes += steps * f64::from(2 * elements);
            work.mma += steps * products / PER_MMA;
        }
        work
    }
}

/// What is missing, and what should be; each with its hint.
pub fn judge<'a>(all: &LaunchResults<'a>) -> Vec<(String, &'a str)> {
    let work = Work::of(all);
    let mut found = Vec::new();
    for required in &all.part.required {
        let done = done(all, &required.any_of);
        let names = required.any_of.join(" or ");
        let wanted = required.per_mma * work.mma + required.per_step * work.steps;
        let bytes = required.tiles * work.bytes;
        // Counts are whole, their bounds need not be.
        let what = if done.executions < wanted - 1e-6 {
            format!("too few {names}: {:.0}, not {wanted:.0}", done.executions)
        } else if done.bytes < bytes {
            format!(
                "too little by {names}: {:.0} bytes, not {bytes:.0}",
                done.bytes
            )
        } else {
            continue;
        };
        found.push((what, required.hint.as_str()));
    }
    for forbidden in &all.part.forbidden {
        let name = &forbidden.instruction;
        let allowed = forbidden.per_mma * work.mma + forbidden.per_step * work.steps;
        let what = if allowed > 0.0 {
            let executions = done(all, std::slice::from_ref(name)).executions;
            (executions > allowed + 1e-6)
                .then(|| format!("too many {name}: {executions:.0}, not {allowed:.0}"))
        } else {
            first(all, name)
        };
        found.extend(what.map(|what| (what, forbidden.hint.as_str())));
    }
    found
}

/// What instructions did in all launches.
#[derive(Default)]
struct Done {
    /// Warp-level, in which at least one lane took part; of `mma.sync`, in products of m16n8k16.
    executions: f64,
    bytes: f64,
}

fn done(all: &LaunchResults, names: &[String]) -> Done {
    let mut sum = Done::default();
    for (launch, one) in &all.done {
        let instructions = all.trial(launch).instructions();
        for (instruction, counters) in instructions.iter().zip(&one.run.counters) {
            let opcode = &instruction.opcode;
            let is_it = |name: &String| is_executed_as(name, opcode, counters);
            if names.iter().any(is_it) {
                // With a false predicate no lane takes part.
                let executions = counters.executions.min(counters.threads) as f64;
                // A product of fewer K is a part of one.
                let is_half = is("mma.sync", opcode) && is("mma.m16n8k8", opcode);
                sum.executions += executions * if is_half { 0.5 } else { 1.0 };
                sum.bytes += counters.bytes as f64;
            }
        }
    }
    sum
}

/// The line of an instruction that may not be there at all, executed or not.
fn first(all: &LaunchResults, name: &str) -> Option<String> {
    all.done.iter().find_map(|(launch, one)| {
        let trial = all.trial(launch);
        let is_one = |(index, instruction): &(usize, &Instruction)| {
            let counters = one.run.counters.get(*index).copied().unwrap_or_default();
            is_executed_as(name, &instruction.opcode, &counters)
        };
        let (_, found) = trial.instructions().iter().enumerate().find(is_one)?;
        let line = lines::line_of(trial.source(), found).unwrap_or_default();
        let opcode = &found.opcode;
        Some(format!("line {line}: {opcode} is not allowed here"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_matched_by_words() {
        for (name, opcode, same) in [
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
            assert_eq!(is(name, opcode), same, "{name} and {opcode}");
        }
    }

    #[test]
    fn a_generic_access_is_what_it_does() {
        let mut shared = Counters::default();
        shared.shared.wavefronts = 1;
        let global = Counters {
            global_sectors: 1,
            ..Counters::default()
        };
        let both = Counters {
            global_sectors: 1,
            ..shared
        };
        assert!(is_executed_as("ld.global", "ld.u16", &global));
        assert!(!is_executed_as("ld.global", "ld.u16", &shared));
        assert!(is_executed_as("ld.shared", "ld.volatile.u16", &shared));
        assert!(!is_executed_as("ld.shared", "ld.param.u64", &both));
        assert!(!is_executed_as("ld.global", "ld.shared::cta.u16", &global));
    }
}
