//! `ldmatrix`, `stmatrix` and the layout of their fragments; and `cp.async`.
use super::block::Execution;
use super::global_check::Does;
use super::lane_access::{LaneAccess, Result, Target};
use super::lanes::{LanesB32, fill_inactive, lanes, mask_of, put};
use super::profiler::Request;
use super::warp::{Pending, Warp};
use crate::Space;
use crate::banks::{LANES, SharedAccess};
use crate::finding::AccessKind;
use crate::happens_before::Engine;
use crate::op::{AsyncCopy, MatrixMove, Order};
use crate::shadow::{AccessMode, AsyncOp};

impl Warp {
    /// `ldmatrix` and `stmatrix`: lane `8 m + r` names row `r` of matrix `m`, 16 bytes. Of each matrix,
    /// lane `l` holds row `l / 4`, columns `2 (l % 4)` and the next; with `.trans`, rows and columns are
    /// exchanged.
    pub(super) fn matrix(
        &mut self,
        access: &MatrixMove,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        cx.before_load();
        let rows = 8 * access.count as usize;
        let naming = mask & (u32::MAX >> (LANES - rows));
        let space = match access.generic {
            true => Space::Generic,
            false => Space::Shared,
        };
        let (verb, how) = match access.store {
            true => (AccessKind::Write, AccessMode::Write),
            false => (AccessKind::Read, AccessMode::Read),
        };
        let addresses = self.addresses(access.address, mask);
        let mut starts = [0u32; LANES];
        for lane in lanes(naming) {
            let touch = |space| LaneAccess::new(space, addresses[lane], 16, self.site(op, lane));
            // An address outside shared memory is reported as out of bounds there.
            let at = match cx.locate(&touch(space), verb)?.own_shared() {
                None => cx.locate(&touch(Space::Shared), verb)?.own_shared(),
                found => found,
            };
            starts[lane] = at.unwrap_or(0);
        }
        let mut counted = starts;
        fill_inactive(&mut counted, naming);
        let request = Request::new(op, access.slot, space, 16, SharedAccess::Matrix);
        cx.profiler.shared(request, &counted, naming);
        if cx.block.shadow.is_some() {
            cx.check_lanes(how, &starts, 16, op, self, naming);
        }
        if access.store {
            cx.block.activity += 1;
        } else {
            self.note_read(lanes(naming).map(|lane| starts[lane]), cx);
        }
        for m in 0..access.count as usize {
            let reg = access.regs[m] as usize;
            if !access.store {
                let rows = starts.as_chunks::<8>().0[m];
                let value = load_matrix(&cx.block.shared, &rows, access.transposed);
                put(&mut self.b32[reg], &value, mask);
                continue;
            }
            for lane in lanes(mask) {
                let element = |i: usize| {
                    let (row, column) = match (lane / 4, lane % 4 * 2 + i) {
                        (column, row) if access.transposed => (row, column),
                        straight => straight,
                    };
                    starts[8 * m + row] as usize / 2 + column
                };
                let halves = [element(0), element(1)];
                let value = self.b32[reg].0[lane];
                for (i, at) in halves.into_iter().enumerate() {
                    put_half(&mut cx.block.shared, at, (value >> (16 * i)) as u16);
                }
            }
        }
        Ok(())
    }

    /// `movmatrix`
    pub(super) fn transpose(&mut self, [d, a]: [u32; 2]) {
        self.b32[d as usize] = transposed(&self.b32[a as usize]);
    }

