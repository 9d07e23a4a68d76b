//! The addresses that each instruction accessed: the rows that `cargo ladder calibrate` compares with a GPU's.
use emulator::{AccessPattern, Instruction, LaunchReport, SharedAccess};
use serde::Serialize;

use crate::Kernel;

/// An instruction that touches memory.
#[derive(Serialize)]
pub struct InstructionAccesses {
    /// Line of the kernel's file: for an inlined function, the line in that function.
    line: Option<u32>,
    /// The opcode as in the PTX, without guard and operands: `ld.shared.v4.f32`.
    operation: String,
    executions: u64,
    threads: u64,
    shared_wavefronts: u64,
    shared_wavefronts_ideal: u64,
    global_sectors: u64,
    global_requests: u64,
    patterns: Vec<Pattern>,
}

/// One pattern of addresses of a warp's lanes.
#[derive(Serialize)]
struct Pattern {
    /// `shared` or `global`.
    space: &'static str,
    /// `ld`, `st`, or `matrix`, in which lanes give the addresses of rows.
    access: &'static str,
    bytes: u32,
    /// The offset of each lane from a multiple of 128; null for an inactive lane.
    offsets: Vec<Option<u64>>,
}

/// Most patterns listed for an instruction; most instructions have one.
const MAX_PATTERNS: usize = 8;

pub fn rows(
    kernel: &Kernel,
    instructions: &[Instruction],
    run: &LaunchReport,
) -> Vec<InstructionAccesses> {
    let counted = instructions.iter().zip(&run.counters).enumerate();
    let touching = counted.filter(|(_, (_, counters))| {
        counters.shared.wavefronts + counters.global_sectors + counters.bytes > 0
    });
    touching
        .map(|(index, (instruction, counters))| {
            let asked = run.patterns.iter().filter(|one| one.instruction == index);
            let is_load = instruction.kind.is_load();
            let patterns = asked.take(MAX_PATTERNS).map(|one| pattern(one, is_load));
            let place = instruction.inlined_from.as_ref();
            let place = place.or(instruction.source.as_ref());
            InstructionAccesses {
                line: place
                    .filter(|place| *place.file == *kernel.source.name)
                    .map(|place| place.line),
                executions: counters.executions,
                threads: counters.threads,
                shared_wavefronts: counters.shared.wavefronts,
                shared_wavefronts_ideal: counters.shared.ideal,
                global_sectors: counters.global_sectors,
                global_requests: counters.global_requests,
                patterns: patterns.collect(),
                operation: instruction.opcode.clone(),
            }
        })
        .collect()
}

fn pattern(asked: &AccessPattern, is_load: bool) -> Pattern {
    let space = if asked.shared.is_some() {
        "shared"
    } else {
        "global"
    };
    let access = match asked.shared {
        Some(SharedAccess::Matrix) => "matrix",
        Some(SharedAccess::Load) => "ld",
        Some(SharedAccess::Store) => "st",
        None if is_load => "ld",
        None => "st",
    };
    Pattern {
        space,
        access,
        bytes: asked.bytes,
        offsets: asked.offsets.to_vec(),
    }
}
