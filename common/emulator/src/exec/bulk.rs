//! Bulk copies: TMA moves runs of bytes and tiles of tensors while threads go on (PTX ISA, "cp.async.bulk",
//! "cp.async.bulk.tensor", "Tensor Data Types and Operations").
//!
//! A copy lands as late as the program allows: one that tells an mbarrier when everybody waits for something,
//! one of a bulk group when its thread waits for the group. So a missing wait shows as old data.
use std::sync::Arc;

use super::block::Context;
use super::checked::{Fatal, Place, Result, Touch};
use super::lanes::lanes;
use super::sanitize::Issued;
use super::warp::Warp;
use crate::finding::{Access as Verb, Kind, Space as Where};
use crate::op::{BulkCopy, BulkWay, Space};
use crate::order::Engine;
use crate::tensor_map::{Swizzle, Tile};

/// Alignment of a tensor tile in shared memory, and of a run on both sides (PTX ISA, "cp.async.bulk.tensor"
/// and "cp.async.bulk").
const TILE: u32 = 128;
const RUN: u32 = 16;

/// What a copy moves: bytes of global memory and where they stand in the tile, row after row.
pub(super) struct Cargo {
    /// Bytes of the whole tile, what lies outside the tensor included.
    bytes: u32,
    pieces: Vec<Piece>,
    shape: Shape,
    /// What stands for an element outside the tensor, and its size in bytes.
    outside: (u64, u32),
}

/// How a tile lies in shared memory. Its rows stand one behind the other; swizzled, each has a line as wide as
/// the swizzle for itself, also if it is shorter (`tests/h100/tma_layout.csv`).
#[derive(Clone, Copy)]
struct Shape {
    /// Bytes of a row, a multiple of 16.
    row: u32,
    swizzle: Swizzle,
}

impl Shape {
    /// Bytes without rows.
    fn plain(bytes: u32) -> Self {
        Self {
            row: bytes,
            swizzle: Swizzle::None,
        }
    }

    /// Where the 16 bytes lie that come `chunk`th in a tile that starts at shared address `start`.
    fn address(self, start: u32, chunk: u32) -> u32 {
        let at = chunk * RUN;
        let straight = match self.swizzle.width() {
            None => at,
            Some(width) => at / self.row * width + at % self.row,
        };
        self.swizzle.apply(start + straight)
    }

    /// Bytes of shared memory that `bytes` of a tile may touch: a swizzle stays within lines of 128 bytes.
    fn footprint(self, bytes: u32) -> u32 {
        match self.swizzle.width() {
            None => bytes,
            Some(width) => (bytes / self.row * width).next_multiple_of(TILE),
        }
    }
}

impl Cargo {
    fn footprint(&self) -> u32 {
        self.shape.footprint(self.bytes)
    }
}

struct Piece {
    /// Offset in the tile.
    at: u32,
    /// Allocation and offset in global memory.
    global: (usize, usize),
    bytes: u32,
}

/// A copy on its way that will tell an mbarrier.
pub(super) struct Flight {
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
enum Source {
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

/// Copies that a cluster, or to global memory a warp, may have on their way: beyond, the oldest one lands although
/// nobody has waited for it, so that no kernel can fill the machine's memory with them.
const MAX_FLIGHTS: usize = 4096;

/// A copy to global memory that its thread has not waited for.
pub(super) struct Store {
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
    fn invalid_copy(&mut self, reason: String, op: usize, thread: usize) -> Fatal {
        self.report(Kind::InvalidBulkCopy { reason }, op, thread);
        Fatal
    }

    /// The 16-byte chunks of shared memory from `at` on, in the order of the tile.
    fn gather(&mut self, rank: usize, at: u32, bytes: u32, shape: Shape) -> Vec<u8> {
        let mut data = Vec::with_capacity(bytes as usize);
        if let Some(block) = self.block_of(rank) {
            for chunk in 0..bytes / RUN {
                let from = shape.address(at, chunk) as usize / 4;
                for word in &block.shared[from..from + 4] {
                    data.extend_from_slice(&word.to_le_bytes());
                }
            }
        }
        data
    }

