//! The unit of scheduling: a cluster of blocks that run at the same time, usually of one block.
use std::collections::BTreeMap;

use super::block::{Block, Common, Execution, release_barriers};
use super::bulk::Transfer;
use super::cluster_barrier::release_cluster;
use super::expiries::Expiries;
use super::lane_access::{Fatal, Result};
use super::lanes::{LanesB32, LanesB64};
use super::lookahead::Lookahead;
use super::machine::Machine;
use super::profiler::Profiler;
use super::setmaxnreg;
use super::step::{self, Stop};
use super::warp::{State, Warp, Watch};
use super::warpgroup::{WARPS, report_unfinished};
use crate::Printed;
use crate::finding::Finding;
use crate::happens_before::HappensBefore;
use crate::memory::Writes;
use crate::op::{Code, SyncOp};
use crate::random::random;
use crate::shadow::Shadow;

pub(super) struct Cluster<'m> {
    pub(super) machine: &'m Machine<'m>,
    /// Its number in the launch.
    pub(super) number: u64,
    pub(super) blocks: Vec<Block>,
    common: Common,
    /// Tracked under `sanitize`.
    clocks: HappensBefore,
    /// The warps of all blocks, in the order of their ranks.
    warps: Vec<Warp>,
    /// The order in which warps run; a nonzero `schedule` shuffles it.
    order: Vec<usize>,
    random: Random,
    expiries: Expiries,
}

/// Why a cluster's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// All threads have exited.
    Done,
    /// The turn's budget is used up.
    Unfinished,
    /// No warp can make progress, or each one loops without any effect: only another block could unblock them.
    Stuck,
    /// A warp has reached an operation through which clusters communicate, and must stop there.
    Parked,
    Fatal,
}

/// Instructions that a warp runs before the next warp's turn, unless it must wait earlier. Blocks that
/// communicate are likely to wait in loops, so their turns are shorter.
const QUANTUM: u64 = 1 << 13;
const QUANTUM_COMMUNICATING: u64 = 1 << 9;

impl<'m> Cluster<'m> {
    pub fn new(machine: &'m Machine<'m>) -> Self {
        let blocks = (0..machine.ranks()).map(|_| Block::default());
        let warps = (0..machine.ranks() * machine.warps).map(|_| Warp::new(machine));
        Self {
            machine,
            number: 0,
            blocks: blocks.collect(),
            common: Common::default(),
            clocks: HappensBefore::default(),
            warps: warps.collect(),
            order: Vec::new(),
            random: Random(0),
            expiries: Expiries::default(),
        }
    }

    /// Host memory that a cluster takes, in bytes.
    pub fn bytes(machine: &Machine<'_>) -> u64 {
        let program = machine.program;
        let warp = program.b32 * size_of::<LanesB32>()
            + program.b64 * size_of::<LanesB64>()
            + program.predicates * size_of::<u32>()
            + machine.local as usize * 32;
        let shared = machine.shared_end as usize;
        let shadow = match machine.options.sanitize {
            true => Shadow::bytes(shared, machine.warps, program.grain),
            false => 0,
        };
        let block = warp * machine.warps + shared + shadow;
        (block * machine.ranks()) as u64
    }

    /// Prepares the cluster to run the launch's cluster `number`.
    pub fn reset(&mut self, number: u64) {
        let machine = self.machine;
        self.number = number;
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            block.reset(machine, machine.block_index(number, rank), rank);
        }
        for (i, warp) in self.warps.iter_mut().enumerate() {
            warp.reset(machine, i, self.blocks[i / machine.warps].index);
        }
        let options = machine.options;
        let lookahead = || {
            let lookahead = Lookahead::new(self.warps.len(), machine.ranks(), machine.shared_end);
            Box::new(lookahead)
        };
        self.common = Common {
            copies: (!cfg!(target_family = "wasm") && options.lookahead && options.sanitize)
                .then(lookahead),
            long_hesitations: (number == 0).then(BTreeMap::new),
            ..Common::default()
        };
        let watched = match machine.options.sanitize {
            true => self.warps.len(),
            false => 0,
        };
        self.clocks = HappensBefore::new(watched, machine.warps, number as u32);
        self.order = (0..self.warps.len()).collect();
        self.random = Random(machine.options.schedule.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
        self.expiries = Expiries::default();
    }

    /// Makes it stop before it communicates with other clusters.
    pub fn park(&mut self) {
        self.common.parks = true;
    }

