//! Nobody can go on: who waits for what, and which of them is likely to be the reason.
use std::collections::BTreeSet;

use super::block::Context;
use super::cluster::Cluster;
use super::lanes::ALL;
use super::machine::Machine;
use super::mbarrier::Mbarrier;
use super::tally::Tally;
use super::warp::{Split, State, Warp};
use super::warpgroup;
use crate::finding::{Finding, Kind};
use crate::memory::Writes;
use crate::op::Code;

/// Lines of a report.
const LINES: usize = 16;

/// Some lanes that wait.
struct Waiter {
    block: String,
    warp: usize,
    lanes: u32,
    /// "wait" or "loop".
    verb: &'static str,
    /// For what, and where.
    what: String,
    /// How likely it is that all others wait because of this one.
    rank: u32,
    /// Where: operation, thread, block.
    place: (usize, usize, [u32; 3]),
}

impl Cluster {
    /// Reports that the cluster can never go on.
    pub fn report_deadlock(
        &mut self,
        machine: &Machine<'_>,
        writes: &mut Writes,
        tally: &mut Tally,
    ) {
        let mut waiters = Vec::new();
        for rank in 0..machine.ranks() {
            let Some((mut cx, warps)) = self.context(machine, rank, writes, tally) else {
                continue;
            };
            let mut awaited = BTreeSet::new();
            for warp in &warps[rank * machine.warps..(rank + 1) * machine.warps] {
                for split in &warp.splits {
                    waiters.push(Waiter::new(warp, split, &cx));
                    awaited.extend(mbarrier(warp, split, &cx).map(|(at, _)| at));
                }
            }
            awaited
                .into_iter()
                .for_each(|at| report_mbarrier(at, &mut cx));
        }
        // The first of the most telling.
        let telling = waiters.iter().rev().max_by_key(|waiter| waiter.rank);
        let (op, thread, index) =
            telling.map_or((0, 0, self.blocks[0].index), |waiter| waiter.place);
        self.blocks[0].findings.add(Finding {
            kind: Kind::Deadlock {
                waiting: lines(&waiters),
            },
            place: machine.place(op, thread, index),
            count: 1,
        });
    }

    /// All threads have exited and everything has landed: an mbarrier that was told of other bytes than were announced
    /// has let somebody go on too early, or would let nobody.
    pub(super) fn report_unbalanced(
        &mut self,
        machine: &Machine<'_>,
        writes: &mut Writes,
        tally: &mut Tally,
    ) {
        if !machine.options.sanitize {
            return;
        }
        for rank in 0..machine.ranks() {
            let Some((mut cx, _)) = self.context(machine, rank, writes, tally) else {
                continue;
            };
            let barriers = cx.block.mbarriers.iter();
            let unbalanced: Vec<(u32, Mbarrier)> = barriers
                .filter(|(_, barrier)| barrier.difference().is_some())
                .map(|(&at, barrier)| (at, barrier.clone()))
                .collect();
            for (at, barrier) in unbalanced {
                report_count(at, &barrier, &mut cx);
            }
        }
    }
}

/// Bytes that do not fit, where they were announced.
fn report_count(at: u32, barrier: &Mbarrier, cx: &mut Context<'_>) {
    if let (Some(bytes), Some((op, warp, lane))) = (barrier.difference(), barrier.announced) {
        let reason = format!(
            "phase {} of the mbarrier at 0x{at:x}: {bytes}",
            barrier.phase
        );
        cx.report_of(Kind::TransactionCount { reason }, op, warp, lane);
    }
}

/// What is wrong with an mbarrier at which somebody waits, if that can be told.
fn report_mbarrier(at: u32, cx: &mut Context<'_>) {
    let Some(barrier) = cx.block.mbarriers.get(&at).cloned() else {
        return;
    };
    if barrier.is_stuck() {
        report_count(at, &barrier, cx);
    }
    if let Some((phase, Some((op, warp, lane)))) = barrier.overrun {
        let reason = format!(
            "phase overrun: this ended phase {phase} of the mbarrier at 0x{at:x} before anybody had noticed the end of phase \
             {}: more arrivals than its mbarrier.init counts, or nobody waits in between",
            phase - 1
        );
        cx.report_of(Kind::InvalidMbarrier { reason }, op, warp, lane);
    }
}

