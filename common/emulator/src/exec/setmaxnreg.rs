//! `setmaxnreg`: warps release registers to the block's pool and request them from it (PTX ISA, "setmaxnreg").
use super::block::Execution;
use super::machine::Machine;
use super::step::Stop;
use super::warp::{State, Warp};
use super::warp_sync::{Arrival, Pause, Synced};
use super::warpgroup::WARPS;
use crate::finding::{Finding, FindingKind};

/// Registers of an SM, and the most that a thread may own.
const ALL: u32 = 65536;
const MOST: u32 = 256;

/// The registers of a block, counted per thread of a warp.
#[derive(Default)]
pub(super) struct Registers {
    /// The registers that each warp owns; empty if the kernel does not specify the number at launch.
    warps: Vec<u32>,
    pub free: u32,
    /// How many `setmaxnreg` each warp has executed, and the operation of the last one.
    executed: Vec<(u32, usize)>,
}

impl Registers {
    /// At launch each warp owns the registers of `.maxnreg`, or an equal share of the SM's
    /// registers for a block of `.maxntid`, a multiple of 8. The pool is empty.
    pub fn new(machine: &Machine<'_>) -> Self {
        let program = machine.program;
        let by_threads = program.max_threads.map(|max| {
            // A block that is too large is refused later; this must only not overflow.
            let threads = max.iter().fold(1u32, |all, &one| all.saturating_mul(one));
            ALL / threads.clamp(1, 1024).next_multiple_of(32)
        });
        let each = program.max_registers.or(by_threads);
        let each = each.map(|each| each.min(MOST) / 8 * 8);
        Self {
            warps: each.map_or(Vec::new(), |each| vec![each; machine.warps]),
            free: 0,
            executed: vec![(0, 0); machine.warps],
        }
    }

    /// The registers that a warp owns, if it has executed a `setmaxnreg` that ptxas does not ignore.
    pub fn set(&self, warp: usize) -> Option<u32> {
        let executed = self.executed.get(warp)?.0 > 0;
        self.warps.get(warp).copied().filter(|_| executed)
    }

    /// Describes the pool for a report.
    pub fn describe(&self, warp: usize) -> String {
        format!(
            "it owns {} a thread, and the block's pool has {} left for a warp",
            self.warps.get(warp).copied().unwrap_or(0),
            self.free
        )
    }
}

impl Warp {
    pub(super) fn set_registers(
        &mut self,
        count: u32,
        increase: bool,
        at: Arrival,
        cx: &mut Execution<'_>,
    ) -> Synced {
        let own = self.part(at, |_| true);
        let at = self.whole_warp(own, at, cx)?;
        let pool = &mut cx.block.registers;
        // Without a register count at launch, ptxas ignores the instruction.
        let Some(owned) = pool.warps.get_mut(self.index) else {
            return Ok((at.mask, at.join));
        };
        let reason = match increase {
            true if count < *owned => Some("fewer"),
            false if count > *owned => Some("more"),
            _ => None,
        };
        if let Some(word) = reason {
            let reason = format!("{count} registers a thread are {word} than the {owned} it owns");
            self.report(FindingKind::InvalidRegisters(reason), at.pc, at.mask, cx);
            return Err(Pause::Stop(Stop::Fatal));
        }
        if increase && count - *owned > pool.free {
            let state = State::Registers(pool.free);
            return self.wait(at, at.mask, state, cx);
        }
        pool.free = pool.free + *owned - count;
        *owned = count;
        pool.executed[self.index] = (pool.executed[self.index].0 + 1, at.pc as usize);
        cx.block.activity += 1;
        Ok((at.mask, at.join))
    }
}

/// Reports each warpgroup not all of whose warps have executed the same number of `setmaxnreg`: what happens then is undefined
/// (PTX ISA, "setmaxnreg").
pub(super) fn report_partial(cx: &mut Execution<'_>) {
    if !cx.machine.options.sanitize {
        return;
    }
    let step = cx.current_step();
    for (number, group) in cx.block.registers.executed.chunks(WARPS).enumerate() {
        let counts = || {
            (0..)
                .zip(group)
                .map(|(warp, &(count, op))| (count, warp, op))
        };
        let (Some(most), Some(least)) = (counts().max(), counts().min()) else {
            continue;
        };
        if most.0 == least.0 {
            continue;
        }
        let first = WARPS * number;
        let reason = format!(
            "warp {} has executed {} setmaxnreg, warp {} of its warpgroup only {}: all warps of a warpgroup must execute the same ones",
            first + most.1,
            most.0,
            first + least.1,
            least.0
        );
        let place = cx
            .machine
            .location(most.2, 32 * (first + most.1), cx.block.index);
        let finding = Finding::new(FindingKind::InvalidRegisters(reason), place);
        cx.block.findings.add(Finding { step, ..finding });
    }
}
