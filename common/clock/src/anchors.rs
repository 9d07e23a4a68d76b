//! Anchors: PTX instructions that ptxas neither duplicates nor removes, by which a walk through the machine code knows where in the
//! trace it is; and, in a loop that has none, an instruction that counts its iterations.
use std::cmp::Reverse;
use std::collections::BTreeMap;

use emulator::{Instruction, InstructionKind, Space};

use crate::machine_code::{MachineCode, MachineInstruction};
use crate::path::{is_jump, root};

/// Whether an instruction polls, that is, tests whether other threads are done and does not block: a volatile load, one
/// with a memory order, or `mbarrier.test_wait`. The number of polls depends on the emulator's schedule, not on the
/// card.
pub(crate) fn polls(one: &Instruction) -> bool {
    match &one.kind {
        InstructionKind::Load(load) => load.ordered,
        InstructionKind::MbarrierWait { blocking, .. } => !blocking,
        _ => false,
    }
}

/// Whether ptxas neither removes nor duplicates the machine instruction.
pub(crate) fn is_anchor(one: &Instruction) -> bool {
    !anchors_of(&one.kind).is_empty()
}

/// The opcodes that identify a PTX instruction in machine code; none if ptxas may remove or duplicate it.
pub(crate) fn anchors_of(kind: &InstructionKind) -> &'static [&'static str] {
    match kind {
        InstructionKind::Load(transfer) => match transfer.space {
            Space::Shared | Space::Cluster => &["LDS", "LD"],
            Space::Global | Space::Generic => &["LDG", "LD"],
            Space::Local => &["LDL"],
            Space::Param | Space::Const => &[],
        },
        InstructionKind::Store(transfer) => match transfer.space {
            Space::Shared | Space::Cluster => &["STS", "ST"],
            Space::Global | Space::Generic => &["STG", "ST"],
            Space::Local => &["STL"],
            Space::Param | Space::Const => &[],
        },
        InstructionKind::Atomic { .. } => &["ATOM", "ATOMG", "ATOMS", "RED", "REDG"],
        InstructionKind::LoadMatrix { .. } => &["LDSM"],
        InstructionKind::StoreMatrix { .. } => &["STSM"],
        InstructionKind::AsyncCopy { .. } => &["LDGSTS"],
        InstructionKind::AsyncCopyGroup => &["LDGDEPBAR", "DEPBAR"],
        InstructionKind::BulkCopy { .. } => {
            &["UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP", "UBLKRED"]
        }
        InstructionKind::BulkCopyGroup => &["UTMACMDFLUSH", "DEPBAR"],
        InstructionKind::Mma(_) => &["HMMA", "IMMA", "DMMA"],
        InstructionKind::Wgmma(_) => &["HGMMA", "IGMMA", "QGMMA", "BGMMA"],
        InstructionKind::WgmmaGroup => &["WARPGROUP"],
        InstructionKind::Barrier => &["BAR"],
        InstructionKind::ClusterBarrier => &["UCGABAR_ARV", "UCGABAR_WAIT"],
        InstructionKind::Mbarrier { .. } => &["SYNCS", "ARRIVES"],
        InstructionKind::MbarrierWait { .. } => &["SYNCS"],
        InstructionKind::Approximate { .. } => &["MUFU"],
        InstructionKind::Shuffle => &["SHFL", "MOVM"],
        InstructionKind::Arithmetic { .. }
        | InstructionKind::Vote
        | InstructionKind::Elect
        | InstructionKind::WarpBarrier
        | InstructionKind::Fence(_)
        | InstructionKind::Move
        | InstructionKind::ConvertAddress(_)
        | InstructionKind::IsSpace(_)
        | InstructionKind::ClusterAddress
        | InstructionKind::SetRegisters
        | InstructionKind::Branch
        | InstructionKind::Exit
        | InstructionKind::Trap
        | InstructionKind::SystemCall
        | InstructionKind::Hint { .. } => &[],
    }
}

/// Makes one instruction an anchor in each loop that has none, so that its iterations are counted, too. The number of copies that
/// most instructions of the loop have is how often ptxas has unrolled it; an instruction with that many copies is chosen. A PTX
/// instruction that becomes two, such as an addition of 64 bits, has two opcodes, and copies of each are counted.
pub(crate) fn count_loops(
    code: &MachineCode,
    instructions: &[Instruction],
    anchors: &mut [Option<(u32, u32)>],
    opcode: u32,
) {
    let mut by_line: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (index, one) in (0..).zip(instructions) {
        by_line.entry(one.ptx_line).or_default().push(index);
    }
    let computes = |line: u32| match by_line.get(&line).map(Vec::as_slice) {
        Some(&[index]) => {
            let kind = &instructions[index as usize].kind;
            matches!(kind, InstructionKind::Arithmetic { .. }).then_some(index)
        }
        _ => None,
    };
    let jumps = (0..).zip(&code.instructions);
    let jumps = jumps.filter(|(_, one): &(usize, _)| is_jump(&one.opcode));
    let back = jumps.filter_map(|(end, one)| Some((one.target? as usize, end)));
    let mut loops: Vec<_> = back.filter(|(start, end)| start < end).collect();
    // Inner loops first: then an outer one has an anchor.
    loops.sort_by_key(|(start, end)| end - start);
    for (start, end) in loops {
        let body = &code.instructions[start..=end];
        // How often it waits depends on the card.
        let waits = |one: &MachineInstruction| {
            matches!(
                root(&one.opcode),
                "CS2R" | "S2R" | "S2UR" | "NANOSLEEP" | "CALL" | "RET"
            )
        };
        if anchors[start..=end].iter().any(Option::is_some) || body.iter().any(waits) {
            continue;
        }
        let is_it = |one: &&MachineInstruction| {
            !one.guarded && !is_jump(&one.opcode) && computes(one.ptx_line).is_some()
        };
        let mut copies: BTreeMap<(u32, &str), usize> = BTreeMap::new();
        for one in body.iter().filter(is_it) {
            *copies.entry((one.ptx_line, &one.opcode)).or_default() += 1;
        }
        let mut same: BTreeMap<usize, Vec<(u32, &str)>> = BTreeMap::new();
        for (of, count) in copies {
            same.entry(count).or_default().push(of);
        }
        let most = (same.into_iter()).max_by_key(|(count, all)| (all.len(), Reverse(*count)));
        let Some((line, picked)) = most.and_then(|(_, all)| all.first().copied()) else {
            continue;
        };
        let index = computes(line);
        for (anchor, one) in anchors.iter_mut().zip(&code.instructions) {
            if one.ptx_line == line && one.opcode == picked {
                *anchor = index.map(|index| (index, opcode));
            }
        }
    }
}
