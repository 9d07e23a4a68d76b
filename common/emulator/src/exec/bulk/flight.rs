//! A bulk copy that tells an mbarrier: it takes off, and lands when nobody can go on otherwise.
use std::sync::Arc;

use super::super::block::Context;
use super::super::checked::{Fatal, Result};
use super::super::sanitize::Issued;
use super::super::warp::Warp;
use super::MAX_FLIGHTS;
use super::cargo::{Cargo, Shape};
use crate::finding::{Access as Verb, Kind};
use crate::op::{BulkCopy, Space};
use crate::order::Engine;

/// A copy on its way that will tell an mbarrier.
pub(in crate::exec) struct Flight {
    pub by: Issued,
    /// The block that receives it, and there the shared addresses of the copy and of the mbarrier.
    pub rank: usize,
    to: u32,
    pub mbarrier: u32,
    from: Source,
    /// The step at which it was issued.
    issued: u64,
}

#[derive(Clone)]
pub(super) enum Source {
    Global(Arc<Cargo>),
    /// Rank, shared address and bytes.
    Shared(usize, u32, u32),
}

impl Flight {
    /// Bytes that it brings, and those of shared memory that it may touch.
    fn bytes(&self) -> (u32, u32) {
        match &self.from {
            Source::Global(cargo) => (cargo.bytes, cargo.footprint()),
            &Source::Shared(_, _, bytes) => (bytes, bytes),
        }
    }
}

impl Context<'_> {
    /// Lands a copy: its bytes are there, and its mbarrier knows.
    pub(in crate::exec) fn land(&mut self, flight: &Flight) -> Result<()> {
        let (rank, to) = (flight.rank, flight.to);
        let by = flight.by;
        let (bytes, footprint) = flight.bytes();
        if self.block_of(rank).is_none_or(|block| block.alive == 0) {
            let reason = format!(
                "block {rank} of the cluster has exited before {bytes} bytes landed in its shared memory: nobody has waited for them"
            );
            self.report_of(Kind::UnfinishedCopy { reason }, by.op, by.warp, by.lane);
            let barriers = self.block_of(rank).map(|block| &mut block.mbarriers);
            let barrier = barriers.and_then(|barriers| barriers.get_mut(&flight.mbarrier));
            // It would have been told: this is no wrong count as well.
            return match barrier.map(|barrier| barrier.transact(-i64::from(bytes))) {
                Some(Err(_)) => Err(Fatal),
                _ => Ok(()),
            };
        }
        match &flight.from {
            Source::Global(cargo) => {
                let data = self.fetch(cargo);
                self.scatter(rank, to, &data, cargo.shape);
            }
            &Source::Shared(from, at, bytes) => {
                let data = self.gather(from, at, bytes, Shape::plain(bytes));
                self.scatter(rank, to, &data, Shape::plain(bytes));
            }
        }
        self.landed(&by, rank, to, footprint, false);
        let told = self.change_mbarrier(rank, flight.mbarrier, |barrier, order| {
            order.complete(by.engine, by.clock, &mut barrier.arriving);
            barrier.issued = barrier.issued.max(Some(flight.issued));
            barrier.transact(-i64::from(bytes))
        });
        told.map_err(|reason| {
            let reason = format!("{bytes} bytes have landed, but {reason}");
            self.report_of(Kind::InvalidMbarrier { reason }, by.op, by.warp, by.lane);
            Fatal
        })
    }
}

impl Warp {
    /// A copy that tells an mbarrier takes off, to one block or to several.
    pub(super) fn launch(
        &mut self,
        copy: &BulkCopy,
        (rank, to): (usize, u32),
        from: Source,
        op: usize,
        lane: usize,
        cx: &mut Context<'_>,
    ) -> Result<()> {
        let thread = self.thread(lane);
        let Some((base, offset)) = copy.mbarrier else {
            return Err(cx.invalid_copy("it has no mbarrier".into(), op, thread));
        };
        let address = self.get(base, lane).wrapping_add_signed(offset);
        let (home, mbarrier) =
            cx.find_mbarrier(self, Space::Cluster, address, op, lane, Verb::Atomic)?;
        if home != rank {
            let reason = format!(
                "it writes to block {rank} of the cluster, but its mbarrier lies in block {home}"
            );
            return Err(cx.invalid_copy(reason, op, thread));
        }
        let ranks = match copy.multicast {
            None => vec![rank],
            Some(mask) => {
                let mask = self.words[mask as usize].0[lane] & 0xffff;
                let ranks = cx.machine.ranks();
                if mask == 0 || mask >> ranks != 0 {
                    let reason =
                        format!("multicast to blocks 0b{mask:b}, but the cluster has {ranks}");
                    return Err(cx.invalid_copy(reason, op, thread));
                }
                (0..ranks).filter(|rank| mask >> rank & 1 == 1).collect()
            }
        };
        if let (Source::Global(cargo), false) = (&from, copy.coordinates.is_empty()) {
            let width = cargo.shape.swizzle.bytes();
            let known = cx.common.swizzles.entry(op).or_insert(Some(width));
            if *known != Some(width) {
                *known = None;
            }
        }
        for rank in ranks {
            let Some(block) = cx.block_of(rank) else {
                continue;
            };
            if block.alive == 0 {
                let reason = format!("a bulk copy to block {rank} of the cluster");
                cx.report(Kind::ExitedBlock { reason }, op, thread);
                return Err(Fatal);
            }
            let Some(number) = block.mbarriers.get(&mbarrier).map(|barrier| barrier.number) else {
                let reason = format!(
                    "a bulk copy names the mbarrier at 0x{mbarrier:x} of block {rank}, which is not initialised"
                );
                return Err(cx.invalid_mbarrier(reason, op, thread));
            };
            cx.check_mbarrier(rank, mbarrier, true, op, self, lane);
            let by = cx.begin(Engine::Mbarrier(number), op, self.actor, 1 << lane);
            let issuer = [(self.actor, 1 << lane)];
            let flight = Flight {
                by,
                rank,
                to,
                mbarrier,
                from: from.clone(),
                issued: self.steps(cx),
            };
            if let Source::Shared(rank, at, bytes) = flight.from {
                cx.reads_asynchronously_in(rank, &by, at, bytes, &issuer);
            }
            cx.writes_asynchronously_in(rank, &by, to, flight.bytes().1, &issuer);
            cx.common.flights.push_back(flight);
            if cx.common.flights.len() > MAX_FLIGHTS
                && let Some(oldest) = cx.common.flights.pop_front()
            {
                cx.land(&oldest)?;
            }
        }
        Ok(())
    }
}