    /// Queues a copy; it lands when the thread waits for it, as late as the program allows.
    pub(super) fn copy_async(
        &mut self,
        copy: &AsyncCopy,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        let to = self.addresses(copy.to, mask);
        let from = self.addresses(copy.from, mask);
        let mut starts = [0u32; LANES];
        let issued = self.steps(cx);
        // With a source size of 0, a lane reads nothing, and its address is not checked.
        let reads = match copy.size {
            None => mask,
            Some(size) => mask_of(lanes(mask).filter(|&lane| self.b32[size as usize].0[lane] > 0)),
        };
        let issue = match reads {
            0 => 0,
            reads => self.note_issue(reads.trailing_zeros() as usize, cx),
        };
        let request = |slot| Request::new(op, slot, Space::Shared, copy.bytes, SharedAccess::Store);
        let [shared, global] = copy.slots;
        let placed = match copy.size {
            None => (cx.profiler).global_in_one(request(global), &from, mask, cx.machine.memory),
            Some(_) => None,
        };
        for lane in lanes(mask) {
            // Bytes beyond the source size are zero (PTX ISA, "cp.async").
            let wanted = copy.size.map_or(copy.bytes, |size| {
                self.b32[size as usize].0[lane].min(copy.bytes)
            });
            let touch =
                |space, address| LaneAccess::new(space, address, copy.bytes, self.site(op, lane));
            let target = cx.locate(&touch(Space::Shared, to[lane]), AccessKind::Write)?;
            let Some(at) = target.own_shared() else {
                continue;
            };
            starts[lane] = at;
            let source = match (wanted, &placed) {
                (0, _) => None,
                (_, Some(placed)) => Some((placed.allocation, (from[lane] - placed.base) as usize)),
                (_, None) => {
                    match cx.locate(&touch(Space::Global, from[lane]), AccessKind::Read)? {
                        Target::Global(allocation, offset) => Some((allocation, offset)),
                        _ => None,
                    }
                }
            };
            if let (Some(source), true) = (source, cx.machine.options.sanitize) {
                let (site, order) = (self.site(op, lane), Order::default());
                cx.check_global(Does::Read, order, source, wanted, None, site);
            }
            cx.check(AccessMode::Launch, at, copy.bytes, self.site(op, lane));
            let group = self.commits[lane];
            self.pending.push(Pending {
                lane,
                group,
                to: at,
                source,
                bytes: copy.bytes,
                wanted,
                op,
                number: self.copies,
                issued,
                issue,
                products: self.products,
            });
            self.copies += 1;
        }
        fill_inactive(&mut starts, mask);
        cx.profiler.shared(request(shared), &starts, mask);
        if placed.is_none() && (reads != 0 || mask == 0) {
            let mut from = from;
            fill_inactive(&mut from, reads);
            cx.profiler.global(request(global), &from, reads);
        }
        cx.block.activity += 1;
        Ok(())
    }

    /// Commits each thread's group of copies.
    pub(super) fn commit_async(&mut self, mask: u32) {
        lanes(mask).for_each(|lane| self.commits[lane] += 1);
    }

    /// Lands the copies of these threads except the latest `groups` groups; all of them if `None`.
    pub(super) fn wait_async(
        &mut self,
        groups: Option<u32>,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) {
        if self.pending.is_empty() {
            return;
        }
        let commits = self.commits;
        let counted = |copy: &Pending| {
            groups.is_none_or(|n| {
                u64::from(copy.group) + u64::from(n) < u64::from(commits[copy.lane])
            })
        };
        let lands = |copy: &Pending| mask >> copy.lane & 1 == 1 && counted(copy);
        let mut pending = std::mem::take(&mut self.pending);
        self.wait_for_copies(op, pending.iter().filter(|copy| lands(copy)), cx);
        pending.retain(|copy| {
            if lands(copy) {
                self.land_copy(copy, cx);
                cx.note_landed(cx.rank, copy.to, copy.bytes, copy.issue);
                self.note_wait(&[copy.issue], cx);
                let site = self.site(copy.op, copy.lane);
                cx.check(AccessMode::Land, copy.to, copy.bytes, site);
            }
            !lands(copy)
        });
        // A GPU counts the copies of a warp together: one lane's wait delays all lanes.
        if cx.common.lookahead().is_some() {
            let waited = pending
                .iter()
                .filter(|copy| counted(copy))
                .map(|copy| copy.issue);
            self.note_wait(&waited.collect::<Vec<_>>(), cx);
        }
        self.pending = pending;
    }