/// The mbarrier at which these lanes wait.
fn mbarrier<'a>(warp: &Warp, split: &Split, cx: &'a Context<'_>) -> Option<(u32, &'a Mbarrier)> {
    let (State::Mbarrier(..), Code::MbarrierWait(wait)) =
        (split.state, &cx.machine.program.ops[split.pc as usize].code)
    else {
        return None;
    };
    let at = warp.waits_at(wait, split);
    Some((at, cx.block.mbarriers.get(&at)?))
}

impl Waiter {
    fn new(warp: &Warp, split: &Split, cx: &Context<'_>) -> Self {
        let op = split.pc as usize;
        let thread = warp.first_thread(split.mask);
        let described = cx.machine.place(op, thread, cx.block.index);
        let place = match &described.source {
            Some(source) => source.to_string(),
            None => format!("PTX line {}", described.ptx_line),
        };
        let [x, y, z] = cx.block.index;
        Self {
            block: match cx.machine.ranks() {
                1 => String::new(),
                _ => format!("block ({x},{y},{z}) "),
            },
            warp: warp.index,
            lanes: split.mask,
            verb: match split.state {
                State::Ready => "loop",
                _ => "wait",
            },
            what: what(warp, split, &place, cx),
            rank: rank(warp, split, cx),
            place: (op, thread, cx.block.index),
        }
    }

    /// Whether this one waits for the same as the warp before it.
    fn follows(&self, warp: usize, other: &Waiter) -> bool {
        self.lanes == ALL
            && other.lanes == ALL
            && self.warp == warp + 1
            && (&self.block, self.verb, &self.what) == (&other.block, other.verb, &other.what)
    }
}

/// Which wait explains the others: of those who wait at an mbarrier, most wait for somebody who waits himself.
fn rank(warp: &Warp, split: &Split, cx: &Context<'_>) -> u32 {
    match split.state {
        State::Registers(_) => 6,
        State::Mbarrier(..) => match mbarrier(warp, split, cx) {
            Some((_, barrier)) if barrier.is_stuck() => 5,
            Some((_, barrier)) if barrier.has_begun() => 3,
            _ => 0,
        },
        State::Warpgroup(_) => 4,
        // Its number of threads may be wrong; one that takes all threads waits for those who are elsewhere.
        State::Barrier(id) if cx.block.barriers[id as usize].threads.is_some() => 2,
        _ => 1,
    }
}

fn what(warp: &Warp, split: &Split, place: &str, cx: &Context<'_>) -> String {
    match split.state {
        State::Barrier(id) => {
            let state = &cx.block.barriers[id as usize];
            let expected = state.threads.unwrap_or(cx.block.alive);
            format!(
                "at barrier {id} at {place}: {} of {expected} threads have arrived",
                state.arrived
            )
        }
        State::Warp(mask) => format!("for lanes 0x{mask:08x} at {place}"),
        State::Mates => format!("for the rest of its warp at the barrier at {place}"),
        State::Warpgroup(_) => format!(
            "at {place} for the other warps of its warpgroup: {}",
            warpgroup::missing(warp, cx)
        ),
        State::Mbarrier(..) => match &cx.machine.program.ops[split.pc as usize].code {
            Code::MbarrierWait(wait) => {
                format!("at {} at {place}", warp.waits_for(wait, split, cx))
            }
            _ => format!("at {place}"),
        },
        State::Cluster => format!("at the cluster's barrier at {place}"),
        State::Registers(_) => format!(
            "for registers at {place}: {}",
            cx.block.registers.describe(warp.index)
        ),
        State::Ready => format!("at {place} and nothing changes"),
    }
}

/// A line for each, or for neighbouring warps that wait for the same.
fn lines(waiters: &[Waiter]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = waiters;
    while let Some((first, _)) = rest.split_first() {
        let same = (1..rest.len())
            .find(|&i| !rest[i].follows(rest[i - 1].warp, first))
            .unwrap_or(rest.len());
        let (block, what) = (&first.block, &first.what);
        let last = rest[same - 1].warp;
        let (who, s) = match (first.lanes, same) {
            (ALL, 1) => (format!("warp {}", first.warp), "s"),
            (ALL, 2) => (format!("warps {} and {last}", first.warp), ""),
            (ALL, _) => (format!("warps {} to {last}", first.warp), ""),
            (lanes, _) => (format!("warp {} lanes 0x{lanes:08x}", first.warp), "s"),
        };
        lines.push(format!("{block}{who} {}{s} {what}", first.verb));
        rest = &rest[same..];
    }
    let more = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}
