//! Bulk copies that complete on an mbarrier: issued here, they land only when no warp can make progress otherwise.
use std::sync::Arc;

use super::super::block::Execution;
use super::super::lane_access::{Fatal, Result};
use super::super::mbarrier::{Misuse, name};
use super::super::warp::Warp;
use super::MAX_IN_FLIGHT;
use super::payload::{Payload, Shape};
use crate::Space;
use crate::finding::{AccessKind, FindingKind};
use crate::happens_before::Engine;
use crate::op::{BulkCopy, Reduce};
use crate::shadow::{AccessMode, AsyncOp, Site};
use crate::trace::Effect;

/// A copy in flight that completes on an mbarrier.
pub(in crate::exec) struct Transfer {
    pub by: AsyncOp,
    /// The block that receives it, and the shared addresses of the copy and of the mbarrier in that block.
    pub rank: usize,
    to: u32,
    pub mbarrier: u32,
    from: Source,
    reduction: Option<Reduce>,
    /// The step of its issue, and its number in the lookahead.
    issued: u64,
    issue: u32,
}

#[derive(Clone)]
pub(super) enum Source {
    Global(Arc<Payload>),
    /// Rank, shared address and bytes.
    Shared(usize, u32, u32),
    /// The data of a `st.async` or `red.async`, and how many of its bytes are used.
    Registers([u8; 16], u32),
}

impl Transfer {
    /// Bytes that it copies, and bytes of shared memory that it may touch.
    pub(in crate::exec) fn bytes(&self) -> (u32, u32) {
        match &self.from {
            Source::Global(payload) => (payload.bytes, payload.footprint()),
            &(Source::Shared(_, _, bytes) | Source::Registers(_, bytes)) => (bytes, bytes),
        }
    }
}

impl Execution<'_> {
    /// Lands a copy: writes its bytes and completes them on its mbarrier.
    pub(in crate::exec) fn land(&mut self, transfer: &Transfer) -> Result<()> {
        let (rank, to) = (transfer.rank, transfer.to);
        let by = transfer.by;
        let (bytes, footprint) = transfer.bytes();
        if self.block_of(rank).is_none_or(|block| block.alive == 0) {
            let reason = format!(
                "block {rank} of the cluster has exited before {bytes} bytes landed in its shared memory: no thread has waited for them"
            );
            self.report(FindingKind::UnfinishedCopy(Space::Shared, reason), by.site);
            let barriers = self.block_of(rank).map(|block| &mut block.mbarriers);
            let barrier = barriers.and_then(|barriers| barriers.get_mut(&transfer.mbarrier));
            // The mbarrier would have been signaled: do not report a wrong count as well.
            return match barrier.map(|barrier| barrier.transact(-i64::from(bytes))) {
                Some(Err(_)) => Err(Fatal),
                _ => Ok(()),
            };
        }
        match &transfer.from {
            Source::Global(payload) => self.copy(payload, rank, to),
            &Source::Shared(from, at, bytes) => {
                let mut data = self.gather(from, at, bytes, Shape::plain(bytes));
                if let Some(reduce) = transfer.reduction {
                    let old = self.gather(rank, to, bytes, Shape::plain(bytes));
                    reduce.apply(&old, &mut data);
                }
                self.scatter(rank, to, &data, Shape::plain(bytes));
            }
            Source::Registers(data, bytes) => {
                self.put_registers(rank, to, &data[..*bytes as usize], transfer.reduction);
            }
        }
        if transfer.reduction.is_some() {
            self.reduced(&by, rank, to, footprint);
        } else {
            let generic = matches!(transfer.from, Source::Registers(..));
            self.landed(&by, rank, to, footprint, generic);
            self.note_landed(rank, to, footprint, transfer.issue);
        }
        self.inspect_landed(rank, to, footprint, transfer.mbarrier);
        let changed = self.change_mbarrier(rank, transfer.mbarrier, |barrier, order| {
            order.complete(by.engine, by.clock, &mut barrier.arriving);
            barrier.issued = barrier.issued.max(Some(transfer.issued));
            barrier
                .bringing
                .extend(Some(transfer.issue).filter(|&issue| issue > 0));
            barrier.transact(-i64::from(bytes))
        });
        changed.map_err(|misuse| {
            let misuse = misuse.after(&format!("{bytes} bytes have landed, but "));
            self.invalid_mbarrier(misuse, by.site)
        })
    }
}