    /// Lets it communicate, on memory that others have changed meanwhile.
    pub fn resume(&mut self) {
        self.common.parks = false;
        self.expiries = Expiries::default();
        self.warps.iter_mut().for_each(|warp| warp.watched = None);
    }

    /// The findings in program order; a fatal one comes last.
    pub fn findings(&mut self) -> Vec<Finding> {
        let blocks = self.blocks.iter_mut();
        let mut findings: Vec<Finding> = blocks.flat_map(|block| block.findings.take()).collect();
        findings.sort_by_key(|finding| (finding.is_fatal(), finding.location.instruction));
        findings
    }

    /// What its threads printed.
    pub fn printed(&mut self) -> Vec<Printed> {
        std::mem::take(&mut self.common.printed)
    }

    pub fn instructions(&self) -> u64 {
        self.warps.iter().map(|warp| warp.clock).sum()
    }

    /// Changes of memory so far.
    fn activity(&self, writes: &Writes) -> u64 {
        self.blocks.iter().map(|block| block.activity).sum::<u64>() + writes.activity
    }

    /// The state that a warp of the block of this rank may access, and the cluster's warps.
    pub(super) fn context<'a>(
        &'a mut self,
        rank: usize,
        writes: &'a mut Writes,
        profiler: &'a mut Profiler,
    ) -> Option<(Execution<'a>, &'a mut [Warp])> {
        let (lower, rest) = self.blocks.split_at_mut(rank);
        let (block, higher) = rest.split_first_mut()?;
        let cx = Execution {
            machine: self.machine,
            block,
            rank,
            peers: [lower, higher],
            common: &mut self.common,
            order: &mut self.clocks,
            writes,
            profiler,
        };
        Some((cx, &mut self.warps))
    }

    /// Runs the cluster's warps in turns, for about `budget` instructions.
    pub fn run(&mut self, writes: &mut Writes, profiler: &mut Profiler, budget: u64) -> Turn {
        let machine = self.machine;
        let shuffled = machine.options.schedule != 0;
        let warps = self.warps.len().max(1) as u64;
        let patience = match machine.program.communicates {
            false => QUANTUM,
            true => QUANTUM_COMMUNICATING,
        };
        // If a trace stops after `most` instructions, every warp should have executed about equally many of them, so turns are
        // short.
        let traced = machine.options.trace.as_ref().and_then(|one| one.most);
        let turn = traced.map_or(patience, |most| patience.min(most / warps + 1));
        let end = self.instructions().saturating_add(budget);
        loop {
            if shuffled {
                self.random.shuffle(&mut self.order);
            }
            for i in 0..self.order.len() {
                let number = self.order[i];
                let rank = number / machine.warps;
                let before = self.activity(writes);
                let steps = self.instructions();
                let warp = &mut self.warps[number];
                wake(warp, &self.blocks[rank], steps, profiler);
                if warp.is_blocked() || warp.spins(before) {
                    continue;
                }
                let quantum = match shuffled {
                    // One instruction is enough to see that nothing has changed for a spinning warp.
                    _ if warp.watched.is_some_and(|watch| watch.spins) => 1,
                    true => 1 + self.random.below(256),
                    false => turn,
                };
                let Some((mut cx, warps)) = self.context(rank, writes, profiler) else {
                    continue;
                };
                cx.common.others = steps - warps[number].clock;
                let stop = step::run(&mut warps[number], &mut cx, quantum);
                if cx.block.alive == 0 {
                    close_block(&mut cx, warps);
                }
                match stop {
                    Stop::Fatal => return Turn::Fatal,
                    Stop::Parked => return Turn::Parked,
                    Stop::Paused => {
                        let quiet = self.activity(writes) == before;
                        watch(&mut self.warps[number], before, quiet, patience);
                        release_idle_joins(&mut self.warps[number], before, quiet);
                    }
                    Stop::Blocked | Stop::Arrived => self.warps[number].watched = None,
                }
                let own = rank * machine.warps..(rank + 1) * machine.warps;
                let (block, warps) = (&mut self.blocks[rank], &mut self.warps[own]);
                release_barriers(machine, block, warps, &mut self.clocks);
                release_cluster(&mut self.common, &mut self.warps);
            }
            if self.warps.iter().all(|warp| warp.alive == 0) {
                return match self.land_rest(writes, profiler) {
                    Ok(()) => {
                        self.report_unbalanced(writes, profiler);
                        if let Some(lookahead) = self.common.lookahead() {
                            let block = |rank: usize| self.blocks[rank].index;
                            profiler.leads.extend(lookahead.leads(machine.warps, block));
                        }
                        Turn::Done
                    }
                    Err(Fatal) => Turn::Fatal,
                };
            }
            let activity = self.activity(writes);
            let stuck = |warp: &Warp| warp.is_blocked() || warp.spins(activity);
            if self.warps.iter().all(stuck) {
                match self.run_postponed(writes, profiler) {
                    Ok(true) => {}
                    Ok(false) => return Turn::Stuck,
                    Err(Fatal) => return Turn::Fatal,
                }
            }
            if self.instructions() >= end {
                return Turn::Unfinished;
            }
        }
    }

    /// No warp can make progress. One of the events that were postponed happens, the first possible of: a copy
    /// lands that a thread waits for; threads that wait to reconverge continue alone; any other copy lands; every
    /// `try_wait` times out. Returns whether there was one.
    fn run_postponed(&mut self, writes: &mut Writes, profiler: &mut Profiler) -> Result<bool> {
        let (mut woken, steps) = (false, self.instructions());
        for warp in &mut self.warps {
            let block = &self.blocks[warp.actor / self.machine.warps];
            woken |= wake(warp, block, steps, profiler);
        }
        if woken || self.land_one(true, writes, profiler)? {
            return Ok(true);
        }
        let mut released = false;
        for warp in self.warps.iter_mut().filter(|warp| warp.has_joining()) {
            warp.release_joins();
            warp.watched = None;
            released = true;
        }
        if released || self.land_one(false, writes, profiler)? {
            return Ok(true);
        }
        let (activity, warps) = (self.activity(writes), &self.warps);
        let mut expired = false;
        let digests = || warps.iter().map(Warp::digest).collect();
        let ops = &self.machine.program.ops;
        let only_repeats = |warp: &Warp| {
            let mut splits = warp.splits.iter();
            splits.all(|split| warp.only_repeats(ops, split))
        };
        let repeats = || warps.iter().all(only_repeats);
        if self.expiries.next(activity, digests, repeats) {
            for warp in &mut self.warps {
                for split in &mut warp.splits {
                    if let State::Mbarrier(_, since) = split.state {
                        profiler.ops[split.pc as usize].waited += steps.saturating_sub(since);
                        warp.expired |= split.mask;
                        split.state = State::Ready;
                        expired = true;
                    }
                }
            }
        }
        Ok(expired || self.leave_polling_loops())
    }

    /// Nothing else can run: whether it is worth trying again, since threads that poll an mbarrier do not only repeat
    /// themselves. They may count how often, and then do something else.
    pub fn has_patience(&mut self) -> bool {
        self.expiries.extend()
    }

    /// If only control flow is traced, lets polling warps leave their loops. Returns whether there are any.
    fn leave_polling_loops(&mut self) -> bool {
        let spins = |warp: &&mut Warp| warp.watched.is_some_and(|watch| watch.spins);
        let mut any = false;
        if self.machine.peers.is_some() {
            for warp in self.warps.iter_mut().filter(spins) {
                (warp.leaves_loop, warp.watched) = (true, None);
                any = true;
            }
        }
        any
    }

    /// Lands a copy: one that a thread waits for, chosen by the schedule, or else the first of all.
    fn land_one(
        &mut self,
        awaited_only: bool,
        writes: &mut Writes,
        profiler: &mut Profiler,
    ) -> Result<bool> {
        let machine = self.machine;
        let mut awaited = Vec::new();
        for warp in &self.warps {
            for split in &warp.splits {
                if let (State::Mbarrier(..), Code::Sync(SyncOp::MbarrierWait(wait))) =
                    (split.state, &machine.program.ops[split.pc as usize].code)
                {
                    awaited.push((warp.actor / machine.warps, warp.waits_at(wait, split)));
                }
            }
        }
        let in_flight = self.common.in_flight.iter().enumerate();
        let in_flight = in_flight.map(|(i, copy)| (Landing::Bulk(i), (copy.rank, copy.mbarrier)));
        let signals = self.warps.iter().flat_map(|warp| {
            let rank = warp.actor / machine.warps;
            let signals = warp.signals.iter().enumerate();
            signals
                .map(move |(i, signal)| (Landing::Signal(warp.actor, i), (rank, signal.mbarrier)))
        });
        let all: Vec<(Landing, (usize, u32))> = in_flight.chain(signals).collect();
        let wanted = all.iter().filter(|(_, at)| awaited.contains(at));
        let wanted: Vec<_> = wanted.collect();
        let chosen = match (wanted.len(), machine.options.schedule) {
            (0, _) if awaited_only => None,
            (0, _) => all.first(),
            (_, 0) => wanted.first().copied(),
            (n, _) => wanted.get(self.random.below(n as u64) as usize).copied(),
        };
        let Some(&(landing, _)) = chosen else {
            return Ok(false);
        };
        match landing {
            Landing::Bulk(index) => {
                let Some(transfer) = self.common.in_flight.remove(index) else {
                    return Ok(false);
                };
                self.land(&transfer, writes, profiler)?;
            }
            Landing::Signal(number, index) => {
                let rank = number / machine.warps;
                if let Some((mut cx, warps)) = self.context(rank, writes, profiler) {
                    warps[number].land_signal(index, &mut cx)?;
                }
            }
        }
        Ok(true)
    }

    /// All threads have exited: lands the remaining copies, for which no thread waited.
    fn land_rest(&mut self, writes: &mut Writes, profiler: &mut Profiler) -> Result<()> {
        while let Some(transfer) = self.common.in_flight.pop_front() {
            self.land(&transfer, writes, profiler)?;
        }
        Ok(())
    }

    /// Lands a bulk copy on behalf of the warp that issued it.
    fn land(
        &mut self,
        transfer: &Transfer,
        writes: &mut Writes,
        profiler: &mut Profiler,
    ) -> Result<()> {
        let rank = transfer.by.site.warp / self.machine.warps;
        match self.context(rank, writes, profiler) {
            Some((mut cx, _)) => cx.land(transfer),
            None => Ok(()),
        }
    }
}

