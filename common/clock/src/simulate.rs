//! One SM, clock by clock where something happens: its warps in order, its pipes, its barriers.
//!
//! Four schedulers issue one instruction a clock each. A warp's next instruction issues when the stall count of the one
//! before is over, the scoreboards that it waits for are released, its pipe takes it, and no other warp of the
//! scheduler has the slot. Of a kernel in clusters all SMs of one cluster are simulated.
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use emulator::{Effect, TraceLine, WarpTrace};
use rustc_hash::FxHashMap as HashMap;

use crate::card::Card;
use crate::class::{Class, Does, PIPES, Pipe};
use crate::machine_code::{MachineCode, MachineInstruction};
use crate::memory::{Memory, MemoryBusy};
use crate::path::Step;
use crate::sharing::Sharing;
use crate::stall::{STALLS, Stall};

/// Sub-partitions of an SM.
pub const PARTITIONS: usize = 4;
/// Scoreboards of a warp.
const SCOREBOARDS: usize = 6;
/// Warps of a warpgroup.
const WARPGROUP: usize = 4;

/// What a warp executes.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// Machine instructions in their order.
    pub steps: Vec<Step>,
    /// What they do.
    pub trace: &'a WarpTrace,
    /// Of each event its first effect.
    effects: Vec<u32>,
}

impl<'a> Program<'a> {
    /// Of a walk and the trace that it follows.
    pub fn new(steps: Vec<Step>, trace: &'a WarpTrace) -> Self {
        let mut effects = Vec::with_capacity(trace.events.len() + 1);
        let mut next = 0;
        for event in 0..=trace.events.len() as u32 {
            while (trace.effects.get(next)).is_some_and(|effect| effect.event < event) {
                next += 1;
            }
            effects.push(next as u32);
        }
        Self {
            steps,
            trace,
            effects,
        }
    }

    fn effects(&self, event: u32) -> &[emulator::TraceEffect] {
        let at = event as usize;
        let (from, to) = (self.effects[at], self.effects.get(at + 1));
        let to = to.copied().unwrap_or(self.trace.effects.len() as u32);
        &self.trace.effects[from as usize..to as usize]
    }

    fn lines(&self, first: u32, count: u32) -> &[TraceLine] {
        let first = first as usize;
        self.trace
            .lines
            .get(first..first + count as usize)
            .unwrap_or_default()
    }
}

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Clusters as they were traced: their CTAs by rank, the warps of each. A kernel without clusters has one CTA in each.
    pub clusters: Vec<Vec<Vec<Program<'a>>>>,
    /// CTAs that an SM holds at a time.
    pub resident: u32,
    /// Clusters to run, one after the other on the same SMs; they repeat those that were traced.
    pub count: u64,
    /// Bytes of shared memory that a CTA takes.
    pub shared_bytes: u32,
    /// What of memory the launch as a whole shares.
    pub sharing: Sharing,
    /// Keep the spans of each warp between these clocks.
    pub window: Option<(f64, f64)>,
}

/// What a warp did for some clocks.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Span {
    /// The SM in the cluster, and the CTA in the order of their start.
    pub sm: u32,
    /// The CTA in the order of their start.
    pub cta: u32,
    /// The warp in its CTA.
    pub warp: u32,
    /// Clocks.
    pub from: f64,
    /// Clocks.
    pub to: f64,
    /// The machine instruction that waited, or that was issued.
    pub instruction: u32,
    /// Why it waited; [`Stall::Selected`] for the clock of its issue.
    pub stall: Stall,
}

/// What an SM did beside its warps' issuing.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Activity {
    /// The SM in the cluster.
    pub sm: u32,
    /// What.
    pub what: Unit,
    /// Clocks.
    pub from: f64,
    /// Clocks.
    pub to: f64,
}

