//! Whether C is right for the right reason: memory traffic, tensor-core products, bytes of shared memory.
mod by_line;
mod products;
mod shared_bytes;
mod traffic;
mod wavefronts;

use emulator::{Instruction, InstructionKind};

use super::judge::Judged;
use super::launches::LaunchResults;
use super::rubric::{Measure, What};
use super::{budget, clock, pipeline, sectors};

/// Bytes of an element, of a sector, and of a wavefront that uses all banks.
const ELEMENT: u64 = 2;
const SECTOR: u64 = 32;
const WAVEFRONT: u64 = 128;

/// The fraction of the points, reasons, and complaints. For a launch with a wrong C only the cost of its instructions
/// is judged, because the kernel may have ended early.
pub fn judge<'a>(all: &LaunchResults<'a>) -> Judged<'a> {
    let mut judged = Judged::new();
    budget::judge(all, &mut judged);
    // Conflicts explain excess wavefronts, so they are reported first.
    let is_conflicts = |measure: &&Measure| measure.what == What::SharedWavefronts;
    let measures = all.part.measure.iter().chain(&all.rubric.measure);
    let (conflicts, others): (Vec<_>, Vec<_>) = measures.partition(is_conflicts);
    let (mut has_conflicts, mut has_excess_sectors) = (false, false);
    for measure in conflicts.into_iter().chain(others) {
        if has_conflicts
            && matches!(
                measure.what,
                What::SharedTraffic | What::OperandTraffic | What::OperandTrafficByHand
            )
        {
            // The reason has been reported.
            judged.has_complained();
        }
        if has_excess_sectors && measure.what == What::LoadsPerSector {
            judged.has_complained();
        }
        match measure.what {
            What::SharedWavefronts => {
                wavefronts::by_instruction(measure, all, &mut judged);
                wavefronts::in_turns(measure, all, &mut judged);
            }
            What::GlobalLoads | What::GlobalStores | What::SharedTraffic => {
                traffic::sectors_and_wavefronts(measure, all, &mut judged);
            }
            What::OperandTraffic | What::OperandTrafficByHand => {
                products::operand_traffic(measure, all, &mut judged);
            }
            What::TensorProducts => products::tensor_products(measure, all, &mut judged),
            What::CopiesAhead => pipeline::copies_ahead(measure, all, &mut judged),
            What::LoadsPerSector => sectors::loads_per_sector(measure, all, &mut judged),
            What::BlockBarriers | What::BarriersPerStep => {
                pipeline::block_barriers(measure, all, &mut judged)
            }
            What::MultiplyingProducers => {
                pipeline::multiplying_producers(measure, all, &mut judged);
            }
            What::MultiplyingWarps => pipeline::multiplying_warps(measure, all, &mut judged),
            What::PersistentBlocks => pipeline::persistent_blocks(measure, all, &mut judged),
            What::BoxBytes => pipeline::box_bytes(measure, all, &mut judged),
            What::PredictedClocks => clock::predicted_clocks(measure, all, &mut judged),
        }
        let complained = judged.next();
        has_conflicts |= complained && measure.what == What::SharedWavefronts;
        has_excess_sectors |= complained && measure.what == What::GlobalLoads;
    }
    shared_bytes::judge(all, &mut judged);
    judged
}

/// Whether the instruction writes to global memory, given that it accesses it.
pub fn stores_globally(instruction: &Instruction) -> bool {
    match instruction.kind {
        InstructionKind::Atomic { .. } => true,
        // The destination's state space comes first.
        InstructionKind::BulkCopy { .. } => {
            let mut words = instruction.opcode.split('.');
            words.find(|word| *word == "global" || word.starts_with("shared")) == Some("global")
        }
        _ => instruction.kind.is_store(),
    }
}
