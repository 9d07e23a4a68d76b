//! Where the value of a load is used that the compiler has merged with others, or moved to a line that cannot have a load.
use emulator::{Instruction, InstructionKind, Location};
use harness::lines;

use super::launches::LaunchResults;
use super::plan::PlannedLaunch;
use super::quote;

/// For a load that has no line (0), or one that cannot have a load: the line that uses its value.
pub fn used(all: &LaunchResults, launch: &PlannedLaunch, location: &Location) -> Option<String> {
    let trial = all.trial(launch);
    let instructions = trial.instructions();
    let load = instructions.get(location.instruction)?;
    let text_of = |line: u32| quote::text(trial.source(), line);
    let at = lines::line_of(trial.source(), load)?;
    let is_load = matches!(load.kind, InstructionKind::Load(_));
    if !is_load || text_of(at).is_some_and(|text| may_load(&text)) {
        return None;
    }
    let behind = instructions.get(location.instruction + 1..)?;
    let uses = |of: &&Instruction| loaded(&load.text).any(|register| reads(&of.text, register));
    let used = behind.iter().filter(uses);
    let mut used = used.filter_map(|of| lines::line_of(trial.source(), of));
    let line = used.find(|line| text_of(*line).is_some_and(|text| may_load(&text)))?;
    let text = text_of(line)?;
    Some(format!(
        "\n  the compiler has moved or merged this load: its value is used in line {line}: {text}"
    ))
}

/// Whether a line of CUDA can have a load: a subscript, a dereference, or a call of something that is not a barrier.
fn may_load(text: &str) -> bool {
    let code = text.split("//").next().unwrap_or_default().trim();
    if code.starts_with('#') {
        return false;
    }
    let before = |at: usize| code[..at].trim_end();
    let dereferences = |(at, _): (usize, &str)| {
        let next = code[at + 1..].chars().next();
        let is_operand = next.is_some_and(|c| c.is_alphabetic() || c == '_' || c == '(');
        let is_product = before(at).ends_with(|c: char| c.is_alphanumeric() || "_])".contains(c));
        is_operand && !is_product
    };
    let calls = |(at, _): (usize, &str)| {
        let name = before(at).rsplit(|c: char| !c.is_alphanumeric() && c != '_');
        let name = name.into_iter().next().unwrap_or_default();
        !["", "for", "while", "if", "switch"].contains(&name) && !name.starts_with("__sync")
    };
    code.contains('[')
        || code.match_indices('*').any(dereferences)
        || code.match_indices('(').any(calls)
}

/// The registers that a load of PTX defines: `ld.shared.v2.u32 {%r1, %r2}, [%r3];`.
fn loaded(text: &str) -> impl Iterator<Item = &str> {
    let before = text.split('[').next().unwrap_or_default();
    words(before).filter(|word| word.starts_with('%'))
}

/// Whether a PTX instruction names this register.
fn reads(text: &str, register: &str) -> bool {
    words(text).any(|word| word == register)
}

/// Opcodes, registers and numbers of a PTX instruction.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && !"%_$.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_can_have_a_load() {
        for text in [
            "x = As[row];",
            "x = *p;",
            "load(step);",
            "for (int i = 0; i < n[0]; ++i)",
            "for (int i = 0; i < *n; ++i)",
            "while (*flag == 0) {}",
            "while (atomicAdd(p, 0) == 0)",
        ] {
            assert!(may_load(text), "{text}");
        }
        for text in [
            "for (int i = 0; i < n; ++i) {",
            "for (int i = 0; i < a * b; ++i) {",
            "if (threadIdx.x == 0)",
            "#pragma unroll",
            "__syncthreads();",
            "}",
            "// As[row]",
        ] {
            assert!(!may_load(text), "{text}");
        }
    }

    #[test]
    fn registers_of_a_load_and_of_its_use() {
        let both: Vec<_> = loaded("ld.shared.v2.u32 {%r1, %r2}, [%r3+4];").collect();
        assert_eq!(both, ["%r1", "%r2"]);
        assert!(reads("add.s32 %r5, %r1, 4;", "%r1"));
        assert!(!reads("add.s32 %r5, %r10, 4;", "%r1"));
    }
}