/// A part of an SM that is not a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Tensor cores of a sub-partition.
    Tensor,
    /// The data pipe of shared memory and the L1.
    SharedMemory,
    /// Loads and `cp.async` on their way from the L2.
    Loads,
    /// Boxes of TMA and other bulk copies on their way.
    BulkCopies,
    /// A phase of an mbarrier, from the completion of the one before.
    Phase,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Simulation {
    /// When each cluster ended, in clocks from the start of the first, in their order.
    pub ends: Vec<f64>,
    /// For each machine instruction, clocks of warps by [`STALLS`].
    pub stalls: Vec<[f64; STALLS.len()]>,
    /// Warp instructions issued.
    pub issued: u64,
    /// Clocks for which a pipe of a sub-partition was busy, summed over the sub-partitions of all simulated SMs.
    pub busy: [f64; PIPES],
    /// Clocks for which shared memory's data pipe was busy, over all simulated SMs.
    pub shared_busy: f64,
    /// Clocks for which the memory behind the SMs was busy.
    pub memory: MemoryBusy,
    /// SMs that were simulated.
    pub sms: u32,
    /// What warps did, if a window was asked for.
    pub spans: Vec<Span>,
    /// What else the SM did in that window.
    pub activities: Vec<Activity>,
    /// When the warp with the longest program, in the first CTA, came to what it waits at most often.
    pub steps: Vec<f64>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// Some warps wait for what never happens: what was walked through is not what ran.
    #[error("the model's warps wait for each other after {clocks} clocks, at PTX line {line}")]
    Stuck {
        /// When.
        clocks: u64,
        /// Where the first of them waits.
        line: u32,
    },
    /// There is nothing to simulate.
    #[error("no warp was traced")]
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Warp(usize),
    /// Arrivals at an mbarrier, and bytes that come to be expected (or have come, if fewer than 0).
    Arrive {
        cta: usize,
        at: u32,
        count: u32,
        bytes: i64,
    },
    /// The CTA slot of an SM is free.
    Refill,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Due {
    time: f64,
    order: u64,
    item: Item,
}

impl Eq for Due {}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .time
            .total_cmp(&self.time)
            .then(other.order.cmp(&self.order))
    }
}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

struct Warp<'a> {
    program: &'a Program<'a>,
    cta: usize,
    index: usize,
    at: usize,
    /// When the instruction before was issued, and when the next may be.
    issued: f64,
    next: f64,
    /// When what it was parked for happened, and why it was.
    released: f64,
    why: Stall,
    boards: [f64; SCOREBOARDS],
    board_why: [Stall; SCOREBOARDS],
    /// When the `cp.async`s of the open group are done; groups; those of bulk copies.
    open_copies: f64,
    copies: Vec<f64>,
    open_bulk: f64,
    bulk: Vec<f64>,
    waits_bulk: bool,
    /// `wgmma`s that it issued, and how many of them each group ends with.
    wgmmas: usize,
    groups: Vec<usize>,
}

#[derive(Default)]
struct Barrier {
    arrived: u32,
    parked: Vec<usize>,
}

#[derive(Default)]
struct Mbarrier {
    expected: u32,
    pending: i64,
    bytes: i64,
    phase: u64,
    /// When the phase began.
    since: f64,
    /// Warps that wait, and the parity that they wait for.
    parked: Vec<(usize, u32)>,
}

#[derive(Default)]
struct Warpgroup {
    /// Of each `wgmma`: warps that have issued it, and the clocks that it takes.
    arrived: Vec<(usize, f64)>,
    /// When each is done.
    ends: Vec<f64>,
    parked: Vec<(usize, usize)>,
}

struct Cta {
    sm: usize,
    cluster: usize,
    number: u32,
    threads: u32,
    alive: usize,
    barriers: HashMap<u32, Barrier>,
    mbarriers: HashMap<u32, Mbarrier>,
    warpgroups: Vec<Warpgroup>,
}

struct ClusterState {
    ctas: Vec<usize>,
    alive: usize,
    arrived: usize,
    warps: usize,
    /// Barriers so far, when the last was complete, and warps that wait.
    phase: u64,
    at: f64,
    parked: Vec<usize>,
    number: usize,
}

struct Sm {
    slot_free: [f64; PARTITIONS],
    pipe_free: [[f64; PIPES]; PARTITIONS],
    queue: [VecDeque<f64>; PARTITIONS],
    data_free: f64,
    memory: Memory,
    tma_free: f64,
    /// When all bulk copies that have been issued have landed.
    bulk_landed: f64,
}

