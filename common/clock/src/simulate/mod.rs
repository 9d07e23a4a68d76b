//! A discrete-event simulation of one SM: its warps, pipes and barriers.
//!
//! Four schedulers issue one instruction per clock each. A warp's next instruction issues when the stall count of the
//! previous one has elapsed, the scoreboards that it waits for are released, its pipe is free, and no other warp of the
//! scheduler takes the slot. For a kernel with clusters, all SMs of one cluster are simulated.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `job` | what is the input? |
//! | `state` | what are warps, barriers and pipes doing? |
//! | `issue` | when does a warp issue its next instruction? |
//! | `effect` | what does that instruction do? |
//! | `barriers`, `cluster` | which warps wait for which? |
//! | `bulk`, `wgmma` | when are copies by TMA and matrix products done? |
//! | `result` | what is the output? |
mod barriers;
mod bulk;
mod cluster;
mod effect;
mod issue;
mod job;
mod result;
mod state;
mod wgmma;

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use rustc_hash::FxHashMap as HashMap;

use crate::card::Card;
use crate::class::{Class, Does, PIPES};
use crate::machine_code::{MachineCode, MachineInstruction};
use crate::memory::Memory;
use crate::stall::{STALLS, Stall};
use state::{ClusterState, Cta, Due, DueWarp, Item, Sm, Warp, Warpgroup};

pub use job::{Job, Program};
pub use result::{Activity, Simulation, SimulationError, Span, Unit};

/// Sub-partitions of an SM.
pub const PARTITIONS: usize = 4;
/// Scoreboards of a warp.
const SCOREBOARDS: usize = 6;
/// Warps of a warpgroup.
const WARPGROUP: usize = 4;

struct Simulator<'a> {
    card: &'a Card,
    code: &'a [MachineInstruction],
    classes: Vec<Class>,
    job: &'a Job<'a>,
    /// The warps that may issue an instruction.
    due: BinaryHeap<Reverse<DueWarp>>,
    /// All other events.
    events: BinaryHeap<Due>,
    order: u64,
    warps: Vec<Warp<'a>>,
    ctas: Vec<Cta>,
    clusters: Vec<ClusterState>,
    sms: Vec<Sm>,
    started: u64,
    /// The warp whose waits delimit the loop iterations, and the instruction at which it waits.
    watched: Option<(usize, u32)>,
    result: Simulation,
}

/// Runs a job.
///
/// # Errors
/// If it gets stuck with waiting warps, or there is nothing to run.
pub fn simulate(
    card: &Card,
    code: &MachineCode,
    job: &Job<'_>,
) -> Result<Simulation, SimulationError> {
    let first = job.clusters.first().ok_or(SimulationError::Nothing)?;
    let ranks = first.len().max(1);
    let shared = job.shared_bytes.saturating_mul(job.resident);
    let sm = || Sm {
        slot_free: [0.0; PARTITIONS],
        pipe_free: [[0.0; PIPES]; PARTITIONS],
        queue: std::array::from_fn(|_| VecDeque::new()),
        starts: VecDeque::new(),
        data_free: 0.0,
        memory: Memory::new(card, shared, job.sharing),
        tma_free: 0.0,
        arrivals_free: 0.0,
        bulk_landed: 0.0,
    };
    let mut simulator = Simulator {
        card,
        code: &code.instructions,
        classes: (code.instructions.iter())
            .map(|one| Class::of(one, card))
            .collect(),
        job,
        due: BinaryHeap::new(),
        events: BinaryHeap::new(),
        order: 0,
        warps: Vec::new(),
        ctas: Vec::new(),
        clusters: Vec::new(),
        sms: (0..ranks).map(|_| sm()).collect(),
        started: 0,
        watched: None,
        result: Simulation {
            ends: vec![0.0; job.count as usize],
            stalls: vec![[0.0; STALLS.len()]; code.instructions.len()],
            sms: ranks as u32,
            ..Simulation::default()
        },
    };
    // CTAs of an SM start staggered, so that they rarely need the same pipe at the same time.
    for nth in 0..job.resident {
        simulator.start(f64::from(nth) * card.latency.start);
    }
    simulator.watch();
    simulator.run()
}

impl<'a> Simulator<'a> {
    fn push(&mut self, time: f64, item: Item) {
        self.order += 1;
        let order = self.order;
        self.events.push(Due { time, order, item });
    }

    fn push_warp(&mut self, time: f64, warp: usize) {
        self.order += 1;
        let due = DueWarp::new(time, self.order, warp);
        self.due.push(Reverse(due));
    }

