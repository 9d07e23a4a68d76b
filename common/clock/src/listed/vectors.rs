//! Neighboring loads from shared memory as one vector load: ptxas merges `ld.shared.f32` of `[%r1]`, `[%r1+4]`, `[%r1+8]` and
//! `[%r1+12]` into an `LDS.128`, if it can tell that `%r1` is a multiple of 16.
use emulator::{Instruction, InstructionKind, Space};
use rustc_hash::FxHashMap as HashMap;

use super::choose::{Chosen, names};

/// The largest vector load.
const VECTOR: u32 = 16;

/// Merges the loads of each block: the first of a vector loads for the others, which become empty.
pub(super) fn merge(
    instructions: &[Instruction],
    chosen: &mut [Chosen],
    blocks: &[(usize, usize)],
) {
    let alignments = alignments(instructions);
    for &(from, to) in blocks {
        let mut open: Vec<Vector> = Vec::new();
        for at in from..to {
            if chosen[at].ordered || chosen[at].stores {
                open.clear();
            }
            // A vector ends where its base is overwritten.
            open.retain(|vector| !chosen[at].writes.contains(&vector.base));
            let Some((base, offset)) = word(&instructions[at]) else {
                continue;
            };
            let aligned = alignments.get(base).copied().unwrap_or(1);
            let size = aligned.min(VECTOR);
            let key = (base, offset.div_euclid(i64::from(size.max(1))));
            let found = open
                .iter_mut()
                .find(|vector| (vector.base.as_str(), vector.number) == key);
            let word = offset.div_euclid(4);
            match found {
                Some(vector)
                    if vector.adjoins(word)
                        && is_fresh(&chosen[vector.first + 1..at], &chosen[at].writes) =>
                {
                    if !vector.words.contains(&word) {
                        vector.words.push(word);
                    }
                    absorb(chosen, vector.first, at, vector.words.len() as u32);
                }
                Some(_) => {}
                None if size > 4 => open.push(Vector {
                    base: base.to_owned(),
                    number: key.1,
                    first: at,
                    words: vec![word],
                }),
                None => {}
            }
        }
    }
}

/// A vector: neighboring words in `[base + size * number, base + size * (number + 1))`.
struct Vector {
    base: String,
    number: i64,
    /// The first of its loads in program order.
    first: usize,
    words: Vec<i64>,
}

impl Vector {
    /// Whether the word is one of its words, or next to one.
    fn adjoins(&self, word: i64) -> bool {
        self.words.iter().any(|one| (one - word).abs() <= 1)
    }
}

/// Whether no instruction in between touches the registers, so that they may be loaded earlier.
fn is_fresh(between: &[Chosen], registers: &[String]) -> bool {
    let touches = |one: &Chosen| {
        registers
            .iter()
            .any(|name| one.reads.contains(name) || one.writes.contains(name))
    };
    !between.iter().any(touches)
}

/// The first load now loads what the other did.
fn absorb(chosen: &mut [Chosen], first: usize, other: usize, count: u32) {
    let writes = std::mem::take(&mut chosen[other].writes);
    chosen[other].reads.clear();
    chosen[other].machine.clear();
    chosen[other].class = None;
    chosen[other].loads = false;
    chosen[first].writes.extend(writes);
    if let Some(load) = chosen[first].machine.last_mut() {
        load.opcode = format!("LDS.{}", 32 * count.next_power_of_two());
    }
}

/// Base and offset of an unguarded load of one 32-bit word from shared memory.
fn word(one: &Instruction) -> Option<(&str, i64)> {
    let InstructionKind::Load(transfer) = &one.kind else {
        return None;
    };
    let is_word = transfer.bytes * transfer.elements == 4 && transfer.space == Space::Shared;
    if !is_word || one.guard.is_some() || transfer.ordered {
        return None;
    }
    let (_, address) = one.text.split_once('[')?;
    let base = address.split([']', '+', '-']).next()?.trim();
    Some((base, transfer.offset))
}

/// For each register that is a sum or product of constants and other such registers, the largest power of two up to [`VECTOR`] that
/// divides it. Variables of shared memory are aligned.
fn alignments(instructions: &[Instruction]) -> HashMap<String, u32> {
    let mut of: HashMap<String, u32> = HashMap::default();
    // From above: a register of a loop is as aligned as the values that it begins with and what is added to it.
    let definitions: Vec<(&str, Vec<&str>, &str)> =
        instructions.iter().filter_map(definition).collect();
    for (written, ..) in &definitions {
        of.insert((*written).to_owned(), VECTOR);
    }
    loop {
        let mut changed = false;
        for (written, operands, root) in &definitions {
            let aligned = aligned(root, operands, &of);
            if let Some(before) = of.get_mut(*written)
                && aligned < *before
            {
                *before = aligned;
                changed = true;
            }
        }
        if !changed {
            return of;
        }
    }
}

/// The register that an instruction writes, its other operands, and the first part of its opcode.
fn definition(one: &Instruction) -> Option<(&str, Vec<&str>, &str)> {
    let text = match one.text.strip_prefix('@') {
        Some(guarded) => guarded.split_once(' ')?.1,
        None => &one.text,
    };
    let (_, operands) = text.split_once([' ', '\t'])?;
    if one.kind.is_store() {
        return None;
    }
    let mut operands = operands
        .split(',')
        .map(|one| one.trim().trim_end_matches(';'));
    let written = operands.next().filter(|name| name.starts_with('%'))?;
    // The upper half of a product is a multiple of nothing.
    let root = one.opcode.split('.').next()?;
    let root = if one.opcode.contains(".hi") { "" } else { root };
    Some((written, operands.collect(), root))
}

