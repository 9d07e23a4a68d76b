//! Bulk copies: TMA moves runs of bytes and tiles of tensors while threads go on (PTX ISA, "cp.async.bulk",
//! "cp.async.bulk.tensor", "Tensor Data Types and Operations").
//!
//! A copy lands as late as the program allows: one that tells an mbarrier when everybody waits for something,
//! one of a bulk group when its thread waits for the group. So a missing wait shows as old data.
mod cargo;
mod flight;
mod store;

use std::sync::Arc;

use super::block::Context;
use super::checked::{Fatal, Place, Result, Touch};
use super::lanes::lanes;
use super::warp::Warp;
use crate::finding::{Access as Verb, Kind};
use crate::op::{BulkCopy, BulkWay, Space};
pub(super) use flight::Flight;
use flight::Source;
pub(super) use store::Store;

/// Alignment of a tensor tile in shared memory, and of a run on both sides (PTX ISA, "cp.async.bulk.tensor"
/// and "cp.async.bulk").
const TILE: u32 = 128;
const RUN: u32 = 16;

/// Copies that a cluster, or to global memory a warp, may have on their way: beyond, the oldest one lands although
/// nobody has waited for it, so that no kernel can fill the machine's memory with them.
const MAX_FLIGHTS: usize = 4096;

impl Context<'_> {
    fn invalid_copy(&mut self, reason: String, op: usize, thread: usize) -> Fatal {
        self.report(Kind::InvalidBulkCopy { reason }, op, thread);
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
        cx: &mut Context<'_>,
    ) -> Result<()> {
        for lane in lanes(mask) {
            let to = self.get(copy.to, lane).wrapping_add_signed(copy.to_offset);
            let from = self
                .get(copy.from, lane)
                .wrapping_add_signed(copy.from_offset);
            let tensor = !copy.coordinates.is_empty();
            let align = if tensor { TILE } else { RUN };
            let (global, verb) = match copy.way {
                BulkWay::SharedToGlobal => (to, Verb::Write),
                _ => (from, Verb::Read),
            };
            let cargo = match (copy.way, tensor) {
                (BulkWay::SharedToCluster, _) => None,
                (_, true) => Some(self.tile(copy, global, verb, op, lane, cx)?),
                (_, false) => Some(self.run(copy, global, verb, op, lane, cx)?),
            };
            let bytes = match &cargo {
                Some(cargo) => cargo.footprint(),
                None => self.size(copy, op, lane, cx)?,
            };
            let end = if copy.to_cta {
                Space::Shared
            } else {
                Space::Cluster
            };
            match (copy.way, cargo) {
                (BulkWay::SharedToGlobal, Some(cargo)) => {
                    let source = (Space::Shared, from, bytes, align);
                    let (_, from) = self.shared_side(source, Verb::Read, op, lane, cx)?;
                    self.send(from, cargo, op, lane, cx);
                }
                (_, cargo) => {
                    let target = (end, to, bytes, align);
                    let place = self.shared_side(target, Verb::Write, op, lane, cx)?;
                    let source = match cargo {
                        Some(cargo) => Source::Global(Arc::new(cargo)),
                        None => {
                            let source = (Space::Shared, from, bytes, RUN);
                            let (rank, at) = self.shared_side(source, Verb::Read, op, lane, cx)?;
                            Source::Shared(rank, at, bytes)
                        }
                    };
                    self.launch(copy, place, source, op, lane, cx)?;
                }
            }
            cx.block.activity += 1;
        }
        Ok(())
    }

    /// Where one side of a copy lies in shared memory: rank and address.
    fn shared_side(
        &self,
        (space, address, bytes, align): (Space, u64, u32, u32),
        verb: Verb,
        op: usize,
        lane: usize,
        cx: &mut Context<'_>,
    ) -> Result<(usize, u32)> {
        let touch = |address, bytes| Touch {
            space,
            address,
            bytes,
            op,
            lane,
        };
        // The first bytes and the last: all between them lie in the same block.
        let first = cx.locate(self, &touch(address, RUN), verb)?;
        if bytes > RUN {
            cx.locate(self, &touch(address + u64::from(bytes - RUN), RUN), verb)?;
        }
        let (rank, at) = match first {
            Place::Shared(at) => (cx.rank, at),
            Place::Remote(rank, at) => (rank, at),
            _ => return Err(Fatal),
        };
        if at % align != 0 {
            let reason = format!("the shared address 0x{at:x} is no multiple of {align} bytes");
            return Err(cx.invalid_copy(reason, op, self.thread(lane)));
        }
        Ok((rank, at))
    }
}
