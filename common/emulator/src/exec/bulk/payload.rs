//! What a bulk copy moves, contiguous bytes or a tile of a tensor, and its layout in shared memory.
use super::super::block::Execution;
use super::super::global_check::Does;
use super::super::lane_access::{Fatal, LaneAccess, Result, Target};
use super::super::warp::Warp;
use super::{RUN, TILE};
use crate::Space;
use crate::finding::{AccessKind, FindingKind, MemoryAccess};
use crate::op::BulkCopy;
use crate::shadow::{AsyncOp, Site};
use crate::tensor_map::{Element, Swizzle, Tile};

/// What a copy moves: bytes of global memory and their offsets in the tile, row by row.
pub(super) struct Payload {
    /// Bytes of the whole tile, including elements outside the tensor.
    pub bytes: u32,
    pub pieces: Vec<Piece>,
    pub shape: Shape,
    /// The fill value of an element outside the tensor, and its size in bytes.
    outside: (u64, u32),
    /// The type of a tensor's elements; bytes for other copies.
    pub element: Element,
}

/// The layout of a tile in shared memory. Its rows are contiguous; if it is swizzled, each row takes the full
/// width of the swizzle, even if it is shorter (`calibration/h100/tma_layout.csv`).
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Bytes of a row, a multiple of 16.
    row: u32,
    pub swizzle: Swizzle,
}

impl Shape {
    /// Contiguous bytes without rows.
    pub fn plain(bytes: u32) -> Self {
        Self {
            row: bytes,
            swizzle: Swizzle::None,
        }
    }

    /// The address of the 16-byte chunk number `chunk` in a tile that starts at shared address `start`.
    fn address(self, start: u32, chunk: u32) -> u32 {
        self.swizzle.apply(self.straight(start, chunk))
    }

    /// The same without the swizzle.
    fn straight(self, start: u32, chunk: u32) -> u32 {
        let at = chunk * RUN;
        let straight = match self.swizzle.width() {
            Some(width) if width != self.row => at / self.row * width + at % self.row,
            None | Some(_) => at,
        };
        start + straight
    }

    /// Whether rows follow each other without gaps.
    fn is_contiguous(self) -> bool {
        self.swizzle.width().is_none_or(|width| width == self.row)
    }

    /// Bytes of shared memory that `bytes` of a tile may touch: a swizzle stays within lines of 128 bytes.
    fn footprint(self, bytes: u32) -> u32 {
        match self.swizzle.width() {
            None => bytes,
            Some(width) => (bytes / self.row * width).next_multiple_of(TILE),
        }
    }
}

impl Payload {
    pub fn footprint(&self) -> u32 {
        self.shape.footprint(self.bytes)
    }
}

pub(super) struct Piece {
    /// Offset in the tile.
    pub at: u32,
    /// Allocation and offset in global memory.
    pub global: (usize, usize),
    pub bytes: u32,
}

impl Execution<'_> {
    /// The 16-byte chunks of shared memory from `at` on, in the order of the tile.
    pub(super) fn gather(&mut self, rank: usize, at: u32, bytes: u32, shape: Shape) -> Vec<u8> {
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

    pub(super) fn scatter(&mut self, rank: usize, at: u32, data: &[u8], shape: Shape) {
        if let Some(block) = self.block_of(rank) {
            write_tile(&mut block.shared, at, 0, data, shape);
            block.activity += 1;
        }
    }

    /// Reports to the sanitizer what a load reads.
    pub(super) fn check_source(&mut self, payload: &Payload, by: &AsyncOp) {
        if self.machine.options.sanitize {
            for piece in &payload.pieces {
                self.check_before_bulk(Does::Read, piece.global, piece.bytes, by.site);
                self.check_global_bulk(Does::Read, by, piece.global, piece.bytes, None);
            }
        }
    }

    /// Copies a load's data to shared memory.
    pub(super) fn copy(&mut self, payload: &Payload, rank: usize, to: u32) {
        let inside: u32 = payload.pieces.iter().map(|piece| piece.bytes).sum();
        if inside < payload.bytes {
            let data = self.fetch(payload);
            self.scatter(rank, to, &data, payload.shape);
            return;
        }
        let Some(block) = self.block_of(rank) else {
            return;
        };
        let mut shared = std::mem::take(&mut block.shared);
        for piece in &payload.pieces {
            let (allocation, offset) = piece.global;
            let memory = self.machine.memory;
            let data = self
                .writes
                .run(memory, allocation, offset, piece.bytes as usize);
            write_tile(&mut shared, to, piece.at / RUN, &data, payload.shape);
        }
        if let Some(block) = self.block_of(rank) {
            block.shared = shared;
            block.activity += 1;
        }
    }

    /// Reads the data of a load.
    fn fetch(&self, payload: &Payload) -> Vec<u8> {
        let (value, size) = payload.outside;
        let mut data = match value {
            0 => vec![0; payload.bytes as usize],
            _ => value.to_le_bytes()[..size as usize].repeat((payload.bytes / size) as usize),
        };
        for piece in &payload.pieces {
            let (allocation, offset) = piece.global;
            let out = &mut data[piece.at as usize..(piece.at + piece.bytes) as usize];
            self.writes
                .read_run(self.machine.memory, allocation, offset, out);
        }
        data
    }
}

