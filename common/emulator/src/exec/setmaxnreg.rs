//! `setmaxnreg`: warps of a block give registers back and take them (PTX ISA, "setmaxnreg").
use super::block::Context;
use super::machine::Machine;
use super::meet::Meeting;
use super::step::Stop;
use super::warp::{Split, State, Warp};
use crate::finding::Kind;

/// Registers of a multiprocessor, and the most that a thread may own.
const ALL: u32 = 65536;
const MOST: u32 = 256;

/// The registers of a block, in registers a thread of a warp.
#[derive(Default)]
pub(super) struct Registers {
    /// What each warp owns; empty if the kernel does not say how many there are at launch.
    warps: Vec<u32>,
    pub free: u32,
}

impl Registers {
    /// At launch each warp owns what `.maxnreg` says, or an equal part of the multiprocessor's registers for
    /// the block of `.maxntid`, a multiple of 8. The pool is empty.
    pub fn new(machine: &Machine<'_>) -> Self {
        let program = machine.program;
        let by_threads = program.max_threads.map(|max| {
            // A block that is too large is refused later; here it must only not overflow.
            let threads = max.iter().fold(1u32, |all, &one| all.saturating_mul(one));
            ALL / threads.clamp(1, 1024).next_multiple_of(32)
        });
        let each = program.max_registers.or(by_threads);
        let each = each.map(|each| each.min(MOST) / 8 * 8);
        Self {
            warps: each.map_or(Vec::new(), |each| vec![each; machine.warps]),
            free: 0,
        }
    }

    /// The pool, in words, for a report.
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
        (count, increase): (u32, bool),
        pc: u32,
        (mask, active): (u32, u32),
        join: u32,
        cx: &mut Context<'_>,
    ) -> Meeting {
        // `.aligned`: every thread of the warp comes.
        let own = self.part(pc, mask, active, join, |_| true);
        if self.gather(pc, State::Mates, u32::MAX, own).is_none() {
            return self.wait(pc, own, join, State::Mates, active, cx);
        }
        let (own, join) = self.unite(pc, State::Mates, own, join);
        let pool = &mut cx.block.registers;
        // Without a number at launch ptxas ignores the instruction.
        let Some(owned) = pool.warps.get_mut(self.index) else {
            return Meeting::Done((own, join));
        };
        let reason = match increase {
            true if count < *owned => Some("fewer"),
            false if count > *owned => Some("more"),
            _ => None,
        };
        if let Some(word) = reason {
            let reason = format!("{count} registers a thread are {word} than the {owned} it owns");
            self.report(Kind::InvalidRegisters { reason }, pc, own, cx);
            return Meeting::Stop(Stop::Fatal);
        }
        if increase && count - *owned > pool.free {
            let state = State::Registers(pool.free);
            let counters = &mut cx.tally.ops[pc as usize];
            counters.executions -= 1;
            counters.threads -= u64::from(active.count_ones());
            self.splits.push(Split {
                pc,
                mask: own,
                join,
                state,
            });
            return Meeting::Waiting;
        }
        pool.free = pool.free + *owned - count;
        *owned = count;
        cx.block.activity += 1;
        Meeting::Done((own, join))
    }
}
