//! What the sanitizer is shown, and what it says: ordinary accesses, and those of the async proxy.
//!
//! An asynchronous access has three moments. [`Context::begin`] numbers the operation when it is issued.
//! [`Context::reads_asynchronously`] and [`Context::writes_asynchronously_in`] then show the bytes that it may
//! touch from now on. When somebody has waited for it, [`Context::completed`] orders it before what those
//! threads do next.
use super::block::Context;
use super::lanes::lanes;
use super::warp::Warp;
use crate::finding::{Access as Verb, Finding, Kind, Space as Where};
use crate::order::{Actor, Engine, Eyes, Order, View};
use crate::shadow::{Hazard, How, Operation, Verdict};

/// An asynchronous operation under the sanitizer's eyes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    pub engine: Engine,
    pub clock: u32,
    pub op: usize,
    /// The warp (of the cluster) and lane to name in a report.
    pub warp: Actor,
    pub lane: usize,
}

impl Issued {
    fn operation(&self, order: &Order) -> Operation {
        Operation {
            actor: order.engine(self.engine),
            clock: self.clock,
            op: self.op,
            warp: self.warp,
            lane: self.lane as u32,
        }
    }
}

impl Context<'_> {
    /// Shows one lane's access to shared memory.
    pub fn check(
        &mut self,
        how: How,
        address: u32,
        bytes: u32,
        op: usize,
        warp: &Warp,
        lane: usize,
    ) {
        let Some(shadow) = &mut self.block.shadow else {
            return;
        };
        let Some(eyes) = self.order.eyes(warp.actor, 1 << lane) else {
            return;
        };
        let verdict = shadow.access(how, address, bytes, op, &eyes);
        if !matches!(verdict, Verdict::Fine) {
            self.found(verdict, how, address, bytes, op, warp.actor, lane);
        }
    }

    /// The same for several lanes, each at its address.
    pub fn check_lanes(
        &mut self,
        how: How,
        addresses: &[u32; 32],
        bytes: u32,
        op: usize,
        warp: &Warp,
        mask: u32,
    ) {
        // What lanes know beyond their warp must be looked up for each.
        if self.order.lanes_differ(warp.actor) {
            lanes(mask).for_each(|lane| self.check(how, addresses[lane], bytes, op, warp, lane));
            return;
        }
        let mut wrong = Vec::new();
        if let (Some(shadow), Some(eyes)) =
            (&mut self.block.shadow, self.order.eyes(warp.actor, mask))
        {
            // Most that is done is reading what everybody knows of.
            let mask = match how {
                How::Read => shadow.read_by_warp(addresses, bytes, op, &eyes),
                _ => mask,
            };
            for lane in lanes(mask) {
                let eyes = eyes.of(lane);
                let verdict = shadow.access(how, addresses[lane], bytes, op, &eyes);
                if !matches!(verdict, Verdict::Fine) {
                    wrong.push((lane, verdict));
                }
            }
        }
        for (lane, verdict) in wrong {
            self.found(verdict, how, addresses[lane], bytes, op, warp.actor, lane);
        }
    }

    /// The same in another block of the cluster, which must not exit before it.
    pub fn check_remote(
        &mut self,
        how: How,
        (rank, address): (usize, u32),
        bytes: u32,
        op: usize,
        warp: &Warp,
        lane: usize,
    ) {
        let (block, order) = self.block_and_order(rank);
        let Some(shadow) = block.and_then(|block| block.shadow.as_mut()) else {
            return;
        };
        let Some(eyes) = order.eyes(warp.actor, 1 << lane) else {
            return;
        };
        let verdict = shadow.access(how, address, bytes, op, &eyes);
        if !matches!(verdict, Verdict::Fine) {
            self.found(verdict, how, address, bytes, op, warp.actor, lane);
        }
        self.visit(rank, op, warp, lane);
    }

    /// Numbers an asynchronous operation that these lanes issue together.
    pub fn begin(&mut self, engine: Engine, op: usize, warp: Actor, mask: u32) -> Issued {
        Issued {
            engine,
            clock: self.order.begin(engine),
            op,
            warp,
            lane: mask.trailing_zeros() as usize & 31,
        }
    }

    /// The operation reads these bytes of the block's shared memory, at any time from now until somebody has
    /// waited for it. `issuers`: the warps (of the cluster) and lanes that issue it together; what is read
    /// must be ordered before, and shown to the async proxy by, each of them.
    pub fn reads_asynchronously(
        &mut self,
        by: &Issued,
        address: u32,
        bytes: u32,
        issuers: &[(Actor, u32)],
    ) {
        self.reads_asynchronously_in(self.rank, by, address, bytes, issuers);
    }

    /// The same in any block of the cluster.
    pub fn reads_asynchronously_in(
        &mut self,
        rank: usize,
        by: &Issued,
        address: u32,
        bytes: u32,
        issuers: &[(Actor, u32)],
    ) {
        self.asynchronous(How::AsyncRead, rank, by, address, bytes, issuers);
    }

    /// The operation writes these bytes, at any time from now on. Nobody may touch them before they have
    /// landed ([`Context::landed`]) and they have waited for it.
    pub fn writes_asynchronously_in(
        &mut self,
        rank: usize,
        by: &Issued,
        address: u32,
        bytes: u32,
        issuers: &[(Actor, u32)],
    ) {
        self.asynchronous(How::AsyncWrite, rank, by, address, bytes, issuers);
    }

    fn asynchronous(
        &mut self,
        how: How,
        rank: usize,
        by: &Issued,
        address: u32,
        bytes: u32,
        issuers: &[(Actor, u32)],
    ) {
        let (block, order) = self.block_and_order(rank);
        let Some(shadow) = block.and_then(|block| block.shadow.as_mut()) else {
            return;
        };
        let eyes: Vec<Eyes<'_>> = issuers
            .iter()
            .filter_map(|&(warp, mask)| order.eyes(warp, mask))
            .collect();
        let verdict = shadow.asynchronous(how, address, bytes, by.operation(order), &eyes);
        if !matches!(verdict, Verdict::Fine) {
            self.found(verdict, how, address, bytes, by.op, by.warp, by.lane);
        }
    }

    /// What the operation wrote has landed; `generic` if it is none of the async proxy, and so still wants a
    /// fence for that.
    pub fn landed(&mut self, by: &Issued, rank: usize, address: u32, bytes: u32, generic: bool) {
        let (block, order) = self.block_and_order(rank);
        if let Some(shadow) = block.and_then(|block| block.shadow.as_mut()) {
            shadow.land(address, bytes, by.operation(order), generic);
        }
    }

    /// These lanes have waited until the engine's operations up to the one numbered `clock` were complete.
    pub fn completed(&mut self, engine: Engine, clock: u32, warp: &Warp, mask: u32) {
        let mut view = View::default();
        self.order.complete(engine, clock, &mut view);
        self.order.acquire(warp.actor, mask, warp.alive, &view);
    }

    /// Notes that a lane has used the shared memory of another block, which must not exit before.
    pub fn visit(&mut self, rank: usize, op: usize, warp: &Warp, lane: usize) {
        let (block, order) = self.block_and_order(rank);
        if let (Some(block), Some(eyes)) = (block, order.eyes(warp.actor, 1 << lane)) {
            block.visitors.insert((warp.actor, lane, op), eyes.epoch);
        }
    }

    /// All threads of the block have exited: was everybody who used its shared memory done, as far as they
    /// could know?
    pub fn depart(&mut self) {
        for ((actor, lane, op), clock) in std::mem::take(&mut self.block.visitors) {
            if !self.block.exit.knows(actor, lane as u32, clock) {
                let reason = format!(
                    "block {} of the cluster may have exited before: nothing makes it wait for this access, such as a barrier.cluster at the end",
                    self.rank
                );
                self.report_of(Kind::ExitedBlock { reason }, op, actor, lane);
            }
        }
    }

    /// Notes a finding of a thread of the cluster.
    pub fn report_of(&mut self, kind: Kind, op: usize, warp: Actor, lane: usize) {
        let index = self.index_of(warp / self.machine.warps);
        let thread = self.machine.thread_of(warp, lane);
        self.block.findings.add(Finding {
            kind,
            place: self.machine.place(op, thread, index),
            count: 1,
        });
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "an access, and who made it where"
    )]
    pub fn found(
        &mut self,
        verdict: Verdict,
        how: How,
        address: u32,
        bytes: u32,
        op: usize,
        warp: Actor,
        lane: usize,
    ) {
        let place = |hazard: &Hazard| {
            let thread = self.machine.thread_of(hazard.warp, hazard.lane as usize);
            let index = self.index_of(hazard.warp / self.machine.warps);
            Box::new(self.machine.place(hazard.op, thread, index))
        };
        let access = verb(how);
        let address = address.into();
        let kind = match verdict {
            Verdict::Fine => return,
            Verdict::Uninitialised => Kind::Uninitialised {
                space: Where::Shared,
                bytes,
                address,
            },
            Verdict::Race(hazard) => Kind::Race {
                access,
                other_access: verb(hazard.how),
                other: place(&hazard),
                address,
            },
            Verdict::Unfenced(hazard) => Kind::MissingProxyFence {
                access,
                other: place(&hazard),
                address,
            },
            Verdict::Mbarrier(hazard) => Kind::MbarrierTouched {
                access,
                other: place(&hazard),
                address,
            },
        };
        self.report_of(kind, op, warp, lane);
    }
}

fn verb(how: How) -> Verb {
    match how {
        How::Read => Verb::Read,
        How::Write | How::Land | How::Init | How::Invalidate => Verb::Write,
        How::Atomic => Verb::Atomic,
        How::AsyncRead => Verb::AsyncRead,
        How::Launch | How::AsyncWrite => Verb::AsyncWrite,
    }
}