impl Warp {
    /// The size of a copy without a tensor map.
    pub(super) fn size(&self, copy: &BulkCopy, site: Site, cx: &mut Execution<'_>) -> Result<u32> {
        let bytes = self.b32[copy.bytes as usize].0[site.lane];
        if bytes == 0 || !bytes.is_multiple_of(RUN) {
            let reason = format!("{bytes} bytes; a bulk copy takes multiples of {RUN}");
            return Err(cx.invalid_copy(reason, site));
        }
        Ok(bytes)
    }

    /// Contiguous bytes of global memory.
    pub(super) fn run(
        &self,
        copy: &BulkCopy,
        address: u64,
        verb: AccessKind,
        site: Site,
        cx: &mut Execution<'_>,
    ) -> Result<Payload> {
        let bytes = self.size(copy, site, cx)?;
        if !address.is_multiple_of(RUN.into()) {
            let reason =
                format!("the global address 0x{address:x} is not a multiple of {RUN} bytes");
            return Err(cx.invalid_copy(reason, site));
        }
        let global = self.global_side(address, bytes, verb, site, cx)?;
        cx.profiler.bulk(site.op, bytes, &[(address, bytes)]);
        Ok(Payload {
            bytes,
            pieces: vec![Piece {
                at: 0,
                global,
                bytes,
            }],
            shape: Shape::plain(bytes),
            outside: (0, 1),
            element: Element::U8,
        })
    }

    fn global_side(
        &self,
        address: u64,
        bytes: u32,
        verb: AccessKind,
        site: Site,
        cx: &mut Execution<'_>,
    ) -> Result<(usize, usize)> {
        if let Some(found) = cx.machine.memory.find(address, bytes.into()) {
            return Ok(found);
        }
        let access = MemoryAccess {
            space: Space::Global,
            access: match verb {
                AccessKind::Read | AccessKind::AsyncRead => AccessKind::AsyncRead,
                AccessKind::Write | AccessKind::Atomic | AccessKind::AsyncWrite => {
                    AccessKind::AsyncWrite
                }
            },
            bytes,
            address,
        };
        let (nearest, after) = cx.machine.memory.nearest(address);
        let kind = FindingKind::OutOfBounds {
            access,
            nearest,
            after,
            other_window: false,
        };
        cx.report(kind, site);
        Err(Fatal)
    }