    /// Starts the next cluster, one CTA on each SM.
    fn start(&mut self, time: f64) {
        if self.started == self.job.count {
            return;
        }
        let number = self.started as usize;
        self.started += 1;
        let job: &'a Job<'a> = self.job;
        let traced = &job.clusters[number % job.clusters.len()];
        let cluster = self.clusters.len();
        let mut ctas = Vec::new();
        let mut all = 0;
        for (sm, programs) in traced.iter().enumerate() {
            let cta = self.ctas.len();
            ctas.push(cta);
            self.ctas.push(Cta {
                sm,
                cluster,
                number: number as u32,
                threads: 32 * programs.len() as u32,
                alive: programs.len(),
                barriers: HashMap::default(),
                mbarriers: HashMap::default(),
                has_map: false,
                warpgroups: (0..programs.len().div_ceil(WARPGROUP))
                    .map(|_| Warpgroup::default())
                    .collect(),
            });
            for (index, program) in programs.iter().enumerate() {
                let warp = self.warps.len();
                all += 1;
                self.warps.push(Warp {
                    program,
                    cta,
                    index,
                    at: 0,
                    issued: time - 1.0,
                    next: time,
                    released: time,
                    why: Stall::Wait,
                    operands: None,
                    boards: [0.0; SCOREBOARDS],
                    board_why: [Stall::ShortScoreboard; SCOREBOARDS],
                    open_copies: 0.0,
                    copies: Vec::new(),
                    open_bulk: 0.0,
                    bulk: Vec::new(),
                    waits_bulk: false,
                    wgmmas: 0,
                    groups: Vec::new(),
                });
                self.push_warp(time, warp);
            }
        }
        self.clusters.push(ClusterState {
            alive: ctas.len(),
            ctas,
            arrived: 0,
            warps: all,
            phase: 0,
            at: 0.0,
            parked: Vec::new(),
            number,
        });
    }

    /// Chooses the instruction whose executions delimit the loop iterations.
    fn watch(&mut self) {
        let first = self
            .warps
            .iter()
            .enumerate()
            .filter(|(_, warp)| warp.cta == 0);
        let Some((number, warp)) = first.max_by_key(|(_, warp)| warp.program.steps.len()) else {
            return;
        };
        let mut counts: HashMap<u32, usize> = HashMap::default();
        for step in warp.program.steps.iter() {
            let waits = matches!(
                self.classes[step.instruction as usize].does,
                Does::Barrier { waits: true } | Does::MbarrierWait | Does::WaitGroups(_)
            );
            if waits && step.event.is_some() {
                *counts.entry(step.instruction).or_default() += 1;
            }
        }
        let most = (counts.into_iter()).max_by_key(|&(instruction, count)| (count, instruction));
        self.watched = most.map(|(instruction, _)| (number, instruction));
    }

    /// Records what a part of an SM does, if it is in the window.
    fn act(&mut self, sm: usize, what: Unit, from: f64, to: f64) {
        if let Some((start, end)) = self.job.window
            && to > start
            && from < end
        {
            self.result.activities.push(Activity {
                sm: sm as u32,
                what,
                from,
                to,
            });
        }
    }

    fn run(mut self) -> Result<Simulation, SimulationError> {
        let mut now = 0.0f64;
        loop {
            let warp = self.due.peek().map(|&Reverse(due)| due);
            let event = self.events.peek().copied();
            let event = event.filter(|event| warp.is_none_or(|warp| event.is_before(warp)));
            match (event, warp) {
                (Some(event), _) => {
                    self.events.pop();
                    now = now.max(event.time);
                    self.process(event);
                }
                (None, Some(due)) => {
                    now = now.max(due.time());
                    let again = self.step(due.warp(), due.time());
                    // Latencies are not negative, so `due` is still the first. Most warps are due again: replacing the first sifts
                    // once, where a pop and a push would sift twice.
                    self.order += 1;
                    if let Some(mut first) = self.due.peek_mut() {
                        debug_assert_eq!(first.0, due);
                        match again {
                            Some(time) => first.0 = DueWarp::new(time, self.order, due.warp()),
                            None => drop(PeekMut::pop(first)),
                        }
                    }
                }
                (None, None) => break,
            }
        }
        if let Some(cta) = self.ctas.iter().position(|cta| cta.alive > 0) {
            let waiting = self
                .warps
                .iter()
                .find(|warp| warp.cta == cta && warp.at < warp.program.steps.len());
            let line = waiting.map_or(0, |warp| {
                let step = warp.program.steps[warp.at];
                self.code[step.instruction as usize].ptx_line
            });
            return Err(SimulationError::Stuck {
                clocks: now as u64,
                line,
            });
        }
        for sm in &self.sms {
            self.result.memory += sm.memory.busy;
        }
        Ok(self.result)
    }

    /// Processes an event that is not an instruction of a warp.
    fn process(&mut self, event: Due) {
        match event.item {
            Item::Arrive {
                cta,
                at,
                count,
                bytes,
            } => self.arrive(cta, at, count, bytes, event.time),
            Item::Refill => self.start(event.time),
        }
    }
}
