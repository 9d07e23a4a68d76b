//! Bulk copies: TMA moves contiguous bytes and tiles of tensors while threads continue (PTX ISA,
//! "cp.async.bulk", "cp.async.bulk.tensor", "Tensor Data Types and Operations").
//!
//! A copy lands, which means that its data is written, as late as the program allows: if it completes on an
//! mbarrier, when every warp is waiting; if it is in a bulk group, when its thread waits for the group. So a
//! missing wait shows up as stale data.
mod in_flight;
mod payload;
mod store;
mod store_async;

use std::sync::Arc;

use super::block::Execution;
use super::lane_access::{Fatal, LaneAccess, Result};
use super::lanes::lanes;
use super::warp::Warp;
use crate::Space;
use crate::finding::{AccessKind, FindingKind};
use crate::op::{BulkCopy, BulkDirection, BulkReduction};
use crate::shadow::Site;
use in_flight::Source;
pub(super) use in_flight::Transfer;
pub(super) use store::Store;

/// Alignment of a tensor tile in shared memory, and of the source and destination of a plain copy (PTX ISA,
/// "cp.async.bulk.tensor" and "cp.async.bulk").
const TILE: u32 = 128;
const RUN: u32 = 16;

/// The most copies that a cluster (or, for copies to global memory, a warp) may have in flight. Beyond that, the
/// oldest one lands although no thread has waited for it, so that no kernel can fill the host's memory with them.
const MAX_IN_FLIGHT: usize = 4096;

impl Execution<'_> {
    fn invalid_copy(&mut self, reason: String, site: Site) -> Fatal {
        self.report(FindingKind::InvalidBulkCopy(reason), site);
        Fatal
    }
}

impl Warp {
    /// Issues a copy for each active lane.
    #[inline(never)]
    pub(super) fn bulk_copy(
        &mut self,
        copy: &BulkCopy,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        cx.before_load();
        for lane in lanes(mask) {
            let site = self.site(op, lane);
            let [to, from] = [copy.to, copy.from].map(|at| self.address(at, lane));
            let tensor = !copy.coordinates.is_empty();
            let align = if tensor { TILE } else { RUN };
            let (global, verb) = match copy.way {
                BulkDirection::SharedToGlobal => (to, AccessKind::Write),
                BulkDirection::GlobalToShared | BulkDirection::SharedToCluster => {
                    (from, AccessKind::Read)
                }
            };
            let mut reduction = match &copy.reduction {
                Some(BulkReduction::Elements(reduce)) => Some(*reduce),
                Some(BulkReduction::Tensor(..)) | None => None,
            };
            let payload = match (copy.way, tensor) {
                (BulkDirection::SharedToCluster, _) => None,
                (BulkDirection::GlobalToShared | BulkDirection::SharedToGlobal, true) => {
                    Some(self.tile(copy, global, verb, site, cx)?)
                }
                (BulkDirection::GlobalToShared | BulkDirection::SharedToGlobal, false) => {
                    Some(self.run(copy, global, verb, site, cx)?)
                }
            };
            if let (Some(BulkReduction::Tensor(name, of)), Some(payload)) =
                (&copy.reduction, &payload)
            {
                let Some(reduce) = of.get(payload.element as usize).copied().flatten() else {
                    let element = payload.element;
                    let reason = format!("there is no .{name} of elements of type {element:?}");
                    return Err(cx.invalid_copy(reason, site));
                };
                reduction = Some(reduce);
            }
            let bytes = match &payload {
                Some(payload) => payload.footprint(),
                None => {
                    let bytes = self.size(copy, site, cx)?;
                    cx.profiler.ops[op].bytes += u64::from(bytes);
                    bytes
                }
            };
            let end = if copy.to_cta {
                Space::Shared
            } else {
                Space::Cluster
            };
            match (copy.way, payload) {
                (BulkDirection::SharedToGlobal, Some(payload)) => {
                    let source = (Space::Shared, from, bytes, align);
                    let (_, from) = self.shared_side(source, AccessKind::Read, site, cx)?;
                    self.send(from, payload, reduction, site, cx);
                }
                (_, payload) => {
                    let target = (end, to, bytes, align);
                    let place = self.shared_side(target, AccessKind::Write, site, cx)?;
                    let source = match payload {
                        Some(payload) => Source::Global(Arc::new(payload)),
                        None => {
                            let source = (Space::Shared, from, bytes, RUN);
                            let (rank, at) =
                                self.shared_side(source, AccessKind::Read, site, cx)?;
                            Source::Shared(rank, at, bytes)
                        }
                    };
                    self.launch(copy, place, source, reduction, site, cx)?;
                }
            }
            cx.block.activity += 1;
        }
        Ok(())
    }

    /// The rank and address of one side of a copy in shared memory.
    fn shared_side(
        &self,
        (space, address, bytes, align): (Space, u64, u32, u32),
        verb: AccessKind,
        site: Site,
        cx: &mut Execution<'_>,
    ) -> Result<(usize, u32)> {
        let touch = |address, bytes| LaneAccess::new(space, address, bytes, site);
        // It suffices to check the first and the last bytes: all bytes between them are in the same block.
        let first = cx.locate(&touch(address, RUN), verb)?;
        if bytes > RUN {
            cx.locate(&touch(address + u64::from(bytes - RUN), RUN), verb)?;
        }
        let (rank, at) = first.in_cluster(cx.rank).ok_or(Fatal)?;
        if at % align != 0 {
            let reason = format!("the shared address 0x{at:x} is not a multiple of {align} bytes");
            return Err(cx.invalid_copy(reason, site));
        }
        Ok((rank, at))
    }
}
