//! The unit of scheduling: a cluster of blocks that run at the same time. For now it holds one block.
use super::block::{Block, Context, release_barriers};
use super::lanes::{Doubles, Words};
use super::machine::Machine;
use super::meet;
use super::step::{self, Stop};
use super::tally::Tally;
use super::warp::{Warp, Watch};
use super::warpgroup::{release_warpgroups, report_unfinished};
use crate::finding::{Finding, Kind};
use crate::memory::Writes;
use crate::order::Order;
use crate::shadow::Shadow;

pub(super) struct Cluster {
    block: Block,
    /// Kept under `sanitize`.
    clocks: Order,
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

/// Instructions that a warp runs before another one's turn, unless it must wait earlier. Where blocks talk
/// to each other, they are likely to wait in loops, and it should soon be seen.
const QUANTUM: u64 = 1 << 13;
const QUANTUM_OF_TALK: u64 = 1 << 9;

impl Cluster {
    pub fn new(machine: &Machine<'_>) -> Self {
        Self {
            block: Block::new(machine),
            clocks: Order::default(),
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
        self.clocks = Order::new(if machine.options.sanitize {
            machine.warps
        } else {
            0
        });
        for (i, warp) in self.warps.iter_mut().enumerate() {
            warp.reset(machine, i, index);
        }
        self.order = (0..machine.warps).collect();
        self.random = Random(machine.options.schedule.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
    }

    /// What was found, in the order of the text; a fatal finding comes last.
    pub fn findings(&mut self) -> Vec<Finding> {
        let mut findings = self.block.findings.take();
        findings.sort_by_key(|finding| (finding.is_fatal(), finding.place.instruction));
        findings
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
        let patience = match machine.program.talks {
            true => QUANTUM_OF_TALK,
            false => QUANTUM,
        };
        let end = self.instructions().saturating_add(budget);
        loop {
            if shuffled {
                self.random.shuffle(&mut self.order);
            }
            for i in 0..self.order.len() {
                let warp = &mut self.warps[self.order[i]];
                let before = self.block.activity + writes.activity;
                if warp.is_blocked() || warp.spins(before) {
                    continue;
                }
                let quantum = match shuffled {
                    // One round is enough to see that nothing has changed for it.
                    _ if warp.watched.is_some_and(|watch| watch.spins) => 1,
                    true => 1 + self.random.below(256),
                    false => patience,
                };
                let mut cx = Context {
                    machine,
                    block: &mut self.block,
                    order: &mut self.clocks,
                    writes,
                    tally,
                };
                match step::run(warp, &mut cx, quantum) {
                    Stop::Fatal => return Turn::Fatal,
                    Stop::Paused => {
                        let quiet = self.block.activity + writes.activity == before;
                        watch(warp, before, quiet, patience);
                    }
                    Stop::Blocked | Stop::Arrived => warp.watched = None,
                }
                release_barriers(machine, &mut self.block, &mut self.warps, &mut self.clocks);
                release_warpgroups(&self.block, &mut self.warps);
            }
            if self.warps.iter().all(|warp| warp.alive == 0) {
                report_unfinished(machine, &mut self.block);
                return Turn::Done;
            }
            let activity = self.block.activity + writes.activity;
            let stuck = |warp: &Warp| warp.is_blocked() || warp.spins(activity);
            if self.warps.iter().all(stuck) {
                // Threads that wait for those who loop must go on by themselves.
                let mut released = false;
                for warp in self.warps.iter_mut().filter(|warp| warp.has_joining()) {
                    warp.release_joins();
                    warp.watched = None;
                    released = true;
                }
                if !released {
                    return Turn::Stuck;
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
                order: &mut self.clocks,
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

/// Looks at a warp that was interrupted in a loop. It spins if it is in the state of an earlier
/// interruption and has changed no memory on the way: it will come back to it for as long as memory stays
/// as it is, which has seen `activity` changes.
///
/// The earlier state is kept for one, two, four … interruptions, so that a cycle of any length is seen
/// (Brent 1980).
fn watch(warp: &mut Warp, activity: u64, quiet: bool, patience: u64) {
    if !quiet {
        warp.watched = None;
        return;
    }
    let known = warp
        .watched
        .filter(|watch| watch.spins || watch.activity == activity);
    if known.is_some_and(|watch| !watch.spins && warp.clock - watch.clock < patience) {
        return;
    }
    let digest = warp.digest();
    let fresh = Watch {
        digest,
        activity,
        clock: warp.clock,
        spins: false,
        looks: 0,
        until: 1,
    };
    warp.watched = Some(match known {
        Some(known) if known.digest == digest => Watch {
            spins: true,
            ..fresh
        },
        Some(known) if known.activity == activity && known.looks + 1 < known.until => Watch {
            clock: warp.clock,
            looks: known.looks + 1,
            ..known
        },
        Some(known) if known.activity == activity => Watch {
            until: known.until.saturating_mul(2),
            ..fresh
        },
        _ => fresh,
    });
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