    /// Lands the copies before a `cp.async.mbarrier.arrive`, and arrives at the mbarrier.
    pub(super) fn land_signal(&mut self, index: usize, cx: &mut Execution<'_>) -> Result<()> {
        let signal = self.signals.remove(index);
        let lands = |copy: &mut Pending| copy.lane == signal.lane && copy.number < signal.copies;
        let landing: Vec<Pending> = self.pending.extract_if(.., lands).collect();
        let issued = landing.iter().map(|copy| copy.issued).max();
        let number = cx.block.mbarriers.get(&signal.mbarrier).map(|b| b.number);
        let engine = Engine::Mbarrier(number.unwrap_or(0));
        let site = self.site(signal.op, signal.lane);
        let by = cx.begin(engine, site);
        for copy in &landing {
            self.land_copy(copy, cx);
            let site = self.site(copy.op, copy.lane);
            let by = AsyncOp { site, ..by };
            cx.landed(&by, cx.rank, copy.to, copy.bytes, true);
            cx.note_landed(cx.rank, copy.to, copy.bytes, copy.issue);
        }
        let recorded = cx.common.lookahead().is_some() || cx.machine.options.sanitize;
        let actor = self.actor;
        let changed = cx.change_mbarrier(cx.rank, signal.mbarrier, |barrier, order| {
            order.complete(engine, by.clock, &mut barrier.arriving);
            barrier.issued = barrier.issued.max(issued);
            let issues = landing.iter().map(|copy| copy.issue);
            barrier.bringing.extend(issues.filter(|&issue| issue > 0));
            if recorded {
                barrier.note_arrival(actor);
            }
            barrier.arrive(1, false, false)
        });
        changed.map_err(|reason| cx.invalid_mbarrier(reason, site))
    }

    /// Writes the data of a copy to shared memory.
    fn land_copy(&self, copy: &Pending, cx: &mut Execution<'_>) {
        let mut bytes = [0; 16];
        if let Some((allocation, offset)) = copy.source {
            let read = &mut bytes[..copy.bytes as usize];
            cx.writes.read(cx.machine.memory, allocation, offset, read);
            read[copy.wanted as usize..].fill(0);
        }
        // 4, 8 or 16 bytes, aligned.
        let (at, words) = (copy.to as usize / 4, copy.bytes as usize / 4);
        let to = &mut cx.block.shared[at..at + words];
        for (word, bytes) in to.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
    }
}

/// The fragment that `ldmatrix` loads from a matrix whose rows start at `starts`.
#[inline(always)]
fn load_matrix(shared: &[u32], starts: &[u32; 8], transpose: bool) -> LanesB32 {
    let mut words = LanesB32::ZERO;
    for (row, &start) in words.0.as_chunks_mut::<4>().0.iter_mut().zip(starts) {
        let at = start as usize / 4;
        row.copy_from_slice(&shared[at..at + 4]);
    }
    match transpose {
        true => transposed(&words),
        false => words,
    }
}

/// Lane `4 g + t` gets elements `2 t` and `2 t + 1` of column g.
#[inline(always)]
fn transposed(words: &LanesB32) -> LanesB32 {
    let mut turned = LanesB32::ZERO;
    for lane in 0..LANES {
        let (row, column) = (lane % 4 * 2, lane / 4);
        let element = |row: usize| words.0[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
        turned.0[lane] = element(row) | element(row + 1) << 16;
    }
    turned
}

fn put_half(shared: &mut [u32], at: usize, value: u16) {
    let shift = 16 * (at % 2);
    let word = &mut shared[at / 2];
    *word = *word & !(0xffff << shift) | u32::from(value) << shift;
}