impl Warp {
    /// Issues a copy that completes on an mbarrier, to one block or several.
    pub(super) fn launch(
        &mut self,
        copy: &BulkCopy,
        (rank, to): (usize, u32),
        from: Source,
        reduction: Option<Reduce>,
        site: Site,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        let Some(mbarrier) = copy.mbarrier else {
            return Err(cx.invalid_copy("it has no mbarrier".into(), site));
        };
        let address = self.address(mbarrier, site.lane);
        let (home, mbarrier) =
            cx.find_mbarrier(Space::Cluster, address, AccessKind::Atomic, site)?;
        if home != rank {
            let reason = format!(
                "it writes to block {rank} of the cluster, but its mbarrier is in block {home}"
            );
            return Err(cx.invalid_copy(reason, site));
        }
        let ranks = match copy.multicast {
            None => vec![rank],
            Some(mask) => {
                let mask = self.b32[mask as usize].0[site.lane] & 0xffff;
                let ranks = cx.machine.ranks();
                if mask == 0 || mask >> ranks != 0 {
                    let reason =
                        format!("multicast to blocks 0b{mask:b}, but the cluster has {ranks}");
                    return Err(cx.invalid_copy(reason, site));
                }
                (0..ranks).filter(|rank| mask >> rank & 1 == 1).collect()
            }
        };
        if let (Source::Global(payload), false) = (&from, copy.coordinates.is_empty()) {
            let width = payload.shape.swizzle.bytes();
            let known = cx.common.swizzles.entry(site.op).or_insert(Some(width));
            if *known != Some(width) {
                *known = None;
            }
        }
        if let Source::Shared(_, _, bytes) = from {
            cx.profiler.effect(|| Effect::BulkCopy {
                bytes,
                first: 0,
                count: 0,
                mbarrier: None,
                ranks: 0,
            });
        }
        if let Some(tracer) = &mut cx.profiler.tracer {
            let to = ranks.iter().fold(0, |to, rank| to | 1 << rank);
            tracer.completes_on(mbarrier, to);
        }
        // Each block has its own mbarrier; the source is read once.
        for (i, rank) in ranks.into_iter().enumerate() {
            let flight = Flight {
                place: (rank, to),
                mbarrier,
                from: from.clone(),
                reduction,
                is_read: i > 0,
            };
            self.issue_transfer(flight, site, cx)?;
        }
        Ok(())
    }

    /// Issues one block's part of a copy.
    pub(super) fn issue_transfer(
        &mut self,
        flight: Flight,
        site: Site,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        let Flight {
            place: (rank, to),
            mbarrier,
            from,
            reduction,
            is_read,
        } = flight;
        let program = cx.machine.program;
        let Some(block) = cx.block_of(rank) else {
            return Ok(());
        };
        if block.alive == 0 {
            let what = match from {
                Source::Global(_) | Source::Shared(..) => "a bulk copy",
                Source::Registers(..) => "an asynchronous store",
            };
            let reason = format!("{what} to block {rank} of the cluster");
            cx.report(FindingKind::ExitedBlock(reason), site);
            return Ok(());
        }
        let Some(number) = block.mbarriers.get(&mbarrier).map(|barrier| barrier.number) else {
            let name = name(program, &block.mbarriers, mbarrier);
            let reason = format!(
                "a bulk copy names the mbarrier {name} of block {rank}, which is not initialized"
            );
            return Err(cx.invalid_mbarrier(Misuse::absent(reason), site));
        };
        // Asynchronous stores of threads are in the generic proxy (PTX ISA, "Async proxy", names bulk copies only).
        let generic = matches!(from, Source::Registers(..));
        cx.check_mbarrier(rank, mbarrier, !generic, site);
        let by = cx.begin(Engine::Mbarrier(number), site);
        let issuer = [(self.actor, 1 << site.lane)];
        let transfer = Transfer {
            by,
            rank,
            to,
            mbarrier,
            from,
            reduction,
            issued: self.steps(cx),
            issue: self.note_issue(site.lane, cx),
        };
        if let (Source::Global(payload), false) = (&transfer.from, is_read) {
            cx.check_source(payload, &by);
        }
        if let Source::Shared(rank, at, bytes) = transfer.from {
            cx.asynchronous(AccessMode::AsyncRead, &by, (rank, &[at]), bytes, &issuer);
        }
        let how = match (reduction, generic) {
            (None, false) => AccessMode::AsyncWrite,
            (None, true) => AccessMode::AsyncStore,
            (Some(_), false) => AccessMode::AsyncReduce { generic: false },
            (Some(_), true) => AccessMode::AsyncReduce { generic: true },
        };
        let footprint = transfer.bytes().1;
        cx.asynchronous(how, &by, (rank, &[to]), footprint, &issuer);
        cx.common.in_flight.push_back(transfer);
        if cx.common.in_flight.len() > MAX_IN_FLIGHT
            && let Some(oldest) = cx.common.in_flight.pop_front()
        {
            cx.land(&oldest)?;
        }
        Ok(())
    }
}

/// One block's part of a copy.
pub(super) struct Flight {
    /// The block that receives it, and the address in that block.
    pub place: (usize, u32),
    pub mbarrier: u32,
    pub from: Source,
    pub reduction: Option<Reduce>,
    /// Whether the sanitizer has already checked its source.
    pub is_read: bool,
}
