//! What the sanitizer is shown, and what it says: ordinary accesses, and those of the async proxy.
//!
//! An asynchronous access has three moments. [`Context::begin`] numbers the operation when it is issued.
//! [`Context::reads_asynchronously`] and [`Context::writes_asynchronously`] then show the bytes that it may
//! touch from now on. When somebody has waited for it, [`Context::completed`] orders it before what those
//! threads do next.
use super::block::Context;
use super::warp::Warp;
use crate::finding::{Access as Verb, Kind, Space as Where};
use crate::order::{Actor, Engine, Eyes, View};
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
            self.found(verdict, how, address, bytes, op, warp.thread(lane));
        }
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
        self.asynchronous(How::AsyncRead, by, address, bytes, issuers);
    }

    /// The operation writes these bytes, at any time from now on. Nobody may touch them before they have
    /// landed ([`Context::landed`]) and they have waited for it.
    pub fn writes_asynchronously(
        &mut self,
        by: &Issued,
        address: u32,
        bytes: u32,
        issuers: &[(Actor, u32)],
    ) {
        self.asynchronous(How::AsyncWrite, by, address, bytes, issuers);
    }

    fn asynchronous(
        &mut self,
        how: How,
        by: &Issued,
        address: u32,
        bytes: u32,
        issuers: &[(Actor, u32)],
    ) {
        let Some(shadow) = &mut self.block.shadow else {
            return;
        };
        let eyes: Vec<Eyes<'_>> = issuers
            .iter()
            .filter_map(|&(warp, mask)| self.order.eyes(warp, mask))
            .collect();
        let operation = Operation {
            actor: self.order.engine(by.engine),
            clock: by.clock,
            op: by.op,
            warp: by.warp,
            lane: by.lane as u32,
        };
        let verdict = shadow.asynchronous(how, address, bytes, operation, &eyes);
        if !matches!(verdict, Verdict::Fine) {
            let thread = self.machine.thread_of(by.warp, by.lane);
            self.found(verdict, how, address, bytes, by.op, thread);
        }
    }

    /// What the operation wrote has landed.
    pub fn landed(&mut self, by: &Issued, address: u32, bytes: u32) {
        if let Some(shadow) = &mut self.block.shadow {
            let operation = Operation {
                actor: self.order.engine(by.engine),
                clock: by.clock,
                op: by.op,
                warp: by.warp,
                lane: by.lane as u32,
            };
            shadow.land(address, bytes, operation);
        }
    }

    /// These lanes have waited until the engine's operations up to the one numbered `clock` were complete.
    pub fn completed(&mut self, engine: Engine, clock: u32, warp: &Warp, mask: u32) {
        let mut view = View::default();
        self.order.complete(engine, clock, &mut view);
        self.order.acquire(warp.actor, mask, warp.alive, &view);
    }

    /// `fence.proxy.async`: lane by lane, since each shows what it has done itself.
    pub fn fence_proxy(&mut self, warp: &Warp, mask: u32) {
        self.order.fence_proxy(warp.actor, mask, warp.alive);
    }

    fn found(
        &mut self,
        verdict: Verdict,
        how: How,
        address: u32,
        bytes: u32,
        op: usize,
        thread: usize,
    ) {
        let place = |hazard: &Hazard| {
            let thread = self.machine.thread_of(hazard.warp, hazard.lane as usize);
            Box::new(self.machine.place(hazard.op, thread, self.block.index))
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
        self.report(kind, op, thread);
    }
}

fn verb(how: How) -> Verb {
    match how {
        How::Read => Verb::Read,
        How::Write | How::Launch | How::Land | How::Init | How::Invalidate => Verb::Write,
        How::Atomic => Verb::Atomic,
        How::AsyncRead => Verb::AsyncRead,
        How::AsyncWrite => Verb::AsyncWrite,
    }
}
