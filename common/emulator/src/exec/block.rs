//! One thread block: its warps, its shared memory, its barriers.
use super::lanes::lanes;
use super::machine::Machine;
use super::warp::{State, Warp};
use super::warpgroup::{WARPS, Warpgroup};
use crate::finding::Findings;
use crate::memory::Writes;
use crate::op::{Code, Reduction};
use crate::order::{Order, View};
use crate::shadow::Shadow;

/// What warps of a block share.
pub(super) struct Block {
    pub index: [u32; 3],
    /// Shared memory in 4-byte words, from the start of its window.
    pub shared: Vec<u32>,
    pub barriers: Vec<BarrierState>,
    /// One for each four warps; none if the kernel has no `wgmma`.
    pub warpgroups: Vec<Warpgroup>,
    pub findings: Findings,
    /// Present under `sanitize`.
    pub shadow: Option<Shadow>,
    /// Threads that have not exited.
    pub alive: u32,
    /// Stores so far to the block's own memory: whether anything has happened at all.
    pub activity: u64,
}

/// One of a block's 16 barriers.
#[derive(Clone, Default)]
pub(super) struct BarrierState {
    /// Threads that have arrived.
    pub arrived: u32,
    /// Threads to wait for, if an instruction names their number.
    pub threads: Option<u32>,
    /// Threads that wait, and of those how many voted yes.
    pub waiting: u32,
    pub yes: u32,
    /// What those who have arrived release.
    pub view: View,
}

pub(super) const BARRIERS: usize = 16;

impl Block {
    pub fn new(machine: &Machine<'_>) -> Self {
        let shadow = machine.options.sanitize.then(|| {
            Shadow::new(
                machine.shared_end as usize,
                0,
                machine.warps,
                machine.program.grain,
            )
        });
        Self {
            index: [0; 3],
            shared: vec![0; machine.shared_end.div_ceil(4) as usize],
            barriers: vec![BarrierState::default(); BARRIERS],
            warpgroups: Vec::new(),
            findings: Findings::default(),
            shadow,
            alive: 0,
            activity: 0,
        }
    }

    pub fn reset(&mut self, machine: &Machine<'_>, index: [u32; 3]) {
        self.index = index;
        self.shared.fill(0);
        self.barriers.fill(BarrierState::default());
        self.warpgroups.clear();
        if !machine.program.watched.is_empty() {
            self.warpgroups
                .resize_with(machine.warps / WARPS, Warpgroup::default);
        }
        self.alive = machine.threads as u32;
        self.activity = 0;
        if machine.options.sanitize {
            self.shadow = Some(Shadow::new(
                machine.shared_end as usize,
                0,
                machine.warps,
                machine.program.grain,
            ));
        }
    }
}

/// Lets go the warps at every barrier that is complete.
pub(super) fn release_barriers(
    machine: &Machine<'_>,
    block: &mut Block,
    warps: &mut [Warp],
    order: &mut Order,
) {
    for number in 0..BARRIERS {
        let state = &block.barriers[number];
        let expected = state.threads.unwrap_or(block.alive);
        if state.arrived == 0 || state.arrived < expected {
            continue;
        }
        let state = std::mem::take(&mut block.barriers[number]);
        for warp in warps.iter_mut() {
            let mut waited = 0;
            for i in 0..warp.splits.len() {
                if warp.splits[i].state != State::Barrier(number as u32) {
                    continue;
                }
                let (pc, mask) = (warp.splits[i].pc, warp.splits[i].mask);
                waited |= mask;
                if let Code::Barrier(barrier) = &machine.program.ops[pc as usize].code
                    && let Some((op, d, ..)) = barrier.reduce
                {
                    let result = match op {
                        Reduction::Popc => state.yes,
                        Reduction::And => u32::from(state.yes == state.waiting),
                        Reduction::Or => u32::from(state.yes > 0),
                    };
                    for lane in lanes(mask) {
                        warp.set(d, lane, result.into());
                    }
                }
                warp.splits[i].pc += 1;
                warp.splits[i].state = State::Ready;
            }
            if waited != 0 {
                order.acquire(warp.actor, waited, warp.alive, &state.view);
            }
        }
    }
}

/// What a running warp may touch.
pub(super) struct Context<'a> {
    pub machine: &'a Machine<'a>,
    pub block: &'a mut Block,
    pub order: &'a mut Order,
    pub writes: &'a mut Writes,
    pub tally: &'a mut super::tally::Tally,
}
