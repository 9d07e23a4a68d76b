//! What each line of the kernel did to the memory: the counters of its PTX instructions, added up.
use std::collections::BTreeMap;

use emulator::{Counters, Instruction};

use crate::Source;

/// The memory accesses of one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The counters of its instructions, added up.
    pub counters: Counters,
    /// Neighbouring accesses that ptxas may merge into one.
    pub neighbours: Option<Neighbours>,
}

/// PTX accesses of the same kind side by side: ptxas may make one wide access of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// How many.
    pub count: u32,
    /// Bytes of each.
    pub bytes: u32,
}

/// What an instruction does with which memory, for the totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// `ld.shared`, `ldmatrix`.
    SharedLoads,
    /// `st.shared`, `stmatrix`.
    SharedStores,
    /// `cp.async`, where it arrives.
    SharedCopies,
    /// Atomics.
    SharedOther,
    /// `ld.global`.
    GlobalLoads,
    /// `st.global`.
    GlobalStores,
    /// `cp.async`, where it starts.
    GlobalCopies,
    /// Atomics.
    GlobalOther,
}

/// The lines that touch memory, by number: lines of kernel.cu, or of the PTX where that is all there is.
pub fn by_line(
    source: &Source,
    instructions: &[Instruction],
    counters: &[Counters],
) -> BTreeMap<u32, Line> {
    let mut lines = BTreeMap::<u32, Line>::new();
    for (instruction, counters) in instructions.iter().zip(counters) {
        if !touches_memory(counters) {
            continue;
        }
        if let Some(line) = line_of(source, instruction) {
            add(&mut lines.entry(line).or_default().counters, counters);
        }
    }
    for (first, neighbours) in neighbours(instructions) {
        if let Some(line) =
            line_of(source, &instructions[first]).and_then(|line| lines.get_mut(&line))
            && line
                .neighbours
                .is_none_or(|other| other.count < neighbours.count)
        {
            line.neighbours = Some(neighbours);
        }
    }
    lines
}

/// The line to which an instruction belongs, if it comes from the kernel's own text.
pub fn line_of(source: &Source, instruction: &Instruction) -> Option<u32> {
    match &source.text {
        None => Some(instruction.ptx_line),
        Some(_) => instruction
            .source
            .as_ref()
            .filter(|s| *s.file == *source.name)
            .map(|s| s.line),
    }
}

/// The whole launch, by kind of access.
pub fn totals(instructions: &[Instruction], counters: &[Counters]) -> BTreeMap<Row, Counters> {
    let mut totals = BTreeMap::new();
    for (instruction, counters) in instructions.iter().zip(counters) {
        let operation = instruction
            .text
            .split_whitespace()
            .find(|word| !word.starts_with('@'))
            .unwrap_or("");
        let (load, store) = (operation.starts_with("ld"), operation.starts_with("st"));
        let copy = operation.starts_with("cp.async");
        if counters.shared.wavefronts > 0 {
            let row = if load {
                Row::SharedLoads
            } else if store {
                Row::SharedStores
            } else if copy {
                Row::SharedCopies
            } else {
                Row::SharedOther
            };
            add(totals.entry(row).or_default(), counters);
        }
        if counters.global_requests > 0 {
            let row = if load {
                Row::GlobalLoads
            } else if store {
                Row::GlobalStores
            } else if copy {
                Row::GlobalCopies
            } else {
                Row::GlobalOther
            };
            add(totals.entry(row).or_default(), counters);
        }
    }
    totals
}

/// All counters of a launch, added up.
pub fn sum<'a>(counters: impl IntoIterator<Item = &'a Counters>) -> Counters {
    counters
        .into_iter()
        .fold(Counters::default(), |mut sum, counters| {
            add(&mut sum, counters);
            sum
        })
}

fn touches_memory(counters: &Counters) -> bool {
    counters.shared.wavefronts > 0 || counters.global_requests > 0
}

fn add(sum: &mut Counters, other: &Counters) {
    sum.executions += other.executions;
    sum.threads += other.threads;
    sum.bytes += other.bytes;
    sum.shared.wavefronts += other.shared.wavefronts;
    sum.shared.ideal += other.shared.ideal;
    sum.shared.conflicts += other.shared.conflicts;
    sum.global_requests += other.global_requests;
    sum.global_sectors += other.global_sectors;
    sum.global_sectors_ideal += other.global_sectors_ideal;
}

/// A scalar load or store with a register and an offset for its address.
#[derive(Debug, PartialEq, Eq)]
struct Access<'a> {
    guard: Option<&'a str>,
    operation: &'a str,
    base: &'a str,
    offset: i64,
    bytes: u32,
}

