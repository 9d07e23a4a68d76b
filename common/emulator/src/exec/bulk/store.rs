//! A bulk copy to global memory: its thread waits for the group that it is of.
use super::super::block::Context;
use super::super::lanes::lanes;
use super::super::sanitize::Issued;
use super::super::warp::Warp;
use super::MAX_FLIGHTS;
use super::cargo::Cargo;
use crate::finding::Kind;
use crate::order::Engine;

/// A copy to global memory that its thread has not waited for.
pub(in crate::exec) struct Store {
    lane: usize,
    /// The lane's bulk group.
    group: u32,
    by: Issued,
    from: u32,
    cargo: Cargo,
    /// What was read from shared memory, once it was.
    data: Option<Vec<u8>>,
}

impl Context<'_> {
    fn deliver(&mut self, store: &Store) {
        let Some(data) = &store.data else {
            return;
        };
        for piece in &store.cargo.pieces {
            let (allocation, offset) = piece.global;
            let bytes = &data[piece.at as usize..(piece.at + piece.bytes) as usize];
            self.writes
                .write_run(self.machine.memory, allocation, offset, bytes);
        }
    }
}

impl Warp {
    /// A copy to global memory takes off.
    pub(super) fn send(
        &mut self,
        from: u32,
        cargo: Cargo,
        op: usize,
        lane: usize,
        cx: &mut Context<'_>,
    ) {
        let bytes = cargo.footprint();
        let by = cx.begin(Engine::Bulk(self.actor), op, self.actor, 1 << lane);
        cx.reads_asynchronously(&by, from, bytes, &[(self.actor, 1 << lane)]);
        self.stores.push(Store {
            lane,
            group: self.bulk_commits[lane],
            by,
            from,
            cargo,
            data: None,
        });
        if self.stores.len() > MAX_FLIGHTS {
            let mut oldest = self.stores.remove(0);
            self.read_source(&mut oldest, cx);
            cx.deliver(&oldest);
        }
    }

    /// Closes each thread's bulk group.
    pub(in crate::exec) fn commit_bulk(&mut self, mask: u32) {
        lanes(mask).for_each(|lane| self.bulk_commits[lane] += 1);
    }

    /// These threads wait for all but their latest `pending` groups: to have read their source, or to be
    /// complete.
    pub(in crate::exec) fn wait_bulk(
        &mut self,
        pending: u32,
        read: bool,
        mask: u32,
        cx: &mut Context<'_>,
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
                }
                cx.completed(store.by.engine, store.by.clock, self, mask);
            }
            !waited || read
        });
        self.stores = stores;
    }

    fn read_source(&self, store: &mut Store, cx: &mut Context<'_>) {
        if store.data.is_none() {
            let Cargo { bytes, shape, .. } = store.cargo;
            store.data = Some(cx.gather(cx.rank, store.from, bytes, shape));
        }
    }

    /// The block has exited: copies that have not read their source by now should have been waited for.
    pub(in crate::exec) fn finish_bulk(&mut self, cx: &mut Context<'_>) {
        for mut store in std::mem::take(&mut self.stores) {
            if store.data.is_none() {
                let reason = format!(
                    "the block has exited before a bulk copy has read {} bytes of its shared memory: cp.async.bulk.wait_group.read is missing",
                    store.cargo.bytes
                );
                let by = store.by;
                cx.report_of(Kind::UnfinishedCopy { reason }, by.op, by.warp, by.lane);
            }
            self.read_source(&mut store, cx);
            cx.deliver(&store);
        }
    }
}