/// Makes a warp test its wait again if its condition may have changed since the last test.
fn wake(warp: &mut Warp, block: &Block, steps: u64, profiler: &mut Profiler) -> bool {
    let mut woken = false;
    for split in &mut warp.splits {
        let changed = match split.state {
            State::Mbarrier(phases, since) if phases != block.phases => {
                profiler.ops[split.pc as usize].waited += steps.saturating_sub(since);
                true
            }
            State::Registers(free) => free != block.registers.free,
            State::Warpgroup(wanted) => block
                .warpgroups
                .get(warp.index / WARPS)
                .is_some_and(|group| group.all_issued(wanted)),
            State::Ready
            | State::Barrier(_)
            | State::Warp(_)
            | State::WholeWarp
            | State::Mbarrier(..)
            | State::Cluster => false,
        };
        if changed {
            (split.state, woken) = (State::Ready, true);
        }
    }
    woken
}

/// What can land next.
#[derive(Clone, Copy)]
enum Landing {
    /// A bulk copy, by its index in `in_flight`.
    Bulk(usize),
    /// `cp.async`s that an mbarrier tracks: the warp, and its signal.
    Signal(usize, usize),
}

/// All threads of a block have exited.
fn close_block(cx: &mut Execution<'_>, warps: &mut [Warp]) {
    let first = cx.rank * cx.machine.warps;
    for warp in &mut warps[first..first + cx.machine.warps] {
        warp.finish_bulk(cx);
        cx.writes.restore(warp.calls.clear());
    }
    let mbarriers = cx.block.count_only_mbarriers();
    cx.profiler.mbarriers = cx.profiler.mbarriers.max(mbarriers);
    report_unfinished(cx);
    setmaxnreg::report_partial(cx);
    cx.depart();
}

/// Checks a warp that was interrupted in a loop. It spins if it is in the same state as at an earlier
/// interruption and has changed no memory in between: it will repeat these states until memory changes.
/// `activity` counts the changes of memory so far.
///
/// The earlier state is kept for one, two, four … interruptions, so that a cycle of any length is
/// detected (Brent 1980).
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

/// Threads that also poll a clock are never in the same state again. They may wait for other threads of their warp,
/// which wait for them to reconverge: after this many instructions without an effect, those threads continue alone.
fn release_idle_joins(warp: &mut Warp, activity: u64, quiet: bool) {
    const INSTRUCTIONS: u64 = 1 << 18;
    if !quiet || !warp.has_joining() {
        warp.quiet = None;
        return;
    }
    let (known, since) = *warp.quiet.get_or_insert((activity, warp.clock));
    if known != activity {
        warp.quiet = Some((activity, warp.clock));
    } else if warp.clock - since >= INSTRUCTIONS {
        warp.release_joins();
        warp.quiet = None;
    }
}

/// Random numbers for the order of warps.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        random(&mut self.0) % n.max(1)
    }
    fn shuffle(&mut self, list: &mut [usize]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}