/// Runs of accesses with the same operation and base, each right behind the one before: the index of
/// the first, and the run. A branch or barrier ends every run.
fn neighbours(instructions: &[Instruction]) -> Vec<(usize, Neighbours)> {
    let mut found = Vec::new();
    let mut open: Vec<(usize, Access, u32)> = Vec::new();
    for (index, instruction) in instructions.iter().enumerate() {
        if ends_a_run(&instruction.text) {
            close(&mut open, &mut found);
        }
        let Some(access) = access(&instruction.text) else {
            continue;
        };
        let next = open.iter_mut().find(|(_, last, _)| {
            (last.guard, last.operation, last.base) == (access.guard, access.operation, access.base)
                && last.offset + i64::from(last.bytes) == access.offset
        });
        match next {
            Some((_, last, count)) => (*last, *count) = (access, *count + 1),
            None => open.push((index, access, 1)),
        }
    }
    close(&mut open, &mut found);
    found
}

fn close(open: &mut Vec<(usize, Access, u32)>, found: &mut Vec<(usize, Neighbours)>) {
    let runs = open.drain(..).filter(|(_, _, count)| *count > 1);
    found.extend(runs.map(|(first, access, count)| {
        (
            first,
            Neighbours {
                count,
                bytes: access.bytes,
            },
        )
    }));
}

fn ends_a_run(text: &str) -> bool {
    let operation = text
        .split_whitespace()
        .find(|word| !word.starts_with('@'))
        .unwrap_or("");
    ["bra", "bar", "barrier", "ret", "exit", "membar", "fence"]
        .iter()
        .any(|end| operation.split(['.', ';']).next() == Some(end))
}

fn access(text: &str) -> Option<Access<'_>> {
    let (guard, text) = match text.strip_prefix('@') {
        Some(rest) => rest
            .split_once(char::is_whitespace)
            .map(|(guard, rest)| (Some(guard), rest.trim_start()))?,
        None => (None, text),
    };
    let (operation, operands) = text.split_once(char::is_whitespace)?;
    let mut parts = operation.split('.');
    let (kind, space) = (parts.next()?, parts.next()?);
    let scalar = !operation.contains(".v2")
        && !operation.contains(".v4")
        && !operation.contains(".volatile");
    if !matches!(kind, "ld" | "st") || !matches!(space, "shared" | "global") || !scalar {
        return None;
    }
    let bits: u32 = parts.next_back()?.get(1..)?.parse().ok()?;
    let address = operands.split_once('[')?.1.split_once(']')?.0;
    let (base, offset) = match address.rsplit_once('+') {
        Some((base, offset)) => (base.trim(), offset.trim().parse().ok()?),
        None => (address.trim(), 0),
    };
    Some(Access {
        guard,
        operation,
        base,
        offset,
        bytes: bits / 8,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instructions(texts: &[&str]) -> Vec<Instruction> {
        let new = |text: &&str| Instruction {
            ptx_line: 1,
            text: (*text).into(),
            source: None,
            inlined_from: None,
        };
        texts.iter().map(new).collect()
    }

    #[test]
    fn four_loads_in_a_row_are_neighbours() {
        let found = neighbours(&instructions(&[
            "ld.shared.f32 \t%f1, [%rd1];",
            "ld.shared.f32 \t%f2, [%rd1+4];",
            "fma.rn.f32 %f9, %f1, %f2, %f9;",
            "ld.shared.f32 \t%f3, [%rd1+8];",
            "ld.shared.f32 \t%f4, [%rd1+12];",
            "ld.shared.f32 \t%f5, [%rd2+16];",
        ]));
        assert_eq!(found, [(0, Neighbours { count: 4, bytes: 4 })]);
    }

    #[test]
    fn these_are_not() {
        for texts in [
            ["ld.shared.f32 %f1, [%r1];", "ld.shared.f32 %f2, [%r1+8];"],
            ["ld.shared.f32 %f1, [%r1];", "ld.shared.u32 %r2, [%r1+4];"],
            [
                "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r1];",
                "ld.shared.v4.f32 {%f5, %f6, %f7, %f8}, [%r1+16];",
            ],
            [
                "@%p1 ld.shared.f32 %f1, [%r1];",
                "@%p2 ld.shared.f32 %f2, [%r1+4];",
            ],
            [
                "ld.param.u32 %r1, [gemm_param_3];",
                "ld.param.u32 %r2, [gemm_param_3+4];",
            ],
        ] {
            assert_eq!(neighbours(&instructions(&texts)), [], "{texts:?}");
        }
        let barrier = [
            "st.shared.f32 [%r1+-4], %f1;",
            "bar.sync \t0;",
            "st.shared.f32 [%r1], %f2;",
        ];
        assert_eq!(neighbours(&instructions(&barrier)), []);
        let negative = ["st.shared.f32 [%r1+-4], %f1;", "st.shared.f32 [%r1], %f2;"];
        assert_eq!(neighbours(&instructions(&negative)).len(), 1);
    }
}