impl Sm {
    /// Which half of the FMA pipe takes an instruction that either can take.
    fn free_half(&self, partition: usize, time: f64) -> Pipe {
        let free = &self.pipe_free[partition];
        let (light, heavy) = (free[Pipe::Fma as usize], free[Pipe::FmaHeavy as usize]);
        match light > time && heavy < light {
            true => Pipe::FmaHeavy,
            false => Pipe::Fma,
        }
    }
}

struct Simulator<'a> {
    card: &'a Card,
    code: &'a [MachineInstruction],
    classes: Vec<Class>,
    job: &'a Job<'a>,
    heap: BinaryHeap<Due>,
    order: u64,
    warps: Vec<Warp<'a>>,
    ctas: Vec<Cta>,
    clusters: Vec<ClusterState>,
    sms: Vec<Sm>,
    started: u64,
    /// The warp whose waits mark the steps, and the instruction at which it waits.
    watched: Option<(usize, u32)>,
    result: Simulation,
}

/// Runs a job.
///
/// # Errors
/// If it ends with warps that wait, or there is nothing to run.
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
        data_free: 0.0,
        memory: Memory::new(card, shared, job.sharing),
        tma_free: 0.0,
        bulk_landed: 0.0,
    };
    let mut simulator = Simulator {
        card,
        code: &code.instructions,
        classes: (code.instructions.iter())
            .map(|one| Class::of(one, card))
            .collect(),
        job,
        heap: BinaryHeap::new(),
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
    for _ in 0..job.resident {
        simulator.start(0.0);
    }
    simulator.watch();
    simulator.run()
}

impl<'a> Simulator<'a> {
    fn push(&mut self, time: f64, item: Item) {
        self.order += 1;
        let order = self.order;
        self.heap.push(Due { time, order, item });
    }

    /// Starts the next cluster, a CTA on each SM.
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
                self.push(time, Item::Warp(warp));
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