    fn scatter(&mut self, rank: usize, at: u32, data: &[u8], shape: Shape) {
        if let Some(block) = self.block_of(rank) {
            for (chunk, bytes) in (0..).zip(data.chunks_exact(RUN as usize)) {
                let to = shape.address(at, chunk) as usize / 4;
                for (word, bytes) in block.shared[to..to + 4]
                    .iter_mut()
                    .zip(bytes.chunks_exact(4))
                {
                    *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                }
            }
            block.activity += 1;
        }
    }

    /// What a load brings.
    fn fetch(&self, cargo: &Cargo) -> Vec<u8> {
        let (value, size) = cargo.outside;
        let mut data = match value {
            0 => vec![0; cargo.bytes as usize],
            _ => value.to_le_bytes()[..size as usize].repeat((cargo.bytes / size) as usize),
        };
        for piece in &cargo.pieces {
            let (allocation, offset) = piece.global;
            let out = &mut data[piece.at as usize..(piece.at + piece.bytes) as usize];
            self.writes
                .read_run(self.machine.memory, allocation, offset, out);
        }
        data
    }

    /// Lands a copy: its bytes are there, and its mbarrier knows.
    pub fn land(&mut self, flight: &Flight) -> Result<()> {
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

    /// A copy that tells an mbarrier takes off, to one block or to several.
    fn launch(
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

    /// The size of a copy without a tensor map.
    fn size(&self, copy: &BulkCopy, op: usize, lane: usize, cx: &mut Context<'_>) -> Result<u32> {
        let bytes = self.words[copy.bytes as usize].0[lane];
        if bytes == 0 || !bytes.is_multiple_of(RUN) {
            let reason = format!("{bytes} bytes; a bulk copy takes multiples of {RUN}");
            return Err(cx.invalid_copy(reason, op, self.thread(lane)));
        }
        Ok(bytes)
    }

    /// A run of bytes in global memory.
    fn run(
        &self,
        copy: &BulkCopy,
        address: u64,
        verb: Verb,
        op: usize,
        lane: usize,
        cx: &mut Context<'_>,
    ) -> Result<Cargo> {
        let bytes = self.size(copy, op, lane, cx)?;
        if !address.is_multiple_of(RUN.into()) {
            let reason = format!("the global address 0x{address:x} is no multiple of {RUN} bytes");
            return Err(cx.invalid_copy(reason, op, self.thread(lane)));
        }
        let global = self.global_side(address, bytes, verb, op, lane, cx)?;
        cx.tally.bulk(op, bytes, &[(address, bytes)]);
        Ok(Cargo {
            bytes,
            pieces: vec![Piece {
                at: 0,
                global,
                bytes,
            }],
            shape: Shape::plain(bytes),
            outside: (0, 1),
        })
    }

    fn global_side(
        &self,
        address: u64,
        bytes: u32,
        verb: Verb,
        op: usize,
        lane: usize,
        cx: &mut Context<'_>,
    ) -> Result<(usize, usize)> {
        if let Some(found) = cx.machine.memory.find(address, bytes.into()) {
            return Ok(found);
        }
        let kind = Kind::OutOfBounds {
            space: Where::Global,
            access: match verb {
                Verb::Read => Verb::AsyncRead,
                _ => Verb::AsyncWrite,
            },
            bytes,
            address,
            nearest: cx.machine.memory.nearest(address),
        };
        cx.report(kind, op, self.thread(lane));
        Err(Fatal)
    }

    /// The tile of a tensor at these coordinates. What lies outside the tensor is filled on a load and
    /// dropped on a store.
    fn tile(
        &self,
        copy: &BulkCopy,
        map: u64,
        verb: Verb,
        op: usize,
        lane: usize,
        cx: &mut Context<'_>,
    ) -> Result<Cargo> {
        let thread = self.thread(lane);
        if !map.is_multiple_of(64) {
            let reason = format!("the tensor map at 0x{map:x} is not aligned to 64 bytes");
            return Err(cx.invalid_copy(reason, op, thread));
        }
        let mut raw = [0; 128];
        for (i, part) in raw.chunks_exact_mut(16).enumerate() {
            let touch = Touch {
                space: Space::Generic,
                address: map.wrapping_add(16 * i as u64),
                bytes: 16,
                op,
                lane,
            };
            let place = cx.locate(self, &touch, Verb::Read)?;
            if matches!(
                place,
                Place::Shared(_) | Place::Remote(..) | Place::Local(_)
            ) {
                let reason =
                    "a tensor map must be a kernel parameter, a constant or in global memory";
                return Err(cx.invalid_copy(reason.into(), op, thread));
            }
            cx.get(self, &place, part);
        }
        let Some(tile) = Tile::decode(&raw) else {
            let reason = format!(
                "there is no tensor map at 0x{map:x}: pass it as `const __grid_constant__ CUtensorMap`, encoded by the host"
            );
            return Err(cx.invalid_copy(reason, op, thread));
        };
        if copy.coordinates.len() != tile.rank {
            let reason = format!(
                "{} coordinates for a tensor of {} dimensions",
                copy.coordinates.len(),
                tile.rank
            );
            return Err(cx.invalid_copy(reason, op, thread));
        }
        let bytes = tile.bytes();
        let Some(bytes) = u32::try_from(bytes)
            .ok()
            .filter(|&bytes| bytes <= cx.machine.shared_end)
        else {
            let reason = format!("a tile of {bytes} bytes does not fit into shared memory");
            return Err(cx.invalid_copy(reason, op, thread));
        };
        let mut start = [0i64; 5];
        for (start, &register) in start.iter_mut().zip(&copy.coordinates) {
            *start = i64::from(self.words[register as usize].0[lane] as i32);
        }
        let inner = start[0] * i64::from(tile.element.bytes());
        if inner % i64::from(RUN) != 0 {
            // Measured on an H100, with 16-bit elements; the PTX ISA does not say so.
            let reason = format!(
                "the tile starts {inner} bytes into a row of the tensor, which is no multiple of 16: an illegal instruction on an H100"
            );
            return Err(cx.invalid_copy(reason, op, thread));
        }
        let mut pieces = Vec::new();
        let mut touched = Vec::new();
        for (at, address, bytes) in rows(&tile, start) {
            let global = self.global_side(address, bytes, verb, op, lane, cx)?;
            touched.push((address, bytes));
            pieces.push(Piece { at, global, bytes });
        }
        cx.tally.bulk(op, bytes, &touched);
        Ok(Cargo {
            bytes,
            pieces,
            shape: Shape {
                row: tile.row_bytes(),
                swizzle: tile.swizzle,
            },
            outside: (tile.outside(), tile.element.bytes()),
        })
    }

    /// Closes each thread's bulk group.
    pub(super) fn commit_bulk(&mut self, mask: u32) {
        lanes(mask).for_each(|lane| self.bulk_commits[lane] += 1);
    }

    /// These threads wait for all but their latest `pending` groups: to have read their source, or to be
    /// complete.
    pub(super) fn wait_bulk(&mut self, pending: u32, read: bool, mask: u32, cx: &mut Context<'_>) {
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
    pub(super) fn finish_bulk(&mut self, cx: &mut Context<'_>) {
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

/// The parts of a tile's rows that lie inside the tensor: offset in the tile, global address, bytes.
fn rows(tile: &Tile, start: [i64; 5]) -> impl Iterator<Item = (u32, u64, u32)> {
    let (tile, counts, size) = (*tile, tile.counts(), tile.element.bytes());
    let inner = tile.dimensions[0] as i64;
    // Elements of a row before the tensor begins, and up to where it ends.
    let first = (-start[0]).clamp(0, counts[0].into());
    let last = (inner - start[0]).clamp(first, counts[0].into());
    let outer = counts[1..].iter().product::<u32>();
    (0..outer).filter_map(move |row| {
        let mut left = row;
        let mut address = (tile.address as i64).wrapping_add((start[0] + first) * i64::from(size));
        for dimension in 1..5 {
            let count = counts[dimension];
            let at = start[dimension] + i64::from(left % count * tile.step(dimension));
            left /= count;
            if at < 0 || at as u64 >= tile.dimensions[dimension] {
                return None;
            }
            address = address.wrapping_add(at.wrapping_mul(tile.strides[dimension] as i64));
        }
        let bytes = (last - first) as u32 * size;
        let at = (row * counts[0] + first as u32) * size;
        (bytes > 0).then_some((at, address as u64, bytes))
    })
}
