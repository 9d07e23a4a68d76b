//! The unit of scheduling: a cluster of blocks that run at the same time. For now it holds one block.
use super::block::{Block, Context, release_barriers};
use super::lanes::{Doubles, Words};
use super::machine::Machine;
use super::meet;
use super::step::{self, Stop};
use super::tally::Tally;
use super::warp::{State, Warp};
use crate::finding::{Finding, Kind};
use crate::memory::Writes;
use crate::shadow::Shadow;

pub(super) struct Cluster {
    block: Block,
    warps: Vec<Warp>,
    /// The order in which warps are looked at; shuffled by `--schedule`.
    order: Vec<usize>,
    random: Random,
}

/// How a cluster's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// All threads have exited.
    Done,
    /// The turn's budget is used up.
    Unfinished,
    /// No warp can go on, or each loops without any effect: only another block could help.
    Stuck,
    Fatal,
}

/// Instructions that a warp runs before another one's turn, unless it must wait earlier.
const QUANTUM: u64 = 1 << 16;

impl Cluster {
    pub fn new(machine: &Machine<'_>) -> Self {
        Self {
            block: Block::new(machine),
            warps: (0..machine.warps).map(|_| Warp::new(machine)).collect(),
            order: (0..machine.warps).collect(),
            random: Random(0),
        }
    }

    /// Memory that a cluster takes on this machine, in bytes.
    pub fn bytes(machine: &Machine<'_>) -> u64 {
        let program = machine.program;
        let warp = program.words * size_of::<Words>()
            + program.doubles * size_of::<Doubles>()
            + program.predicates * size_of::<u32>()
            + program.local_bytes as usize * 32;
        let shadow = match machine.options.sanitize {
            true => Shadow::bytes(
                machine.shared_end as usize,
                machine.warps,
                machine.program.grain,
            ),
            false => 0,
        };
        (warp * machine.warps + machine.shared_end as usize + shadow) as u64
    }

    /// Makes the cluster ready for block `number`.
    pub fn reset(&mut self, machine: &Machine<'_>, number: u64) {
        let index = machine.block_index(number);
        self.block.reset(machine, index);
        for (i, warp) in self.warps.iter_mut().enumerate() {
            warp.reset(machine, i, index);
        }
        self.order = (0..machine.warps).collect();
        self.random = Random(machine.options.schedule.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
    }

    pub fn findings(&mut self) -> Vec<Finding> {
        self.block.findings.take()
    }

    pub fn instructions(&self) -> u64 {
        self.warps.iter().map(|warp| warp.clock).sum()
    }

    /// Runs the cluster's warps in turns, for about `budget` instructions.
    pub fn run(
        &mut self,
        machine: &Machine<'_>,
        writes: &mut Writes,
        tally: &mut Tally,
        budget: u64,
    ) -> Turn {
        let shuffled = machine.options.schedule != 0;
        let end = self.instructions().saturating_add(budget);
        let activity = self.block.activity;
        loop {
            let before = self.block.activity;
            let mut progress = false;
            if shuffled {
                self.random.shuffle(&mut self.order);
            }
            for i in 0..self.order.len() {
                let warp = &mut self.warps[self.order[i]];
                if !warp.splits.iter().any(|split| split.state == State::Ready)
                    && !warp.has_joining()
                {
                    continue;
                }
                let quantum = if shuffled {
                    1 + self.random.below(256)
                } else {
                    QUANTUM
                };
                let mut cx = Context {
                    machine,
                    block: &mut self.block,
                    writes,
                    tally,
                };
                match step::run(warp, &mut cx, quantum) {
                    Stop::Fatal => return Turn::Fatal,
                    Stop::Paused => {
                        progress |= !spins(warp, quantum);
                    }
                    Stop::Blocked | Stop::Arrived => {
                        progress = true;
                        warp.watched = None;
                    }
                }
                progress |= release_barriers(machine, &mut self.block, &mut self.warps);
            }
            if self.warps.iter().all(|warp| warp.alive == 0) {
                return Turn::Done;
            }
            if !progress && self.block.activity == before {
                // Threads that wait for those who loop must go on by themselves.
                let mut released = false;
                for warp in &mut self.warps {
                    if warp.has_joining() {
                        warp.release_joins();
                        released = true;
                    }
                }
                if !released {
                    // What this turn has written may let another block go on.
                    let wrote = self.block.activity != activity;
                    return if wrote { Turn::Unfinished } else { Turn::Stuck };
                }
            }
            if self.instructions() >= end {
                return Turn::Unfinished;
            }
        }
    }

    /// Reports that the cluster can never go on.
    pub fn report_deadlock(
        &mut self,
        machine: &Machine<'_>,
        writes: &mut Writes,
        tally: &mut Tally,
    ) {
        let mut lines = Vec::new();
        let mut first = None;
        for warp in &self.warps {
            let cx = Context {
                machine,
                block: &mut self.block,
                writes,
                tally,
            };
            lines.extend(meet::waiting(warp, &cx));
            if let (None, Some(split)) = (&first, warp.splits.first()) {
                first = Some((split.pc as usize, warp.first_thread(split.mask)));
            }
        }
        let more = lines.len().saturating_sub(16);
        lines.truncate(16);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        let (op, thread) = first.unwrap_or((0, 0));
        let place = machine.place(op, thread, self.block.index);
        self.block.findings.add(Finding {
            kind: Kind::Deadlock { waiting: lines },
            place,
            count: 1,
        });
    }
}

/// Whether a warp that was interrupted in a loop is in the state of its last interruption there.
fn spins(warp: &mut Warp, quantum: u64) -> bool {
    if quantum < QUANTUM && warp.clock < QUANTUM {
        return false;
    }
    let Some(split) = warp.splits.last() else {
        return false;
    };
    let now = (split.pc, warp.digest());
    let same = warp.watched == Some(now);
    warp.watched = Some(now);
    same
}

/// A small deterministic generator (SplitMix64), for the order of warps.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % n.max(1)
    }
    fn shuffle(&mut self, list: &mut [usize]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}
