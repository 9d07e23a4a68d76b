//! Bulk copies to global memory: a thread waits for their bulk group.
use super::super::block::Execution;
use super::super::global_check::Does;
use super::super::lanes::lanes;
use super::super::warp::Warp;
use super::MAX_IN_FLIGHT;
use super::payload::Payload;
use crate::Space;
use crate::finding::FindingKind;
use crate::happens_before::Engine;
use crate::op::Reduce;
use crate::shadow::{AccessMode, AsyncOp, Site};

/// A copy to global memory that its thread has not yet waited for.
pub(in crate::exec) struct Store {
    lane: usize,
    /// The lane's bulk group.
    group: u32,
    /// The copy as a reader of shared memory and as a writer of global memory.
    by: AsyncOp,
    to: AsyncOp,
    from: u32,
    payload: Payload,
    reduction: Option<Reduce>,
    /// The data from shared memory, once it was read.
    data: Option<Vec<u8>>,
}

impl Execution<'_> {
    fn deliver(&mut self, store: &Store) {
        let Some(data) = &store.data else {
            return;
        };
        for piece in &store.payload.pieces {
            let (allocation, offset) = piece.global;
            let mut reduced = Vec::new();
            let mut bytes = &data[piece.at as usize..(piece.at + piece.bytes) as usize];
            if let Some(reduce) = store.reduction {
                let mut old = vec![0; bytes.len()];
                self.writes
                    .read_run(self.machine.memory, allocation, offset, &mut old);
                reduced.extend_from_slice(bytes);
                reduce.apply(&old, &mut reduced);
                bytes = &reduced;
            }
            if self.machine.options.sanitize {
                let (to, place) = (&store.to, piece.global);
                let does = match store.reduction {
                    Some(_) => Does::Atomic,
                    None => Does::Write,
                };
                self.check_global_bulk(does, to, place, piece.bytes, Some(bytes));
            }
            self.writes
                .write_run(self.machine.memory, allocation, offset, bytes);
        }
    }
}

impl Warp {
    /// Issues a copy to global memory.
    pub(super) fn send(
        &mut self,
        from: u32,
        payload: Payload,
        reduction: Option<Reduce>,
        site: Site,
        cx: &mut Execution<'_>,
    ) {
        let bytes = payload.footprint();
        let by = cx.begin(Engine::Bulk(self.actor), site);
        let to = cx.begin(Engine::Store(self.actor), site);
        for piece in &payload.pieces {
            cx.check_before_bulk(Does::Write, piece.global, piece.bytes, site);
        }
        let issuer = [(self.actor, 1 << site.lane)];
        cx.asynchronous(
            AccessMode::AsyncRead,
            &by,
            (cx.rank, &[from]),
            bytes,
            &issuer,
        );
        self.stores.push(Store {
            lane: site.lane,
            group: self.bulk_commits[site.lane],
            by,
            to,
            from,
            payload,
            reduction,
            data: None,
        });
        if self.stores.len() > MAX_IN_FLIGHT {
            let mut oldest = self.stores.remove(0);
            self.read_source(&mut oldest, cx);
            cx.deliver(&oldest);
        }
    }

    /// Commits each thread's bulk group.
    pub(in crate::exec) fn commit_bulk(&mut self, mask: u32) {
        lanes(mask).for_each(|lane| self.bulk_commits[lane] += 1);
    }

    /// These threads wait until all but their latest `pending` groups have read their source or are
    /// complete.
    pub(in crate::exec) fn wait_bulk(
        &mut self,
        pending: u32,
        read: bool,
        mask: u32,
        cx: &mut Execution<'_>,
    ) {
        if self.stores.is_empty() {
            return;
        }
        let commits = self.bulk_commits;
        let mut stores = std::mem::take(&mut self.stores);
        stores.retain_mut(|store| {
            let waited = mask >> store.lane & 1 == 1
                && u64::from(store.group) + u64::from(pending) < u64::from(commits[store.lane]);
            if waited {
                self.read_source(store, cx);
                if !read {
                    cx.deliver(store);
                    cx.completed(store.to.engine, store.to.clock, self, mask);
                }
                cx.completed(store.by.engine, store.by.clock, self, mask);
            }
            !waited || read
        });
        self.stores = stores;
    }

    fn read_source(&self, store: &mut Store, cx: &mut Execution<'_>) {
        if store.data.is_none() {
            let Payload { bytes, shape, .. } = store.payload;
            store.data = Some(cx.gather(cx.rank, store.from, bytes, shape));
        }
    }

    /// The block has exited: reports copies that have not read their source yet, because no thread waited for them.
    pub(in crate::exec) fn finish_bulk(&mut self, cx: &mut Execution<'_>) {
        for mut store in std::mem::take(&mut self.stores) {
            if store.data.is_none() {
                let reason = format!(
                    "the block has exited before a bulk copy has read {} bytes of its shared memory: cp.async.bulk.wait_group.read is missing",
                    store.payload.bytes
                );
                let by = store.by;
                cx.report(FindingKind::UnfinishedCopy(Space::Global, reason), by.site);
            }
            self.read_source(&mut store, cx);
            cx.deliver(&store);
        }
    }
}