    /// Finds the instruction by whose executions steps are told apart.
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
        for step in &warp.program.steps {
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

    /// Notes what a part of an SM does, if it is in the window.
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
        while let Some(due) = self.heap.pop() {
            now = now.max(due.time);
            match due.item {
                Item::Warp(warp) => self.step(warp, due.time),
                Item::Arrive {
                    cta,
                    at,
                    count,
                    bytes,
                } => self.arrive(cta, at, count, bytes, due.time),
                Item::Refill => self.start(due.time),
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

    /// A warp's next instruction, if it can issue at this time.
    fn step(&mut self, number: usize, time: f64) {
        let warp = &self.warps[number];
        let Some(&step) = warp.program.steps.get(warp.at) else {
            self.exit(number, time);
            return;
        };
        let index = step.instruction as usize;
        let (one, class) = (&self.code[index], self.classes[index]);
        let partition = warp.index % PARTITIONS;
        let sm = &mut self.sms[self.ctas[warp.cta].sm];
        // What it has to wait for, and until when.
        let mut boards = (0.0f64, Stall::ShortScoreboard);
        for board in 0..SCOREBOARDS {
            if one.wait >> board & 1 == 1 && warp.boards[board] > boards.0 {
                boards = (warp.boards[board], warp.board_why[board]);
            }
        }
        if let Does::WaitGroups(left) = class.does {
            let groups = if warp.waits_bulk {
                &warp.bulk
            } else {
                &warp.copies
            };
            let until = groups.len().checked_sub(left as usize + 1);
            let done = until.map_or(0.0, |last| {
                groups[..=last].iter().copied().fold(0.0, f64::max)
            });
            if done > boards.0 {
                boards = (done, Stall::LongScoreboard);
            }
        }
        let takes = match class.pipe {
            Pipe::Fma => sm.free_half(partition, time),
            pipe => pipe,
        };
        let pipe = match takes {
            Pipe::None => (0.0, Stall::Wait),
            Pipe::Memory => {
                let queue = &mut sm.queue[partition];
                while queue.front().is_some_and(|&start| start <= time) {
                    queue.pop_front();
                }
                let full = queue.len() as f64 >= self.card.queue.memory_instructions;
                let until = if full { queue.front().copied() } else { None };
                let why = match class.does {
                    Does::GlobalLoad | Does::GlobalStore | Does::AsyncCopy | Does::Atomic => {
                        Stall::LgThrottle
                    }
                    _ => Stall::MioThrottle,
                };
                (until.unwrap_or(0.0), why)
            }
            Pipe::Tensor if matches!(class.does, Does::Wgmma(_)) => (0.0, Stall::Gmma),
            pipe => {
                let free = &sm.pipe_free[partition];
                let own = free[pipe as usize];
                // See `interval.fma` in the card's file: f32 arithmetic is dispatched through the ALU's port.
                let port = match class.pipe {
                    Pipe::Fma => free[Pipe::Alu as usize],
                    _ => 0.0,
                };
                (own.max(port), Stall::MathPipeThrottle)
            }
        };
        let ready = warp.next.max(warp.released).max(boards.0).max(pipe.0);
        let slot = sm.slot_free[partition];
        let earliest = ready.max(slot);
        if earliest > time {
            self.push(earliest, Item::Warp(number));
            return;
        }
        // It issues now.
        sm.slot_free[partition] = time + 1.0;
        let waited = [
            (warp.next, Stall::Wait),
            (warp.released, warp.why),
            boards,
            pipe,
            (time, Stall::NotSelected),
        ];
        let mut from = warp.issued + 1.0;
        let window = self.job.window;
        let (cta, warp_index) = (&self.ctas[warp.cta], warp.index as u32);
        for (until, why) in waited {
            let until = until.min(time);
            if until > from {
                self.result.stalls[index][why as usize] += until - from;
                keep(&mut self.result.spans, window, || Span {
                    sm: cta.sm as u32,
                    cta: cta.number,
                    warp: warp_index,
                    from,
                    to: until,
                    instruction: step.instruction,
                    stall: why,
                });
                from = until;
            }
        }
        self.result.stalls[index][Stall::Selected as usize] += 1.0;
        keep(&mut self.result.spans, window, || Span {
            sm: cta.sm as u32,
            cta: cta.number,
            warp: warp_index,
            from: time,
            to: time + 1.0,
            instruction: step.instruction,
            stall: Stall::Selected,
        });
        self.result.issued += 1;
        if class.pipe != Pipe::None && !matches!(class.does, Does::Wgmma(_)) {
            self.result.busy[takes as usize] += class.interval;
            sm.pipe_free[partition][takes as usize] = time + class.interval;
            if class.pipe == Pipe::Fma {
                sm.pipe_free[partition][Pipe::Alu as usize] = time + self.card.interval.fma;
            }
        }
        if self.watched == Some((number, step.instruction)) {
            self.result.steps.push(time);
        }
        let stall = f64::from(one.stall).max(1.0);
        let sm_number = cta.sm;
        if class.pipe == Pipe::Tensor && !matches!(class.does, Does::Wgmma(_)) {
            self.act(sm_number, Unit::Tensor, time, time + class.interval);
        }
        let warp = &mut self.warps[number];
        warp.issued = time;
        warp.next = time + stall;
        warp.at += 1;
        let parked = self.effect(number, index, step, time);
        if !parked {
            let next = self.warps[number].next;
            self.push(next, Item::Warp(number));
        }
    }

    fn release(&mut self, number: usize, board: Option<u8>, at: f64, why: Stall) {
        if let Some(board) = board {
            let warp = &mut self.warps[number];
            let board = board as usize;
            if at > warp.boards[board] {
                (warp.boards[board], warp.board_why[board]) = (at, why);
            }
        }
    }

    /// Puts an access into the queue of shared memory's and the L1's data pipe; when it begins.
    fn enqueue(&mut self, number: usize, time: f64, wavefronts: f64) -> f64 {
        let warp = &self.warps[number];
        let sm = &mut self.sms[self.ctas[warp.cta].sm];
        let start = sm.data_free.max(time + 1.0);
        sm.data_free = start + wavefronts;
        sm.queue[warp.index % PARTITIONS].push_back(start);
        let at = self.ctas[self.warps[number].cta].sm;
        self.result.shared_busy += wavefronts;
        self.act(at, Unit::SharedMemory, start, start + wavefronts);
        start
    }

    /// What an issued instruction does; whether its warp is parked until something else happens.
    fn effect(&mut self, number: usize, index: usize, step: Step, time: f64) -> bool {
        let (card, class) = (self.card, self.classes[index]);
        let (write, read) = (self.code[index].write, self.code[index].read);
        let opcode_bypasses = self.code[index].opcode.contains("BYPASS");
        let warp = &self.warps[number];
        let (cta, program) = (warp.cta, warp.program);
        let effects = step.event.map_or(&[][..], |event| program.effects(event));
        let sm = self.ctas[cta].sm;
        let latency = &card.latency;
        match class.does {
            Does::Computes | Does::Scoreboard => {
                self.release(number, write, time + class.latency, Stall::ShortScoreboard);
                self.release(number, read, time + class.interval, Stall::ShortScoreboard);
            }
            Does::Branch => {}
            Does::Fence(clocks) => {
                let warp = &mut self.warps[number];
                (warp.released, warp.why) = (time + clocks, Stall::Membar);
            }
            Does::FenceOfCopies(clocks) => {
                let landed = self.sms[sm].bulk_landed.max(time);
                let warp = &mut self.warps[number];
                (warp.released, warp.why) = (landed + clocks, Stall::Membar);
            }
            Does::Shared => {
                let wavefronts: u32 = (effects.iter())
                    .map(|one| match one.effect {
                        Effect::Shared { wavefronts } => wavefronts,
                        _ => 0,
                    })
                    .sum();
                let wavefronts = f64::from(wavefronts);
                let start = self.enqueue(number, time, wavefronts);
                let done =
                    start + latency.shared + latency.shared_wavefront * (wavefronts - 1.0).max(0.0);
                self.release(number, write, done, Stall::ShortScoreboard);
                self.release(number, read, start + wavefronts, Stall::ShortScoreboard);
            }
            Does::GlobalLoad | Does::Atomic => {
                let mut done = time + latency.l1;
                for one in effects {
                    if let Effect::Global { first, count } = one.effect {
                        let start = self.enqueue(number, time, f64::from(count));
                        let memory = &mut self.sms[sm].memory;
                        let missing = memory.missing(program.lines(first, count));
                        done = done.max(start + latency.l1 + f64::from(count));
                        if missing > 0 || class.does == Does::Atomic {
                            let bytes = 32.0 * f64::from(missing.max(1));
                            let rate = card.bytes.l2_port;
                            let fetched = memory.fetch(card, start, bytes, rate, latency.l2);
                            done = done.max(fetched);
                            self.act(sm, Unit::Loads, start, fetched);
                        }
                    }
                }
                self.release(number, write, done, Stall::LongScoreboard);
                self.release(number, read, time + 8.0, Stall::ShortScoreboard);
            }
            Does::GlobalStore => {
                let mut taken = time;
                for one in effects {
                    if let Effect::Global { first, count } = one.effect {
                        taken = self.enqueue(number, time, f64::from(count)) + f64::from(count);
                        let sectors: u32 = (program.lines(first, count).iter())
                            .map(|line| line.sectors.count_ones())
                            .sum();
                        let memory = &mut self.sms[sm].memory;
                        memory.store(card, time, 32.0 * f64::from(sectors));
                    }
                }
                self.release(number, read, taken + 4.0, Stall::ShortScoreboard);
                self.release(number, write, taken + 4.0, Stall::ShortScoreboard);
            }
            Does::AsyncCopy => {
                for one in effects {
                    if let Effect::Global { first, count } = one.effect {
                        let passes = f64::from(count) * card.queue.copy_passes;
                        let start = self.enqueue(number, time, passes);
                        let lines = program.lines(first, count);
                        let memory = &mut self.sms[sm].memory;
                        let sectors = match opcode_bypasses {
                            true => lines.iter().map(|line| line.sectors.count_ones()).sum(),
                            false => memory.missing(lines),
                        };
                        let rate = card.bytes.l2_port_copy;
                        let bytes = 32.0 * f64::from(sectors);
                        let done = memory.fetch(card, start, bytes, rate, latency.l2);
                        self.act(sm, Unit::Loads, start, done);
                        let warp = &mut self.warps[number];
                        warp.open_copies = warp.open_copies.max(done);
                        self.release(number, read, start + 4.0, Stall::ShortScoreboard);
                    }
                }
            }
            Does::CommitCopies => {
                let warp = &mut self.warps[number];
                let done = std::mem::take(&mut warp.open_copies);
                warp.copies.push(done);
                warp.waits_bulk = false;
            }
            Does::CommitBulk => {
                let warp = &mut self.warps[number];
                let done = std::mem::take(&mut warp.open_bulk);
                warp.bulk.push(done);
                warp.waits_bulk = true;
            }
            Does::WaitGroups(_) => {}
            Does::Barrier { waits } => return self.barrier(number, effects, waits, time),
            Does::Mbarrier => {
                self.release(
                    number,
                    write,
                    time + latency.mbarrier_arrive,
                    Stall::ShortScoreboard,
                );
                self.release(number, read, time + 4.0, Stall::ShortScoreboard);
                self.mbarrier(number, effects, time);
            }
            Does::MbarrierWait => return self.wait_mbarrier(number, effects, write, time),
            Does::BulkCopy => {
                self.release(number, read, time + 8.0, Stall::ShortScoreboard);
                self.release(number, write, time + 8.0, Stall::ShortScoreboard);
                self.bulk_copy(number, effects, time);
            }
            Does::Wgmma(ends) => self.wgmma(number, class, ends, time),
            Does::WaitWgmma(left) => return self.wait_wgmma(number, left, time),
            Does::ClusterArrive => self.cluster_arrive(number, time),
            Does::ClusterWait => return self.cluster_wait(number, time),
        }
        false
    }

    fn barrier(
        &mut self,
        number: usize,
        effects: &[emulator::TraceEffect],
        waits: bool,
        time: f64,
    ) -> bool {
        let named = effects.iter().find_map(|one| match one.effect {
            Effect::Barrier { number, threads } => Some((number, threads)),
            _ => None,
        });
        let Some((barrier, threads)) = named else {
            return false;
        };
        let latency = &self.card.latency;
        let cta = &mut self.ctas[self.warps[number].cta];
        let alive = 32 * cta.alive as u32;
        let wanted = threads.unwrap_or(cta.threads.min(alive));
        let state = cta.barriers.entry(barrier).or_default();
        state.arrived += 32;
        if waits {
            state.parked.push(number);
        }
        if state.arrived < wanted {
            return waits;
        }
        let parked = std::mem::take(&mut state.parked);
        state.arrived = 0;
        let free = time + latency.barrier + latency.barrier_warp * f64::from(wanted / 32);
        for warp in parked {
            self.unpark(warp, free, Stall::Barrier);
        }
        waits
    }

    fn unpark(&mut self, number: usize, time: f64, why: Stall) {
        let warp = &mut self.warps[number];
        (warp.released, warp.why) = (time, why);
        let next = warp.next.max(time);
        self.push(next, Item::Warp(number));
    }

    fn mbarrier(&mut self, number: usize, effects: &[emulator::TraceEffect], time: f64) {
        let latency = &self.card.latency;
        let own = self.warps[number].cta;
        for one in effects {
            match one.effect {
                Effect::MbarrierInit { at, count } => {
                    let barrier = Mbarrier {
                        expected: count,
                        pending: count.into(),
                        ..Mbarrier::default()
                    };
                    self.ctas[own].mbarriers.insert(at, barrier);
                }
                Effect::MbarrierArrive {
                    rank,
                    at,
                    count,
                    bytes,
                } => {
                    let cluster = &self.clusters[self.ctas[own].cluster];
                    let cta = cluster.ctas.get(rank as usize).copied().unwrap_or(own);
                    let remote = if cta == own {
                        0.0
                    } else {
                        latency.mbarrier_remote
                    };
                    let due = time + latency.mbarrier_arrive + remote;
                    self.push(
                        due,
                        Item::Arrive {
                            cta,
                            at,
                            count,
                            bytes,
                        },
                    );
                }
                Effect::MbarrierCopies { at, noinc } => {
                    let count = u32::from(noinc);
                    let due = self.warps[number].open_copies.max(time) + latency.mbarrier_arrive;
                    self.push(
                        due,
                        Item::Arrive {
                            cta: own,
                            at,
                            count,
                            bytes: 0,
                        },
                    );
                }
                _ => {}
            }
        }
    }

    fn arrive(&mut self, cta: usize, at: u32, count: u32, bytes: i64, time: f64) {
        let Some(barrier) = self.ctas[cta].mbarriers.get_mut(&at) else {
            return;
        };
        barrier.pending -= i64::from(count);
        barrier.bytes += bytes;
        if barrier.pending > 0 || barrier.bytes != 0 {
            return;
        }
        barrier.phase += 1;
        barrier.pending += i64::from(barrier.expected);
        let parity = (barrier.phase as u32 - 1) & 1;
        let (free, parked): (Vec<_>, Vec<_>) = std::mem::take(&mut barrier.parked)
            .into_iter()
            .partition(|&(_, wanted)| wanted == parity);
        barrier.parked = parked;
        let since = std::mem::replace(&mut barrier.since, time);
        let sm = self.ctas[cta].sm;
        self.act(sm, Unit::Phase, since, time);
        let at = time + self.card.latency.mbarrier;
        for (warp, _) in free {
            self.unpark(warp, at, Stall::LongScoreboard);
        }
    }

    fn wait_mbarrier(
        &mut self,
        number: usize,
        effects: &[emulator::TraceEffect],
        write: Option<u8>,
        time: f64,
    ) -> bool {
        let done = time + self.card.latency.mbarrier_arrive;
        self.release(number, write, done, Stall::LongScoreboard);
        let wanted = effects.iter().find_map(|one| match one.effect {
            Effect::MbarrierWait { at, parity } => Some((at, parity)),
            _ => None,
        });
        let Some((at, parity)) = wanted else {
            return false;
        };
        let cta = self.warps[number].cta;
        let Some(barrier) = self.ctas[cta].mbarriers.get_mut(&at) else {
            return false;
        };
        if barrier.phase & 1 != u64::from(parity) {
            return false;
        }
        barrier.parked.push((number, parity));
        true
    }

    fn bulk_copy(&mut self, number: usize, effects: &[emulator::TraceEffect], time: f64) {
        let (card, latency) = (self.card, &self.card.latency);
        let own = self.warps[number].cta;
        for one in effects {
            let Effect::BulkCopy {
                bytes,
                mbarrier,
                ranks,
                ..
            } = one.effect
            else {
                continue;
            };
            let amount = f64::from(bytes);
            let sm = self.ctas[own].sm;
            let Some(at) = mbarrier else {
                let read = self.sms[sm].memory.store(card, time, amount);
                let warp = &mut self.warps[number];
                warp.open_bulk = warp.open_bulk.max(read + latency.shared);
                continue;
            };
            let rate = card.bytes.l2_port_copy;
            let start = self.sms[sm].tma_free.max(time);
            self.sms[sm].tma_free = start + amount / rate;
            let targets: Vec<usize> = (0..32)
                .filter(|rank| ranks >> rank & 1 == 1)
                .filter_map(|rank: usize| {
                    self.clusters[self.ctas[own].cluster]
                        .ctas
                        .get(rank)
                        .copied()
                })
                .collect();
            for cta in targets {
                let target = self.ctas[cta].sm;
                let memory = &mut self.sms[target].memory;
                let wait = (latency.tma - amount / rate).max(latency.l2);
                let landed = memory.fetch(card, start, amount, rate, wait);
                let state = &mut self.sms[target];
                state.bulk_landed = state.bulk_landed.max(landed);
                self.act(target, Unit::BulkCopies, start, landed);
                self.push(
                    landed,
                    Item::Arrive {
                        cta,
                        at,
                        count: 0,
                        bytes: -i64::from(bytes),
                    },
                );
            }
        }
    }

    fn wgmma(&mut self, number: usize, class: Class, ends: bool, time: f64) {
        let warp = &mut self.warps[number];
        let nth = warp.wgmmas;
        warp.wgmmas += 1;
        if ends {
            warp.groups.push(warp.wgmmas);
        }
        let (cta, group) = (warp.cta, warp.index / WARPGROUP);
        let first = group * WARPGROUP;
        let cta = &mut self.ctas[cta];
        let warps = (self.job.clusters[0][cta.sm].len() - first).min(WARPGROUP);
        let group = &mut cta.warpgroups[group];
        if group.arrived.len() <= nth {
            group.arrived.resize(nth + 1, (0, 0.0));
        }
        group.arrived[nth] = (group.arrived[nth].0 + 1, class.interval);
        // It begins when all four warps have issued it, and those before it are done.
        let mut begun = Vec::new();
        let at = cta.sm;
        let sm = &mut self.sms[cta.sm];
        while let Some(&(arrived, clocks)) = group.arrived.get(group.ends.len()) {
            if arrived < warps {
                break;
            }
            let mut start = time;
            for partition in 0..PARTITIONS {
                start = start.max(sm.pipe_free[partition][Pipe::Tensor as usize]);
            }
            for partition in 0..PARTITIONS {
                sm.pipe_free[partition][Pipe::Tensor as usize] = start + clocks;
            }
            self.result.busy[Pipe::Tensor as usize] += clocks * PARTITIONS as f64;
            group.ends.push(start + clocks);
            begun.push((start, start + clocks));
        }
        let known = group.ends.len();
        let (free, parked): (Vec<_>, Vec<_>) = std::mem::take(&mut group.parked)
            .into_iter()
            .partition(|&(_, wanted)| wanted <= known);
        group.parked = parked;
        let drain = self.card.latency.wgmma_drain;
        let free: Vec<_> = free
            .into_iter()
            .map(|(warp, wanted)| (warp, group.ends[wanted - 1] + drain))
            .collect();
        for (from, to) in begun {
            self.act(at, Unit::Tensor, from, to);
        }
        for (warp, at) in free {
            self.unpark(warp, at, Stall::Gmma);
        }
    }

    fn wait_wgmma(&mut self, number: usize, left: u32, time: f64) -> bool {
        let warp = &mut self.warps[number];
        let until = warp.groups.len().checked_sub(left as usize + 1);
        let Some(wanted) = until.map(|last| warp.groups[last]) else {
            return false;
        };
        let (cta, group) = (warp.cta, warp.index / WARPGROUP);
        let group = &mut self.ctas[cta].warpgroups[group];
        if wanted > group.ends.len() {
            group.parked.push((number, wanted));
            return true;
        }
        let done = group.ends[wanted - 1] + self.card.latency.wgmma_drain;
        if done > time {
            (warp.released, warp.why) = (done, Stall::Gmma);
        }
        false
    }

    fn cluster_arrive(&mut self, number: usize, time: f64) {
        let cluster = self.ctas[self.warps[number].cta].cluster;
        let state = &mut self.clusters[cluster];
        state.arrived += 1;
        if state.arrived < state.warps {
            return;
        }
        state.arrived = 0;
        state.phase += 1;
        state.at = time + self.card.latency.cluster_barrier;
        let at = state.at;
        for warp in std::mem::take(&mut state.parked) {
            self.unpark(warp, at, Stall::Barrier);
        }
    }

    fn cluster_wait(&mut self, number: usize, time: f64) -> bool {
        let cluster = self.ctas[self.warps[number].cta].cluster;
        let state = &mut self.clusters[cluster];
        if state.arrived > 0 {
            state.parked.push(number);
            return true;
        }
        let at = state.at;
        if at > time {
            let warp = &mut self.warps[number];
            (warp.released, warp.why) = (at, Stall::Barrier);
        }
        false
    }

    fn exit(&mut self, number: usize, time: f64) {
        let cta = self.warps[number].cta;
        self.ctas[cta].alive -= 1;
        if self.ctas[cta].alive > 0 {
            return;
        }
        let state = &mut self.clusters[self.ctas[cta].cluster];
        state.alive -= 1;
        if state.alive == 0 {
            let number = state.number;
            self.result.ends[number] = time;
            self.push(time + self.card.latency.cta, Item::Refill);
        }
    }
}

fn keep(spans: &mut Vec<Span>, window: Option<(f64, f64)>, span: impl FnOnce() -> Span) {
    if let Some((from, to)) = window {
        let span = span();
        if span.to > from && span.from < to {
            spans.push(span);
        }
    }
}