fn aligned(root: &str, operands: &[&str], of: &HashMap<String, u32>) -> u32 {
    let operand = |nth: usize| {
        let text = operands.get(nth).copied().unwrap_or("1");
        match (text.parse::<i64>(), text.starts_with('%')) {
            (Ok(0), _) => VECTOR,
            (Ok(number), _) => 1 << number.trailing_zeros().min(VECTOR.trailing_zeros()),
            (Err(_), true) => of.get(text).copied().unwrap_or(1),
            // A variable of shared memory; its name may be in an expression.
            (Err(_), false) if names(text).next().is_some() => VECTOR,
            (Err(_), false) => 1,
        }
    };
    let all = match root {
        "mov" | "cvt" | "cvta" => operand(0),
        "add" | "sub" | "or" | "xor" | "min" | "max" => operand(0).min(operand(1)),
        "selp" => operand(0).min(operand(1)),
        "and" => operand(0).max(operand(1)),
        "mul" => operand(0) * operand(1),
        "mad" => (operand(0) * operand(1)).min(operand(2)),
        "shl" => match operands.get(1).and_then(|by| by.parse::<u32>().ok()) {
            Some(by) => operand(0) << by.min(VECTOR.trailing_zeros()),
            None => operand(0),
        },
        _ => 1,
    };
    all.min(VECTOR)
}

#[cfg(test)]
mod tests {
    use emulator::{Context, Options};

    use super::super::{choose, ranges};
    use super::*;
    use crate::card::Card;

    /// The opcodes of the loads of a kernel that begins with these instructions, where `tile` is in shared memory.
    fn loads(body: &str) -> Vec<String> {
        let ptx = format!(
            ".version 8.8
.target sm_90a
.address_size 64
.entry k()
{{
.reg .b32 %r<9>; .reg .f32 %f<9>;
.shared .align 4 .b8 tile[4096];
mov.u32 %r1, %tid.x;
mov.u32 %r2, tile;
{body}
ret;
}}
"
        );
        let mut context = Context::new(Options::default());
        let module = context.load_module(&ptx).expect("a module");
        let function = module.function("k").expect("a kernel");
        let instructions = function.instructions();
        let mut chosen = choose::all(instructions, &Card::H200);
        merge(instructions, &mut chosen, &ranges(&ptx, instructions));
        let machine = chosen.iter().flat_map(|one| &one.machine);
        let loads = machine.filter(|one| one.opcode.starts_with("LDS"));
        loads.map(|one| one.opcode.clone()).collect()
    }

    /// Loads of the words at 0, 4, 8 and 12.
    const FOUR: &str = "ld.shared.f32 %f1, [%r3];
ld.shared.f32 %f2, [%r3+4];
ld.shared.f32 %f3, [%r3+8];
ld.shared.f32 %f4, [%r3+12];
";

    #[test]
    fn words_of_an_aligned_row_are_one_load() {
        let row = format!("shl.b32 %r4, %r1, 7;\nadd.s32 %r3, %r2, %r4;\n{FOUR}");
        assert_eq!(loads(&row), ["LDS.128"]);
        let product = format!("mad.lo.s32 %r3, %r1, 48, %r2;\n{FOUR}");
        assert_eq!(loads(&product), ["LDS.128"]);
        // Rows of 40 bytes: pairs are aligned.
        let pairs = format!("mad.lo.s32 %r3, %r1, 40, %r2;\n{FOUR}");
        assert_eq!(loads(&pairs), ["LDS.64", "LDS.64"]);
        let words = format!("mad.lo.s32 %r3, %r1, 36, %r2;\n{FOUR}");
        assert_eq!(loads(&words), ["LDS.32"; 4]);
        let a_loop = format!("mov.u32 %r3, %r2;\n$L:\n{FOUR}add.s32 %r3, %r3, 4;\nbra $L;");
        assert_eq!(loads(&a_loop), ["LDS.32"; 4]);
    }

    #[test]
    fn only_neighboring_words_are_one_load() {
        let row = |loads: &str| {
            format!(
                "shl.b32 %r4, %r1, 7;\nadd.s32 %r3, %r2, %r4;\nld.shared.f32 %f1, [%r3];\n{loads}"
            )
        };
        let apart = row("ld.shared.f32 %f2, [%r3+12];");
        assert_eq!(loads(&apart), ["LDS.32", "LDS.32"]);
        let twice = row("ld.shared.f32 %f2, [%r3+4];\nld.shared.f32 %f3, [%r3+4];");
        assert_eq!(loads(&twice), ["LDS.64"]);
        // An upper half may be any number.
        let half = format!("mul.hi.s32 %r4, %r1, 128;\nadd.s32 %r3, %r2, %r4;\n{FOUR}");
        assert_eq!(loads(&half), ["LDS.32"; 4]);
    }

    #[test]
    fn a_store_or_a_barrier_in_between_keeps_loads_apart() {
        let third = FOUR.match_indices("ld.").nth(2).map_or(0, |(at, _)| at);
        let (first, last) = FOUR.split_at(third);
        for between in [
            "st.shared.f32 [%r2], %f1;",
            "bar.sync 0;",
            "add.s32 %r3, %r3, 16;",
        ] {
            let row =
                format!("shl.b32 %r4, %r1, 7;\nadd.s32 %r3, %r2, %r4;\n{first}\n{between}\n{last}");
            let halves = loads(&row);
            assert_eq!(halves, ["LDS.64", "LDS.64"], "{between}");
        }
    }

    #[test]
    fn a_register_in_use_is_not_loaded_earlier() {
        let row = "shl.b32 %r4, %r1, 7;\nadd.s32 %r3, %r2, %r4;\nld.shared.f32 %f1, [%r3];\nadd.f32 %f5, %f2, %f1;\nld.shared.f32 %f2, [%r3+4];";
        assert_eq!(loads(row), ["LDS.32"; 2]);
    }
}