    /// The tile of a tensor at these coordinates. Elements outside the tensor are filled on a load and
    /// dropped on a store.
    pub(super) fn tile(
        &self,
        copy: &BulkCopy,
        map: u64,
        verb: AccessKind,
        site: Site,
        cx: &mut Execution<'_>,
    ) -> Result<Payload> {
        if !map.is_multiple_of(64) {
            let reason = format!("the tensor map at 0x{map:x} is not aligned to 64 bytes");
            return Err(cx.invalid_copy(reason, site));
        }
        let mut raw = [0; 128];
        for (i, part) in raw.chunks_exact_mut(16).enumerate() {
            let touch = LaneAccess::new(Space::Generic, map.wrapping_add(16 * i as u64), 16, site);
            let place = cx.locate(&touch, AccessKind::Read)?;
            if matches!(
                place,
                Target::Shared(_) | Target::Remote(..) | Target::Local(_)
            ) {
                let reason =
                    "a tensor map must be a kernel parameter, a constant or in global memory";
                return Err(cx.invalid_copy(reason.into(), site));
            }
            cx.get(self, &place, part);
        }
        let Some(tile) = Tile::decode(&raw) else {
            let reason = format!(
                "there is no tensor map at 0x{map:x}: pass it as `const __grid_constant__ CUtensorMap`, encoded by the host"
            );
            return Err(cx.invalid_copy(reason, site));
        };
        if copy.coordinates.len() != tile.rank {
            let reason = format!(
                "{} coordinates for a tensor of {} dimensions",
                copy.coordinates.len(),
                tile.rank
            );
            return Err(cx.invalid_copy(reason, site));
        }
        let bytes = tile.bytes();
        let Some(bytes) = u32::try_from(bytes)
            .ok()
            .filter(|&bytes| bytes <= cx.machine.shared_end)
        else {
            let reason = format!("a tile of {bytes} bytes does not fit into shared memory");
            return Err(cx.invalid_copy(reason, site));
        };
        let mut start = [0i64; 5];
        for (start, &register) in start.iter_mut().zip(&copy.coordinates) {
            *start = i64::from(self.b32[register as usize].0[site.lane] as i32);
        }
        let inner = start[0] * i64::from(tile.element.bytes());
        if inner % i64::from(RUN) != 0 {
            // Measured on an H100 with 16-bit elements; the PTX ISA does not mention it.
            let reason = format!(
                "the tile starts {inner} bytes into a row of the tensor, which is not a multiple of 16: an illegal instruction on an H100"
            );
            return Err(cx.invalid_copy(reason, site));
        }
        let count = (bytes / tile.row_bytes()) as usize;
        let (mut pieces, mut touched) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (at, address, bytes) in rows(&tile, start) {
            let memory = cx.machine.memory;
            let global = match pieces.last() {
                // Rows are in the same allocation, unless the tensor is larger than that.
                Some(&Piece {
                    global: (last, _), ..
                }) if memory.holds(last, address, bytes.into()) => {
                    (last, (address - memory.base(last)) as usize)
                }
                _ => self.global_side(address, bytes, verb, site, cx)?,
            };
            touched.push((address, bytes));
            pieces.push(Piece { at, global, bytes });
        }
        cx.profiler.bulk(site.op, bytes, &touched);
        Ok(Payload {
            bytes,
            pieces,
            shape: Shape {
                row: tile.row_bytes(),
                swizzle: tile.swizzle,
            },
            outside: (tile.outside(), tile.element.bytes()),
            element: tile.element,
        })
    }
}

/// Writes the chunks from number `first` on of a tile that starts at shared address `start`.
#[inline(always)]
fn write_tile(shared: &mut [u32], start: u32, first: u32, data: &[u8], shape: Shape) {
    let words = data.as_chunks().0.as_chunks::<4>().0;
    let (lines, rest) = words.as_chunks::<8>();
    let to = shape.straight(start, first);
    if to.is_multiple_of(TILE) && rest.is_empty() && shape.is_contiguous() {
        let to_words = &mut shared[to as usize / 4..][..data.len() / 4];
        let to_lines = to_words.as_chunks_mut::<4>().0.as_chunks_mut::<8>().0;
        for ((to_line, line), at) in to_lines.iter_mut().zip(lines).zip((to..).step_by(128)) {
            let flips = (shape.swizzle.apply(at) - at) / RUN;
            for (i, words) in line.iter().enumerate() {
                to_line[(i ^ flips as usize) % 8] = words.map(u32::from_le_bytes);
            }
        }
        return;
    }
    for (chunk, words) in (first..).zip(words) {
        let to = shape.address(start, chunk) as usize / 4;
        shared[to..to + 4].copy_from_slice(&words.map(u32::from_le_bytes));
    }
}

/// The parts of a tile's rows inside the tensor: offset in the tile, global address, bytes.
fn rows(tile: &Tile, start: [i64; 5]) -> impl Iterator<Item = (u32, u64, u32)> {
    let (tile, counts, size) = (*tile, tile.counts(), tile.element.bytes());
    let inner = tile.dimensions[0] as i64;
    // The half-open range of a row's elements that are inside the tensor.
    let first = (-start[0]).clamp(0, counts[0].into());
    let last = (inner - start[0]).clamp(first, counts[0].into());
    let outer = counts[1..].iter().product::<u32>();
    (0..outer).filter_map(move |row| {
        let mut left = row;
        let mut address = (tile.address as i64).wrapping_add((start[0] + first) * i64::from(size));
        for dimension in 1..tile.rank {
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
