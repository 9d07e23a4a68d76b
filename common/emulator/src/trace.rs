//! The instructions that warps executed, in order: the input of a model of time.
use crate::banks::LANES;
use crate::snapshot::{Inspector, Snapshot, SnapshotRequest};

/// Which blocks of a launch are traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceRequest {
    /// Their `blockIdx`.
    pub blocks: Vec<[u32; 3]>,
    /// Run only their clusters. The writes of all others are then missing from memory. The option therefore has no
    /// effect on a kernel whose blocks communicate with each other, unless `control_flow_only` is set.
    pub only: bool,
    /// Stop each cluster after about this many warp instructions: enough to see which addresses a step accesses.
    pub most: Option<u64>,
    /// Only the executed instructions and their addresses matter, not the computed values:
    /// - `wgmma` does not change its registers;
    /// - a loop that polls for a write of another cluster ends when nothing else can run;
    /// - an atomic operation whose result is used is executed by all clusters that run side by side, in the order of
    ///   their numbers, so that each takes its share of a shared counter.
    pub control_flow_only: bool,
}

/// The trace of one warp of a traced block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarpTrace {
    /// `blockIdx`.
    pub block: [u32; 3],
    /// The rank of the block in its cluster.
    pub rank: u32,
    /// The warp's number in its block.
    pub warp: u32,
    /// Warp instructions, in the order in which they were executed.
    pub events: Vec<TraceEvent>,
    /// Their effects besides computing, in the same order.
    pub effects: Vec<TraceEffect>,
    /// Lines of global memory that [`Effect::Global`] and [`Effect::BulkCopy`] refer to.
    pub lines: Vec<TraceLine>,
}

/// One execution of a warp instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Index into [`crate::Function::instructions`].
    pub instruction: u32,
    /// Lanes whose guard was true.
    pub active: u32,
}

/// An effect of an instruction that was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEffect {
    /// Index into [`WarpTrace::events`].
    pub event: u32,
    /// What it did.
    pub effect: Effect,
}

/// A 128-byte line of global memory, as in the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// Address divided by 128.
    pub number: u64,
    /// Sectors of 32 bytes that were accessed, a bit each.
    pub sectors: u8,
}

/// An effect of an instruction besides computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Accessed shared memory.
    Shared {
        /// Passes through the data pipe, by the rule for bank conflicts ([`crate::shared_wavefronts`]).
        wavefronts: u32,
    },
    /// Accessed global memory.
    Global {
        /// The first of its lines in [`WarpTrace::lines`].
        first: u32,
        /// How many lines, consecutive in that list.
        count: u32,
    },
    /// Issued a bulk copy (`cp.async.bulk`).
    BulkCopy {
        /// Bytes that each block receives, or that are stored.
        bytes: u32,
        /// The first of its lines of global memory, as in [`Effect::Global`].
        first: u32,
        /// How many.
        count: u32,
        /// The address in shared memory of the mbarrier that it completes on; `None` for a copy to global memory.
        mbarrier: Option<u32>,
        /// Ranks of the blocks that receive it, a bit each.
        ranks: u32,
    },
    /// Initialized an mbarrier of its own block (`mbarrier.init`).
    MbarrierInit {
        /// Address in shared memory.
        at: u32,
        /// Arrivals that each phase takes.
        count: u32,
    },
    /// Arrived at an mbarrier (`mbarrier.arrive`), possibly with `expect_tx`.
    MbarrierArrive {
        /// Rank of its block.
        rank: u32,
        /// Address in shared memory.
        at: u32,
        /// Arrivals; 0 for `expect_tx` and `complete_tx`.
        count: u32,
        /// Bytes to expect; negative for `complete_tx`.
        bytes: i64,
    },
    /// Makes an mbarrier track the completion of the thread's `cp.async`s (`cp.async.mbarrier.arrive`).
    MbarrierCopies {
        /// Address in shared memory.
        at: u32,
        /// `.noinc`
        noinc: bool,
    },
    /// Waited for a phase of an mbarrier (`mbarrier.try_wait`, `.test_wait`).
    MbarrierWait {
        /// Address in shared memory.
        at: u32,
        /// Parity of the phase.
        parity: u32,
    },
    /// Arrived at a barrier of the block (`barrier`).
    Barrier {
        /// Its number.
        number: u32,
        /// Threads that take part, if the instruction names their number.
        threads: Option<u32>,
    },
}

/// Collects what warps execute.
#[derive(Default)]
pub(crate) struct Tracer {
    blocks: Vec<[u32; 3]>,
    /// Sorted by block and warp.
    warps: Vec<WarpTrace>,
    /// The block whose warp runs.
    running: [u32; 3],
    /// The index of the warp that runs, if it is traced; meanwhile, its trace is `trace`.
    current: Option<usize>,
    trace: WarpTrace,
    /// Present if memory or registers are recorded.
    pub inspector: Option<Inspector>,
}

