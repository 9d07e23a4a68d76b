//! Notes on what a launch did not check: barriers, waits, copies and fences that no thread reached.
use std::collections::BTreeMap;

use crate::finding::{Finding, FindingKind, Location};
use crate::program::{Instruction, Program, SourceLine};
use crate::{Counters, InstructionKind, Synchronization};

/// A line of the source, or the instruction if the line is not known.
type Place<'a> = (Option<&'a SourceLine>, usize);

/// One note for each line with synchronization of a class that no thread has executed. An unrolled loop has several
/// instructions for one line; it is enough if one of them was executed.
pub(super) fn notes(program: &Program, counters: &[Counters]) -> Vec<Finding> {
    let mut lines: BTreeMap<Place<'_>, Line> = BTreeMap::new();
    for (index, (instruction, counters)) in program.instructions.iter().zip(counters).enumerate() {
        let Some(what) = Synchronization::of(instruction) else {
            continue;
        };
        // The kernel's author cannot change NVIDIA's headers.
        if instruction.in_library {
            continue;
        }
        let place = match &instruction.source {
            Some(source) => (Some(source), 0),
            None => (None, index),
        };
        let line = lines.entry(place).or_default();
        let known = line.classes.entry(what).or_insert((index, false));
        known.1 |= counters.threads > 0;
    }
    let mut notes: Vec<Finding> = lines
        .into_values()
        .filter_map(|line| {
            let (what, index) = line.never_executed()?;
            let instruction = &program.instructions[index];
            let kind = FindingKind::NeverExecuted {
                what,
                executed_by: None,
            };
            Some(Finding::new(kind, location(instruction, index)))
        })
        .collect();
    notes.sort_by_key(|note| note.location.instruction);
    notes
}

/// By class: the first instruction of the line, and whether any was executed.
#[derive(Default)]
struct Line {
    classes: BTreeMap<Synchronization, (usize, bool)>,
}

impl Line {
    /// The most telling class that was not executed, and its first instruction.
    fn never_executed(self) -> Option<(Synchronization, usize)> {
        let mut classes = self.classes.into_iter();
        classes.find_map(|(what, (index, executed))| (!executed).then_some((what, index)))
    }
}

fn location(instruction: &Instruction, index: usize) -> Location {
    Location {
        thread: [0; 3],
        block: [0; 3],
        instruction: index,
        ptx_line: instruction.ptx_line,
        source: instruction.source.clone(),
        callee: instruction.callee.clone(),
        warpgroup_warp: None,
    }
}

impl Synchronization {
    /// How an instruction orders others; `None` if it does not.
    pub fn of(instruction: &Instruction) -> Option<Self> {
        let has = |word: &str| instruction.opcode.split('.').any(|part| part == word);
        let waits = |otherwise| match instruction.opcode.contains("wait") {
            true => Some(Self::Wait),
            false => otherwise,
        };
        match instruction.kind {
            InstructionKind::AsyncCopy { .. } | InstructionKind::BulkCopy { .. } => {
                Some(Self::Copy)
            }
            InstructionKind::MbarrierWait { .. } => Some(Self::Wait),
            InstructionKind::AsyncCopyGroup | InstructionKind::BulkCopyGroup => waits(None),
            InstructionKind::WgmmaGroup => waits(has("fence").then_some(Self::Fence)),
            InstructionKind::Barrier
            | InstructionKind::ClusterBarrier
            | InstructionKind::WarpBarrier => Some(Self::Barrier),
            InstructionKind::Mbarrier { .. } => Some(Self::Arrival),
            InstructionKind::Fence(_) => Some(Self::Fence),
            // `griddepcontrol.wait` is lowered to no operation, or to one for the checks of `sanitize`.
            InstructionKind::Hint { .. } => {
                (instruction.opcode == "griddepcontrol.wait").then_some(Self::Wait)
            }
            InstructionKind::Load(_)
            | InstructionKind::Store(_)
            | InstructionKind::Atomic { .. }
            | InstructionKind::LoadMatrix { .. }
            | InstructionKind::StoreMatrix { .. }
            | InstructionKind::Mma(_)
            | InstructionKind::Wgmma(_)
            | InstructionKind::Shuffle
            | InstructionKind::Vote
            | InstructionKind::Elect
            | InstructionKind::Arithmetic { .. }
            | InstructionKind::Approximate { .. }
            | InstructionKind::Move
            | InstructionKind::ConvertAddress(_)
            | InstructionKind::IsSpace(_)
            | InstructionKind::ClusterAddress
            | InstructionKind::SetRegisters
            | InstructionKind::Branch
            | InstructionKind::Exit
            | InstructionKind::Trap
            | InstructionKind::SystemCall => None,
        }
    }
}
