//! Deadlock reports: what each warp waits for, and which wait is likely the root cause.
use std::collections::BTreeSet;

use super::block::Execution;
use super::cluster::Cluster;
use super::lanes::ALL;
use super::mbarrier::{Mbarrier, name};
use super::profiler::Profiler;
use super::warp::{Split, State, Warp};
use super::warpgroup;
use crate::finding::{Arrivals, Finding, FindingKind, MbarrierMisuse, WaitingThreads, WaitsAt};
use crate::memory::Writes;
use crate::op::{Code, SyncOp};
use crate::program::SourceLine;
use crate::shadow::Site;

/// The most lines of a report.
const LINES: usize = 16;

/// A group of lanes that waits.
struct Waiter {
    block: String,
    warp: usize,
    lanes: u32,
    /// "wait" or "loop".
    verb: &'static str,
    /// What it waits for, and where.
    what: String,
    /// How likely this wait is the root cause of all others.
    rank: u32,
    /// Where: operation, thread, block.
    place: (usize, usize, [u32; 3]),
    at: WaitsAt,
    source: Option<SourceLine>,
    arrivals: Option<Arrivals>,
}

impl Cluster<'_> {
    /// Reports that the cluster can make no progress.
    pub fn report_deadlock(&mut self, writes: &mut Writes, profiler: &mut Profiler) {
        let machine = self.machine;
        let mut waiters = Vec::new();
        for rank in 0..machine.ranks() {
            let Some((mut cx, warps)) = self.context(rank, writes, profiler) else {
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
        // The first of the highest rank.
        let likeliest = waiters.iter().rev().max_by_key(|waiter| waiter.rank);
        let (op, thread, index) =
            likeliest.map_or((0, 0, self.blocks[0].index), |waiter| waiter.place);
        let waiting = lines(&waiters);
        let place = machine.location(op, thread, index);
        let finding = Finding::new(FindingKind::Deadlock { waiting }, place);
        if let Some((mut cx, _)) = self.context(0, writes, profiler) {
            cx.note(finding);
        }
    }

    /// All threads have exited and all copies have landed: reports each mbarrier whose expected and completed bytes
    /// differ. It has released a thread too early, or would never release one.
    pub fn report_unbalanced(&mut self, writes: &mut Writes, profiler: &mut Profiler) {
        let machine = self.machine;
        if !machine.options.sanitize {
            return;
        }
        for rank in 0..machine.ranks() {
            let Some((mut cx, _)) = self.context(rank, writes, profiler) else {
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

impl Execution<'_> {
    /// Reports an `expect_tx` after the last arrival of a phase, if the copies that have been issued bring all bytes that it has expected so
    /// far: here they land late, but on a GPU the phase may have ended.
    pub(super) fn check_expected(&mut self, rank: usize, at: u32, bytes: u32, site: Site) {
        let copies = self.common.in_flight.iter();
        let copies = copies.filter(|copy| (copy.rank, copy.mbarrier) == (rank, at));
        let in_flight: i64 = copies.map(|copy| i64::from(copy.bytes().0)).sum();
        let program = self.machine.program;
        let Some(barriers) = self.block_of(rank).map(|block| &block.mbarriers) else {
            return;
        };
        let phase = barriers
            .get(&at)
            .and_then(|barrier| barrier.may_end(in_flight));
        let Some(phase) = phase else {
            return;
        };
        let name = name(program, barriers, at);
        let reason = format!(
            "phase {phase} of the mbarrier {name}: {bytes} bytes are expected after the last arrival; if the copies land before this, the phase \
             ends without them"
        );
        self.report(FindingKind::TransactionCount(reason), site);
    }
}

/// Reports a wrong number of bytes at the `expect_tx` that announced them.
fn report_count(at: u32, barrier: &Mbarrier, cx: &mut Execution<'_>) {
    if let (Some(bytes), Some(site)) = (barrier.difference(), barrier.announced) {
        let name = name(cx.machine.program, &cx.block.mbarriers, at);
        let reason = format!("phase {} of the mbarrier {name}: {bytes}", barrier.phase);
        cx.report(FindingKind::TransactionCount(reason), site);
    }
}

/// Reports what is wrong with an mbarrier at which a thread waits, if that can be determined.
fn report_mbarrier(at: u32, cx: &mut Execution<'_>) {
    let Some(barrier) = cx.block.mbarriers.get(&at).cloned() else {
        return;
    };
    if barrier.is_stuck() {
        report_count(at, &barrier, cx);
    }
    if let Some((phase, Some(site))) = barrier.overrun {
        let name = name(cx.machine.program, &cx.block.mbarriers, at);
        let reason = format!(
            "phase overrun: this ended phase {phase} of the mbarrier {name} before any wait had observed the end of phase \
             {}: more arrivals than its mbarrier.init counts, or no thread waits in between",
            phase - 1
        );
        cx.report(
            FindingKind::InvalidMbarrier(MbarrierMisuse::Overrun, reason),
            site,
        );
    }
}

/// The mbarrier at which these lanes wait.
fn mbarrier<'a>(warp: &Warp, split: &Split, cx: &'a Execution<'_>) -> Option<(u32, &'a Mbarrier)> {
    let (State::Mbarrier(..), Code::Sync(SyncOp::MbarrierWait(wait))) =
        (split.state, &cx.machine.program.ops[split.pc as usize].code)
    else {
        return None;
    };
    let at = warp.waits_at(wait, split);
    Some((at, cx.block.mbarriers.get(&at)?))
}

impl Waiter {
    fn new(warp: &Warp, split: &Split, cx: &Execution<'_>) -> Self {
        let op = split.pc as usize;
        let thread = warp.first_thread(split.mask);
        let described = cx.machine.location(op, thread, cx.block.index);
        let place = match &described.source {
            Some(source) => source.to_string(),
            None => format!("PTX line {}", described.ptx_line),
        };
        let [x, y, z] = cx.block.index;
        let at = match split.state {
            State::Barrier(_) => WaitsAt::Barrier,
            State::Mbarrier(..) => WaitsAt::Mbarrier,
            State::Ready => WaitsAt::Loop,
            State::Warp(_)
            | State::WholeWarp
            | State::Warpgroup(_)
            | State::Cluster
            | State::Registers(_) => WaitsAt::Other,
        };
        Self {
            at,
            block: match cx.machine.ranks() {
                1 => String::new(),
                _ => format!("block ({x},{y},{z}) "),
            },
            warp: warp.index,
            lanes: split.mask,
            verb: match split.state {
                State::Ready => "loop",
                State::Barrier(_)
                | State::Warp(_)
                | State::WholeWarp
                | State::Warpgroup(_)
                | State::Mbarrier(..)
                | State::Cluster
                | State::Registers(_) => "wait",
            },
            what: what(warp, split, &place, cx),
            rank: rank(warp, split, cx),
            place: (op, thread, cx.block.index),
            source: described.source,
            arrivals: mbarrier(warp, split, cx).map(|(_, barrier)| barrier.arrivals(cx.machine)),
        }
    }

    /// Whether it waits for the same thing as the previous warp.
    fn follows(&self, warp: usize, other: &Waiter) -> bool {
        self.lanes == ALL
            && other.lanes == ALL
            && self.warp == warp + 1
            && (&self.block, self.verb, &self.what) == (&other.block, other.verb, &other.what)
    }
}

/// Ranks waits by how likely each is the root cause: most warps at an mbarrier wait for a thread that waits itself.
fn rank(warp: &Warp, split: &Split, cx: &Execution<'_>) -> u32 {
    match split.state {
        State::Registers(_) => 6,
        State::Mbarrier(..) => match mbarrier(warp, split, cx) {
            Some((_, barrier)) if barrier.is_stuck() => 5,
            Some((_, barrier)) if barrier.has_begun() => 3,
            Some(_) | None => 0,
        },
        State::Warpgroup(_) => 4,
        // Its thread count may be wrong; a barrier of all threads waits for threads that are elsewhere.
        State::Barrier(id) if cx.block.barriers[id as usize].threads.is_some() => 2,
        State::Ready | State::Barrier(_) | State::Warp(_) | State::WholeWarp | State::Cluster => 1,
    }
}

fn what(warp: &Warp, split: &Split, place: &str, cx: &Execution<'_>) -> String {
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
        State::WholeWarp => format!("for the rest of its warp at the barrier at {place}"),
        State::Warpgroup(_) => format!(
            "at {place} for the other warps of its warpgroup: {}",
            warpgroup::missing(warp, cx)
        ),
        State::Mbarrier(..) => match &cx.machine.program.ops[split.pc as usize].code {
            Code::Sync(SyncOp::MbarrierWait(wait)) => {
                format!("at {place} for {}", warp.waits_for(wait, split, cx))
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

/// A line for each waiter, or for neighboring warps that wait for the same thing.
fn lines(waiters: &[Waiter]) -> Vec<WaitingThreads> {
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
        lines.push(WaitingThreads {
            at: first.at,
            source: first.source.clone(),
            text: format!("{block}{who} {}{s} {what}", first.verb),
            arrivals: first.arrivals.clone(),
        });
        rest = &rest[same..];
    }
    let more = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    if more > 0 {
        lines.push(WaitingThreads {
            at: WaitsAt::Other,
            source: None,
            text: format!("and {more} more"),
            arrivals: None,
        });
    }
    lines
}