fn key(trace: &WarpTrace) -> ([u32; 3], u32) {
    (trace.block, trace.warp)
}

impl Tracer {
    pub fn new(request: Option<&TraceRequest>, snapshot: Option<&SnapshotRequest>) -> Self {
        Self {
            blocks: request
                .map(|request| request.blocks.clone())
                .unwrap_or_default(),
            inspector: snapshot.map(Inspector::new),
            ..Self::default()
        }
    }

    /// From here on this warp runs.
    pub fn enter(&mut self, block: [u32; 3], rank: u32, warp: u32) {
        self.leave();
        self.running = block;
        if self.blocks.contains(&block) {
            let found = self.warps.binary_search_by_key(&(block, warp), key);
            let index = found.unwrap_or_else(|index| {
                let new = WarpTrace {
                    block,
                    rank,
                    warp,
                    ..WarpTrace::default()
                };
                self.warps.insert(index, new);
                index
            });
            self.trace = std::mem::take(&mut self.warps[index]);
            self.current = Some(index);
        }
    }

    fn leave(&mut self) {
        if let Some(at) = self.current.take() {
            self.warps[at] = std::mem::take(&mut self.trace);
        }
    }

    pub fn execute(&mut self, instruction: u32, active: u32) {
        if self.current.is_some() {
            self.trace.events.push(TraceEvent {
                instruction,
                active,
            });
        }
    }

    /// Takes the last instruction back: it will be executed again later.
    pub fn take_back(&mut self) {
        let inspector = self.inspector.as_mut();
        if let Some(inspector) = inspector.filter(|one| one.request.block == self.running) {
            inspector.take_back();
        }
        if self.current.is_some() {
            self.trace.events.pop();
            let events = self.trace.events.len();
            while (self.trace.effects.last()).is_some_and(|last| last.event as usize >= events) {
                self.trace.effects.pop();
            }
        }
    }

    pub fn effect(&mut self, effect: Effect) {
        if self.current.is_some() && !self.trace.events.is_empty() {
            let event = self.trace.events.len() as u32 - 1;
            self.trace.effects.push(TraceEffect { event, effect });
        }
    }

    /// Adds lines of global memory. Returns the index of the first and their number.
    pub fn lines(&mut self, runs: impl Iterator<Item = (u64, u32)>) -> (u32, u32) {
        let first = self.trace.lines.len();
        if self.current.is_none() {
            return (0, 0);
        }
        // Neighboring lanes mostly access the same sector.
        let mut known = None;
        for (address, bytes) in runs {
            let (start, end) = (address / 32, (address + u64::from(bytes)).div_ceil(32));
            for sector in start..end {
                if known.replace(sector) == Some(sector) {
                    continue;
                }
                let (number, bit) = (sector / 4, 1 << (sector % 4));
                let mut own = self.trace.lines[first..].iter_mut().rev();
                match own.find(|line| line.number == number) {
                    Some(line) => line.sectors |= bit,
                    None => self.trace.lines.push(TraceLine {
                        number,
                        sectors: bit,
                    }),
                }
            }
        }
        (first as u32, (self.trace.lines.len() - first) as u32)
    }

    /// The bulk copy that was issued last completes on this mbarrier in these blocks.
    pub fn completes_on(&mut self, at: u32, to: u32) {
        if let Some(TraceEffect {
            effect: Effect::BulkCopy {
                mbarrier, ranks, ..
            },
            ..
        }) = self.trace.effects.last_mut()
        {
            (*mbarrier, *ranks) = (Some(at), to);
        }
    }

    pub fn global(&mut self, bytes: u32, addresses: &[u64; LANES], active: u32) {
        let lanes = (0..LANES).filter(|lane| active >> lane & 1 == 1);
        let (first, count) = self.lines(lanes.map(|lane| (addresses[lane], bytes)));
        self.effect(Effect::Global { first, count });
    }

    /// Merges what another thread has traced.
    pub fn add(&mut self, mut other: Self) {
        self.leave();
        other.leave();
        self.warps.append(&mut other.warps);
        self.warps.sort_by_key(key);
        if let (Some(inspector), Some(other)) = (&mut self.inspector, other.inspector.take()) {
            inspector.add(other);
        }
    }

    /// All traced warps, by block and warp, and the recorded snapshot.
    pub fn finish(mut self) -> (Vec<WarpTrace>, Snapshot) {
        self.leave();
        let found = self.inspector.map(|inspector| inspector.found);
        (self.warps, found.unwrap_or_default())
    }
}
