//! Matrix instructions of one warp: which lane holds which element (PTX ISA, "Matrix Fragments for
//! mma.m16n8k16" and its neighbours, "ldmatrix", "stmatrix"), and asynchronous copies.
use super::block::Execution;
use super::lane_access::{LaneAccess, Result, Target};
use super::lanes::{LanesB32, fill_inactive, lanes, put};
use super::profiler::Request;
use super::warp::{Pending, Warp};
use crate::Space;
use crate::banks::{LANES, SharedAccess};
use crate::finding::AccessKind;
use crate::happens_before::Engine;
use crate::op::{AsyncCopy, MatrixMove, Mma};
use crate::shadow::{AccessMode, AsyncOp};
use crate::{Card, tensor};

impl Warp {
    /// `ldmatrix` and `stmatrix`: lane `8 m + r` names row `r` of matrix `m`, 16 bytes. Of each matrix,
    /// lane `l` holds row `l / 4`, columns `2 (l % 4)` and the next; with `.trans` rows and columns change
    /// places.
    pub(super) fn matrix(
        &mut self,
        access: &MatrixMove,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
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
            // Elsewhere than in shared memory: as an address in it, this one is out of bounds.
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

    /// `mma.sync` m16n8k8 and m16n8k16. With g = lane / 4 and t = lane % 4, register r of A holds row
    /// `g + 8 (r % 2)`, columns `2 t + 8 (r / 2)` and the next; register r of B rows `2 t + 8 r` and the
    /// next, column g; register r of C row `g + 8 (r / 2)`, column `2 t + r % 2`.
    #[inline(always)]
    pub(super) fn mma(&mut self, mma: &Mma, card: Card) {
        self.products += 1;
        match mma.k {
            8 => self.mma_k::<8, 128, 64>(mma, card),
            _ => self.mma_k::<16, 256, 128>(mma, card),
        }
    }

    #[inline(always)]
    fn mma_k<const K: usize, const A: usize, const B: usize>(&mut self, mma: &Mma, card: Card) {
        let (mut a, mut b) = ([0u16; A], [0u16; B]);
        // Four neighbouring lanes hold eight elements of a row.
        for (r, &reg) in mma.a.iter().enumerate().take(K / 4) {
            for (g, words) in self.b32[reg as usize]
                .0
                .as_chunks::<4>()
                .0
                .iter()
                .enumerate()
            {
                let at = (g + 8 * (r % 2)) * K + 8 * (r / 2);
                if let Some(row) = a.get_mut(at..at + 8) {
                    row.copy_from_slice(&halves_of(*words));
                }
            }
        }
        for r in 0..K / 8 {
            let values = &self.b32[mma.b[r] as usize].0;
            for lane in 0..LANES {
                let at = (2 * (lane % 4) + 8 * r) * 8 + lane / 4;
                (b[at], b[at + 8]) = (values[lane] as u16, (values[lane] >> 16) as u16);
            }
        }
        let c = self.sums(&mma.c);
        let d = tensor::mma::<K, A, B>(card, mma.factor, &a, &b, &c);
        self.put_sums(&mma.d, &d);
    }

    /// A 16 x 8 matrix of sums from its four registers. Row and column of register r in lane l come to number
    /// `64 (r / 2) + 2 l + r % 2`, row-major.
    #[inline(always)]
    pub(super) fn sums(&self, regs: &[u32; 4]) -> [u32; 128] {
        let mut sums = [0; 128];
        for (sums, &[even, odd]) in sums.as_chunks_mut::<64>().0.iter_mut().zip(pairs(regs)) {
            let [even, odd] = [even, odd].map(|reg| &self.b32[reg as usize].0);
            for lane in 0..LANES {
                (sums[2 * lane], sums[2 * lane + 1]) = (even[lane], odd[lane]);
            }
        }
        sums
    }

    /// The other way round.
    #[inline(always)]
    pub(super) fn put_sums(&mut self, regs: &[u32; 4], sums: &[u32; 128]) {
        for (sums, &pair) in sums.as_chunks::<64>().0.iter().zip(pairs(regs)) {
            for (i, reg) in pair.into_iter().enumerate() {
                let to = &mut self.b32[reg as usize].0;
                for lane in 0..LANES {
                    to[lane] = sums[2 * lane + i];
                }
            }
        }
    }

    /// Notes a copy; it lands when the thread waits for it, as late as the program allows.
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
        for lane in lanes(mask) {
            // With a size given, the rest of the bytes is zero (PTX ISA, "cp.async").
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
            let source = match wanted {
                0 => None,
                _ => match cx.locate(&touch(Space::Global, from[lane]), AccessKind::Read)? {
                    Target::Global(allocation, offset) => Some((allocation, offset)),
                    _ => None,
                },
            };
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
                products: self.products,
            });
            self.copies += 1;
        }
        fill_inactive(&mut starts, mask);
        let request = |slot| Request::new(op, slot, Space::Shared, copy.bytes, SharedAccess::Store);
        let [shared, global] = copy.slots;
        cx.profiler.shared(request(shared), &starts, mask);
        cx.profiler.global(request(global), &from, mask);
        cx.block.activity += 1;
        Ok(())
    }

    /// Closes each thread's group of copies.
    pub(super) fn commit_async(&mut self, mask: u32) {
        lanes(mask).for_each(|lane| self.commits[lane] += 1);
    }

    /// Lands the copies of these threads, but for the latest `pending` groups; all of them if `None`.
    pub(super) fn wait_async(
        &mut self,
        pending: Option<u32>,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) {
        if self.pending.is_empty() {
            return;
        }
        let commits = self.commits;
        let lands = |copy: &mut Pending| {
            mask >> copy.lane & 1 == 1
                && pending.is_none_or(|n| {
                    u64::from(copy.group) + u64::from(n) < u64::from(commits[copy.lane])
                })
        };
        let landing: Vec<Pending> = self.pending.extract_if(.., lands).collect();
        if let Some(issued) = landing.iter().map(|copy| copy.issued).max() {
            self.wait_for_copies(op, issued, &landing, cx);
        }
        for copy in &landing {
            self.land_copy(copy, cx);
            let site = self.site(copy.op, copy.lane);
            cx.check(AccessMode::Land, copy.to, copy.bytes, site);
        }
    }

    /// The copies that `cp.async.mbarrier.arrive` has named land, and the mbarrier is told.
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
        }
        let told = cx.change_mbarrier(cx.rank, signal.mbarrier, |barrier, order| {
            order.complete(engine, by.clock, &mut barrier.arriving);
            barrier.issued = barrier.issued.max(issued);
            barrier.arrive(1, false, false)
        });
        told.map_err(|reason| cx.invalid_mbarrier(reason, site))
    }

    /// Puts what a copy brings into shared memory.
    fn land_copy(&self, copy: &Pending, cx: &mut Execution<'_>) {
        let mut bytes = [0; 16];
        let bytes = &mut bytes[..copy.bytes as usize];
        if let Some((allocation, offset)) = copy.source {
            cx.writes.read(cx.machine.memory, allocation, offset, bytes);
            bytes[copy.wanted as usize..].fill(0);
        }
        for (i, pair) in bytes.chunks_exact(2).enumerate() {
            let value = u16::from_le_bytes([pair[0], pair[1]]);
            put_half(&mut cx.block.shared, copy.to as usize / 2 + i, value);
        }
    }
}

/// Registers of even and of odd columns, for the upper rows and the lower.
fn pairs(regs: &[u32; 4]) -> &[[u32; 2]] {
    regs.as_chunks().0
}

/// The low and the high half of each word.
#[inline(always)]
fn halves_of(words: [u32; 4]) -> [u16; 8] {
    std::array::from_fn(|i| (words[i / 2] >> (16 * (i % 2))) as u16)
}

/// What `ldmatrix` gives each lane of a matrix whose rows start here.
#[inline(always)]
fn load_matrix(shared: &[u32], starts: &[u32; 8], transposed: bool) -> LanesB32 {
    let mut words = LanesB32::ZERO;
    for (row, &start) in words.0.as_chunks_mut::<4>().0.iter_mut().zip(starts) {
        let at = start as usize / 4;
        row.copy_from_slice(&shared[at..at + 4]);
    }
    if !transposed {
        return words;
    }
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
