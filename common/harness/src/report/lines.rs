//! The counters of the kernel's lines: those of their PTX instructions, added up.
use std::collections::BTreeMap;

use emulator::{Counters, Instruction, InstructionKind, Space, Transfer};
use serde::Serialize;

use crate::Source;

/// The memory accesses of one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The counters of its instructions, added up.
    pub counters: Counters,
    /// Neighboring accesses that ptxas may merge into one.
    pub neighbors: Option<Neighbors>,
}

/// Adjacent PTX accesses of the same kind, which ptxas may merge into one wide access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbors {
    /// How many there are.
    pub count: u32,
    /// Bytes of each.
    pub bytes: u32,
}

/// Kinds of memory access, for the totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Row {
    /// `ld.shared`, `ldmatrix`.
    SharedLoads,
    /// `st.shared`, `stmatrix`.
    SharedStores,
    /// `cp.async`: its writes to shared memory.
    SharedCopies,
    /// Atomics.
    SharedOther,
    /// `ld.global`.
    GlobalLoads,
    /// `st.global`.
    GlobalStores,
    /// `cp.async`: its reads of global memory.
    GlobalCopies,
    /// Atomics.
    GlobalOther,
}

/// The lines that access memory, by number: lines of kernel.cu, or of the PTX if there is no CUDA source.
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
    for (first, neighbors) in neighbors(instructions) {
        if let Some(line) =
            line_of(source, &instructions[first]).and_then(|line| lines.get_mut(&line))
            && line
                .neighbors
                .is_none_or(|other| other.count < neighbors.count)
        {
            line.neighbors = Some(neighbors);
        }
    }
    lines
}

/// The line of an instruction, if it comes from the kernel's own file.
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
        let kind = &instruction.kind;
        let rows = if kind.is_load() {
            [Row::SharedLoads, Row::GlobalLoads]
        } else if kind.is_store() {
            [Row::SharedStores, Row::GlobalStores]
        } else if let InstructionKind::AsyncCopy { .. } = kind {
            [Row::SharedCopies, Row::GlobalCopies]
        } else {
            [Row::SharedOther, Row::GlobalOther]
        };
        let [shared, global] = rows;
        if counters.shared.wavefronts > 0 {
            add(totals.entry(shared).or_default(), counters);
        }
        if counters.global_requests > 0 {
            add(totals.entry(global).or_default(), counters);
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

/// Runs of scalar loads or stores with the same opcode, guard and base, each contiguous with the one before: the
/// index of the first, and the run. A branch or barrier ends every run.
fn neighbors(instructions: &[Instruction]) -> Vec<(usize, Neighbors)> {
    let mut found = Vec::new();
    let mut open: Vec<(usize, &Instruction, &Transfer, u32)> = Vec::new();
    for (index, instruction) in instructions.iter().enumerate() {
        let transfer = match &instruction.kind {
            InstructionKind::Load(transfer) | InstructionKind::Store(transfer) => transfer,
            InstructionKind::Branch | InstructionKind::Exit | InstructionKind::Fence(_) => {
                close(&mut open, &mut found);
                continue;
            }
            operation => {
                if operation.is_barrier() {
                    close(&mut open, &mut found);
                }
                continue;
            }
        };
        let scalar = transfer.elements == 1 && !transfer.ordered;
        if !scalar || !matches!(transfer.space, Space::Shared | Space::Global) {
            continue;
        }
        let next = open.iter_mut().find(|(_, before, last, _)| {
            (before.guard, &before.opcode, &last.base)
                == (instruction.guard, &instruction.opcode, &transfer.base)
                && last.offset + i64::from(last.bytes) == transfer.offset
        });
        match next {
            Some((_, _, last, count)) => (*last, *count) = (transfer, *count + 1),
            None => open.push((index, instruction, transfer, 1)),
        }
    }
    close(&mut open, &mut found);
    found
}

fn close(
    open: &mut Vec<(usize, &Instruction, &Transfer, u32)>,
    found: &mut Vec<(usize, Neighbors)>,
) {
    let runs = open.drain(..).filter(|(.., count)| *count > 1);
    found.extend(runs.map(|(first, _, transfer, count)| {
        let bytes = transfer.bytes;
        (first, Neighbors { count, bytes })
    }));
}

#[cfg(test)]
mod tests {
    use emulator::{Context, Options};

    use super::*;

    fn instructions(texts: &[&str]) -> Vec<Instruction> {
        let registers =
            ".reg .f32 %f<10>;\n.reg .b32 %r<5>;\n.reg .b64 %rd<5>;\n.reg .pred %p<5>;\n";
        let ptx = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n\
             .visible .entry f(.param .u64 gemm_param_3)\n{{\n{registers}{}\n}}\n",
            texts.join("\n")
        );
        let module = Context::new(Options::default()).load_module(&ptx);
        let function = module.expect("PTX").function("f");
        function.expect("a kernel").instructions().to_vec()
    }

    #[test]
    fn four_loads_in_a_row_are_neighbors() {
        let found = neighbors(&instructions(&[
            "ld.shared.f32 \t%f1, [%rd1];",
            "ld.shared.f32 \t%f2, [%rd1+4];",
            "fma.rn.f32 %f9, %f1, %f2, %f9;",
            "ld.shared.f32 \t%f3, [%rd1+8];",
            "ld.shared.f32 \t%f4, [%rd1+12];",
            "ld.shared.f32 \t%f5, [%rd2+16];",
        ]));
        assert_eq!(found, [(0, Neighbors { count: 4, bytes: 4 })]);
    }

    #[test]
    fn these_are_not_neighbors() {
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
            assert_eq!(neighbors(&instructions(&texts)), [], "{texts:?}");
        }
        let barrier = [
            "st.shared.f32 [%r1+-4], %f1;",
            "bar.sync \t0;",
            "st.shared.f32 [%r1], %f2;",
        ];
        assert_eq!(neighbors(&instructions(&barrier)), []);
        let negative = ["st.shared.f32 [%r1+-4], %f1;", "st.shared.f32 [%r1], %f2;"];
        assert_eq!(neighbors(&instructions(&negative)).len(), 1);
    }
}
