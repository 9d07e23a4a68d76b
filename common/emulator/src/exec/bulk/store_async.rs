//! `st.async` and `red.async`: registers to shared memory of the cluster. They land like bulk copies, when a thread
//! waits for the mbarrier that they complete on.
use super::super::block::Execution;
use super::super::lane_access::{Fatal, LaneAccess, Result, shared_read, shared_write};
use super::super::lanes::lanes;
use super::super::warp::Warp;
use super::in_flight::{Flight, Source};
use crate::finding::{AccessKind, FindingKind};
use crate::op::{Reduce, Reg, StoreAsync};

impl Execution<'_> {
    /// Stores or reduces bytes at an address of a block's shared memory.
    pub(super) fn put_registers(
        &mut self,
        rank: usize,
        at: u32,
        data: &[u8],
        reduction: Option<Reduce>,
    ) {
        let Some(block) = self.block_of(rank) else {
            return;
        };
        let mut new = data.to_vec();
        if let Some(reduce) = reduction {
            let old =
                (at..at + data.len() as u32).map(|at| shared_read(&block.shared, at, 1) as u8);
            let old: Vec<u8> = old.collect();
            reduce.apply(&old, &mut new);
        }
        for (at, byte) in (at..).zip(new) {
            shared_write(&mut block.shared, at, 1, byte.into());
        }
        block.activity += 1;
    }
}

impl Warp {
    /// Issues a store for each active lane.
    #[inline(never)]
    pub(in crate::exec) fn store_async(
        &mut self,
        store: &StoreAsync,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        let bytes = store.bytes * store.count;
        for lane in lanes(mask) {
            let site = self.site(op, lane);
            let address = self.address(store.address, lane);
            let verb = match store.reduction {
                Some(_) => AccessKind::Atomic,
                None => AccessKind::Write,
            };
            let found = cx.locate(&LaneAccess::new(store.space, address, bytes, site), verb)?;
            let Some((rank, to)) = found.in_cluster(cx.rank) else {
                let reason = format!("the address 0x{address:x} is not in shared memory");
                cx.report(FindingKind::InvalidBulkCopy(reason), site);
                return Err(Fatal);
            };
            let address = self.address(store.mbarrier, lane);
            let (home, mbarrier) =
                cx.find_mbarrier(store.space, address, AccessKind::Atomic, site)?;
            if home != rank {
                let reason = format!(
                    "it writes to block {rank} of the cluster, but its mbarrier is in block {home}"
                );
                return Err(cx.invalid_copy(reason, site));
            }
            let mut data = [0; 16];
            let elements = data.chunks_exact_mut(store.bytes as usize);
            for (element, &index) in elements.zip(&store.regs[..store.count as usize]) {
                let class = store.class;
                let value = self.get(Reg { class, index }, lane).to_le_bytes();
                element.copy_from_slice(&value[..store.bytes as usize]);
            }
            let flight = Flight {
                place: (rank, to),
                mbarrier,
                from: Source::Registers(data, bytes),
                reduction: store.reduction,
                is_read: true,
            };
            self.issue_transfer(flight, site, cx)?;
            cx.profiler.ops[op].bytes += u64::from(bytes);
            cx.block.activity += 1;
        }
        Ok(())
    }
}
