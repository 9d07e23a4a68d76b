//! Global memory: allocations with gaps between them, and the writes of a launch's blocks.
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use crate::ptx::zeroed_after;
use crate::shadow::GlobalShadow;
use crate::{Error, Printed};

/// The device's global memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Bytes allocated.
    used: u64,
    /// Bytes of addresses handed out in each region; no address is used twice until the region is cleared.
    given: [u64; 4],
    /// In the order of their addresses.
    allocations: Vec<Allocation>,
}

/// The address range of an allocation. Variables of modules have a range of their own, so that the addresses
/// of buffers do not depend on which modules were loaded before.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Region {
    /// What the host allocates.
    Buffers,
    /// `__device__` variables of modules.
    Variables,
    /// `__constant__` variables of modules, by their host addresses. Findings never name them as the nearest
    /// allocation, because kernels read them from the constant bank, at other addresses.
    Constants,
    /// Allocations of the driver: the workspace of a cooperative launch. No finding names it either.
    Driver,
}

impl Region {
    /// Its first address.
    fn start(self) -> u64 {
        match self {
            Region::Buffers => 1 << 40,
            Region::Variables => 1 << 45,
            Region::Constants => 3 << 44,
            Region::Driver => 1 << 46,
        }
    }
    /// Whether an address is in this region.
    pub fn holds(self, address: u64) -> bool {
        (self.start()..self.start() + REGION).contains(&address)
    }
}

/// Bytes of addresses in a region.
const REGION: u64 = 1 << 44;

#[derive(Clone, Debug)]
struct Allocation {
    name: String,
    base: u64,
    bytes: Vec<u8>,
}

/// cudaMalloc aligns to at least 256 bytes (CUDA C++ Programming Guide, "Device Memory Accesses").
const ALIGNMENT: u64 = 512;
/// Unused addresses between allocations, so that running past one does not land in the next.
const GAP: u64 = 1 << 20;

impl Memory {
    /// Checks that `bytes` more bytes are within the limit.
    ///
    /// # Errors
    /// If they are not.
    pub fn admits(&self, bytes: u64, limit: u64) -> Result<(), Error> {
        let wanted = self.used.saturating_add(bytes);
        match wanted <= limit {
            true => Ok(()),
            false => Err(Error::OutOfMemory { wanted, limit }),
        }
    }

    /// Adds an allocation and returns its device address; `name` is used in findings.
    ///
    /// # Errors
    /// If more than `limit` bytes would be allocated, or the region has no addresses left.
    pub fn alloc(
        &mut self,
        region: Region,
        name: &str,
        bytes: Vec<u8>,
        limit: u64,
    ) -> Result<u64, Error> {
        let len = bytes.len() as u64;
        self.admits(len, limit)?;
        let given = &mut self.given[region as usize];
        let end = given.saturating_add(len);
        if end > REGION {
            return Err(Error::OutOfMemory {
                wanted: end,
                limit: REGION,
            });
        }
        let base = region.start() + *given;
        *given = (end + GAP).next_multiple_of(ALIGNMENT);
        self.used += len;
        let at = self.allocations.partition_point(|a| a.base < base);
        let allocation = Allocation {
            name: name.to_string(),
            base,
            bytes,
        };
        self.allocations.insert(at, allocation);
        Ok(base)
    }

    /// Removes all allocations of a region; its addresses are handed out again from the first.
    pub fn clear(&mut self, region: Region) {
        self.allocations.retain(|a| !region.holds(a.base));
        self.used = self.allocations.iter().map(|a| a.bytes.len() as u64).sum();
        self.given[region as usize] = 0;
    }

    fn index(&self, address: u64) -> Option<usize> {
        self.allocations
            .binary_search_by_key(&address, |a| a.base)
            .ok()
    }

    /// The bytes of the allocation that starts at `address`.
    pub fn bytes(&self, address: u64) -> Option<&[u8]> {
        self.index(address)
            .map(|at| &self.allocations[at].bytes[..])
    }

    /// The same, mutable.
    pub fn bytes_mut(&mut self, address: u64) -> Option<&mut [u8]> {
        self.index(address)
            .map(|at| &mut self.allocations[at].bytes[..])
    }

    /// Resets the allocation that starts at `address` to `initial`, followed by zeros. Does nothing if there is none.
    pub fn reset(&mut self, address: u64, initial: &[u8]) {
        if let Some(at) = self.index(address) {
            let bytes = &mut self.allocations[at].bytes;
            *bytes = zeroed_after(initial, bytes.len());
        }
    }

    /// Removes the allocation that starts at `address`, if there is one.
    pub fn remove(&mut self, address: u64) -> bool {
        let Some(at) = self.index(address) else {
            return false;
        };
        self.used -= self.allocations.remove(at).bytes.len() as u64;
        true
    }

    /// The allocation that holds `bytes` bytes at `address`: its index and the offset in it.
    pub(crate) fn find(&self, address: u64, bytes: u64) -> Option<(usize, usize)> {
        let index = self
            .allocations
            .partition_point(|a| a.base <= address)
            .checked_sub(1)?;
        let allocation = &self.allocations[index];
        let offset = address - allocation.base;
        (offset.checked_add(bytes)? <= allocation.bytes.len() as u64)
            .then_some((index, offset as usize))
    }
    /// Base and length of the allocation that holds this address, and whether it is a variable of a module.
    pub(crate) fn around(&self, address: u64) -> Option<(u64, usize, bool)> {
        let (index, offset) = self.find(address, 0)?;
        let Allocation {
            base, ref bytes, ..
        } = self.allocations[index];
        let inside = offset < bytes.len() || offset == 0;
        inside.then_some((base, bytes.len(), !Region::Buffers.holds(base)))
    }
    /// Whether the allocation with this index, if there is one, holds these bytes.
    #[inline(always)]
    pub(crate) fn holds(&self, index: usize, address: u64, bytes: u64) -> bool {
        self.allocations.get(index).is_some_and(|allocation| {
            let len = allocation.bytes.len() as u64;
            address >= allocation.base && bytes <= len && address - allocation.base <= len - bytes
        })
    }
    /// Whether it is a variable of a module.
    pub(crate) fn is_variable(&self, index: usize) -> bool {
        Region::Variables.holds(self.allocations[index].base)
    }
    /// The base address of each allocation whose bit is set; [`Self::bits`] is the inverse.
    pub(crate) fn bases(&self, bits: u64) -> Vec<u64> {
        let all = self.allocations.iter().enumerate();
        let named = all.filter(|(index, _)| bits >> (*index).min(63) & 1 == 1);
        named.map(|(_, allocation)| allocation.base).collect()
    }
    pub(crate) fn bits(&self, bases: &[u64]) -> u64 {
        let found = bases.iter().filter_map(|&base| self.index(base));
        found.fold(0, |bits, index| bits | 1 << index.min(63))
    }
    /// The allocations that are variables of a module.
    pub(crate) fn variables(&self) -> impl Iterator<Item = usize> {
        (0..self.allocations.len()).filter(|&index| self.is_variable(index))
    }
    pub(crate) fn name(&self, index: usize) -> &str {
        &self.allocations[index].name
    }
    pub(crate) fn base(&self, index: usize) -> u64 {
        self.allocations[index].base
    }
    pub(crate) fn data(&self, index: usize) -> &[u8] {
        &self.allocations[index].bytes
    }

    /// The position of an address outside all allocations, in compute-sanitizer's words; the nearest allocation, if the
    /// address is after its beginning, and the distance from there.
    pub(crate) fn nearest(&self, address: u64) -> (String, Option<(String, u64)>) {
        let distance = |a: &&Allocation| {
            let end = a.base + a.bytes.len() as u64;
            if address < a.base {
                a.base - address
            } else {
                address.saturating_add(1).saturating_sub(end)
            }
        };
        let named = |a: &&Allocation| a.base < Region::Constants.start();
        let named = self.allocations.iter().filter(named);
        let Some(nearest) = named.min_by_key(distance) else {
            return ("there is no allocation".into(), None);
        };
        let (size, end) = (
            nearest.bytes.len(),
            nearest.base + nearest.bytes.len() as u64,
        );
        let side = match address {
            a if a < nearest.base => format!("{} bytes before", nearest.base - a),
            a if a >= end => format!("{} bytes after", (a - end).saturating_add(1)),
            _ => "across the end of".into(),
        };
        let words = format!(
            "{side} the nearest allocation, {}, at 0x{:x} of size {size} bytes",
            nearest.name, nearest.base
        );
        let after = address.checked_sub(nearest.base);
        (words, after.map(|after| (nearest.name.clone(), after)))
    }
}

/// Bytes in a page of [`Writes`].
const PAGE: usize = 256;

/// The writes of one block, or of all blocks that run interleaved: pages over unchanged memory.
///
/// Blocks that run in parallel see memory as it was before the launch, and their own writes. Writes are
/// applied in the order of the blocks, so that even kernels with races across blocks give the same
/// result on every run.
#[derive(Default)]
pub(crate) struct Writes {
    pages: Pages,
    /// A bit for each of the first 63 allocations that was written; all later ones share the last bit.
    touched: u64,
    /// Number of changes so far, to detect whether anything happens at all.
    pub activity: u64,
    /// Bytes that were printed, and bytes of registers on call stacks.
    printed: u64,
    saved: u64,
    /// The same bits for allocations in which a byte was written again with another value.
    pub rewritten: u64,
    /// The same bits for allocations that were read, and for those with strong accesses; tracked under `sanitize`.
    pub reads: u64,
    pub strong: u64,
    /// Which thread wrote and read what; tracked under `sanitize`.
    pub accesses: Option<Box<GlobalShadow>>,
}

#[derive(Clone)]
struct Page {
    data: [u8; PAGE],
    written: [u64; PAGE / 64],
}

/// What a write does to a page: whether it changes a byte, and also one that was written before.
struct Change {
    changes: bool,
    again: bool,
}

impl Page {
    #[inline(always)]
    fn write(&mut self, at: usize, bytes: &[u8]) -> Change {
        let held = &mut self.data[at..at + bytes.len()];
        let changes = *held != *bytes;
        held.copy_from_slice(bytes);
        let now = ((1u64 << bytes.len()) - 1) << (at % 64);
        let written = &mut self.written[at / 64];
        let again = changes && *written & now != 0;
        *written |= now;
        Change { changes, again }
    }
}

type Pages = HashMap<(u32, u32), Box<Page>, BuildHasherDefault<PageHasher>>;

/// The page that holds this byte, a copy of memory at first.
fn page<'a>(
    pages: &'a mut Pages,
    memory: &Memory,
    allocation: usize,
    offset: usize,
) -> &'a mut Page {
    let number = offset / PAGE;
    let entry = pages.entry((allocation as u32, number as u32));
    entry.or_insert_with(|| {
        let mut page = Box::new(Page {
            data: [0; PAGE],
            written: [0; PAGE / 64],
        });
        let from = &memory.data(allocation)[number * PAGE..];
        let len = from.len().min(PAGE);
        page.data[..len].copy_from_slice(&from[..len]);
        page
    })
}

/// Multiplicative hashing suffices: page numbers are small and not chosen by an attacker.
#[derive(Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.write_u32(u32::from(b));
        }
    }
    fn write_u32(&mut self, x: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(x)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Writes {
    pub fn touched(&self, allocation: usize) -> bool {
        self.touched >> allocation.min(63) & 1 == 1
    }

    /// The allocations that were written: a bit each, the last of which stands for all later ones.
    pub fn allocations(&self) -> u64 {
        self.touched
    }

    /// Memory taken by the writes and the printed text, in bytes.
    pub fn bytes(&self) -> u64 {
        (self.pages.len() * size_of::<Page>()) as u64 + self.printed + self.saved
    }

    /// Notes that `bytes` bytes of registers are on a call stack, or no longer are.
    pub fn save(&mut self, bytes: u64) {
        self.saved += bytes;
    }
    pub fn restore(&mut self, bytes: u64) {
        self.saved = self.saved.saturating_sub(bytes);
    }

    /// Memory taken by the printed text, in bytes.
    pub fn printed(&self) -> u64 {
        self.printed
    }

    /// Notes that `bytes` bytes were printed.
    pub fn print(&mut self, bytes: usize) {
        self.printed += (bytes + size_of::<Printed>()) as u64;
    }

    /// Reads up to 16 aligned bytes, which never cross a page.
    pub fn read(&self, memory: &Memory, allocation: usize, offset: usize, out: &mut [u8]) {
        let at = offset % PAGE;
        if !self.touched(allocation) {
            out.copy_from_slice(&memory.data(allocation)[offset..offset + out.len()]);
            return;
        }
        match self.pages.get(&(allocation as u32, (offset / PAGE) as u32)) {
            Some(page) => out.copy_from_slice(&page.data[at..at + out.len()]),
            None => out.copy_from_slice(&memory.data(allocation)[offset..offset + out.len()]),
        }
    }

    /// Writes up to 16 aligned bytes, which never cross a page.
    pub fn write(&mut self, memory: &Memory, allocation: usize, offset: usize, bytes: &[u8]) {
        self.touched |= 1 << allocation.min(63);
        let page = page(&mut self.pages, memory, allocation, offset);
        let change = page.write(offset % PAGE, bytes);
        self.activity += u64::from(change.changes);
        self.rewritten |= u64::from(change.again) << allocation.min(63);
    }

    /// The same for what the lanes of a warp write to one allocation. Neighboring lanes share pages.
    #[inline(always)]
    pub fn write_lanes<const BYTES: usize>(
        &mut self,
        memory: &Memory,
        allocation: usize,
        lanes: impl Iterator<Item = (usize, [u8; BYTES])>,
    ) {
        self.touched |= 1 << allocation.min(63);
        let mut held: Option<(usize, &mut Page)> = None;
        for (offset, bytes) in lanes {
            let change = match &mut held {
                Some((number, page)) if *number == offset / PAGE => {
                    page.write(offset % PAGE, &bytes)
                }
                _ => {
                    let page = page(&mut self.pages, memory, allocation, offset);
                    let change = page.write(offset % PAGE, &bytes);
                    held = Some((offset / PAGE, page));
                    change
                }
            };
            self.activity += u64::from(change.changes);
            self.rewritten |= u64::from(change.again) << allocation.min(63);
        }
    }

    /// Whether writing these bytes would change memory.
    pub fn would_change(
        &self,
        memory: &Memory,
        allocation: usize,
        offset: usize,
        bytes: &[u8],
    ) -> bool {
        let mut old = vec![0; bytes.len()];
        self.read_run(memory, allocation, offset, &mut old);
        old != bytes
    }

    /// Reads any number of contiguous bytes.
    pub fn read_run(&self, memory: &Memory, allocation: usize, offset: usize, out: &mut [u8]) {
        if !self.touched(allocation) {
            out.copy_from_slice(&memory.data(allocation)[offset..offset + out.len()]);
            return;
        }
        let mut at = 0;
        while at < out.len() {
            let len = (PAGE - (offset + at) % PAGE).min(out.len() - at);
            self.read(memory, allocation, offset + at, &mut out[at..at + len]);
            at += len;
        }
    }

    /// The same as a slice, which is copied only if the allocation was written.
    pub fn run<'a>(
        &self,
        memory: &'a Memory,
        allocation: usize,
        offset: usize,
        bytes: usize,
    ) -> Cow<'a, [u8]> {
        if !self.touched(allocation) {
            return Cow::Borrowed(&memory.data(allocation)[offset..offset + bytes]);
        }
        let mut out = vec![0; bytes];
        self.read_run(memory, allocation, offset, &mut out);
        Cow::Owned(out)
    }

    /// Writes any number of contiguous bytes.
    pub fn write_run(&mut self, memory: &Memory, allocation: usize, offset: usize, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let len = (16 - (offset + at) % 16).min(bytes.len() - at);
            self.write(memory, allocation, offset + at, &bytes[at..at + len]);
            at += len;
        }
    }

    /// Adds the writes of a later cluster.
    pub fn merge(&mut self, other: Writes) {
        self.touched |= other.touched;
        self.rewritten |= other.rewritten;
        self.reads |= other.reads;
        self.strong |= other.strong;
        for (at, page) in other.pages {
            let held = match self.pages.entry(at) {
                Entry::Vacant(room) => {
                    room.insert(page);
                    continue;
                }
                Entry::Occupied(held) => held.into_mut(),
            };
            for i in (0..PAGE).filter(|i| page.written[i / 64] >> (i % 64) & 1 == 1) {
                let (word, bit) = (i / 64, 1 << (i % 64));
                let again = held.written[word] & bit != 0 && held.data[i] != page.data[i];
                self.rewritten |= u64::from(again) << at.0.min(63);
                held.data[i] = page.data[i];
                held.written[word] |= bit;
            }
        }
    }

    /// The first place in the allocations selected by `of` at which memory differs between these writes and others.
    pub fn difference(
        &self,
        other: &Writes,
        memory: &Memory,
        of: impl Fn(usize) -> bool,
    ) -> Option<(usize, usize)> {
        let pages = self.pages.keys().chain(other.pages.keys());
        let mut pages: Vec<(u32, u32)> = pages.copied().filter(|at| of(at.0 as usize)).collect();
        pages.sort_unstable();
        pages.dedup();
        pages.into_iter().find_map(|(allocation, page)| {
            let (allocation, start) = (allocation as usize, page as usize * PAGE);
            let len = (memory.data(allocation).len() - start).min(PAGE);
            let bytes = |writes: &Writes| {
                let mut bytes = [0; PAGE];
                writes.read_run(memory, allocation, start, &mut bytes[..len]);
                bytes
            };
            let (one, other) = (bytes(self), bytes(other));
            let at = one.iter().zip(&other).position(|(a, b)| a != b)?;
            Some((allocation, start + at))
        })
    }

    /// Applies the writes to memory.
    pub fn apply(self, memory: &mut Memory) {
        self.apply_to(memory, |_| true);
    }

    /// Applies the writes to the allocations selected by `of`.
    pub fn apply_to(&self, memory: &mut Memory, of: impl Fn(usize) -> bool) {
        let pages = self.pages.iter();
        for (&(allocation, page_number), page) in pages.filter(|(at, _)| of(at.0 as usize)) {
            let bytes = &mut memory.allocations[allocation as usize].bytes;
            let base = page_number as usize * PAGE;
            for (group, &mask) in page.written.iter().enumerate() {
                let (from, base) = (&page.data[group * 64..], base + group * 64);
                if mask == u64::MAX {
                    bytes[base..base + 64].copy_from_slice(&from[..64]);
                    continue;
                }
                for bit in (0..64).filter(|bit| mask >> bit & 1 == 1) {
                    bytes[base + bit] = from[bit];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_seen_at_once_and_applied_later() {
        let mut memory = Memory::default();
        let a = memory
            .alloc(Region::Buffers, "a", vec![1; 600], 1 << 20)
            .expect("small");
        let (index, offset) = memory.find(a + 512, 4).expect("inside");
        let mut writes = Writes::default();
        writes.write(&memory, index, offset, &[7, 8]);
        let mut out = [0; 4];
        writes.read(&memory, index, offset, &mut out);
        assert_eq!(out, [7, 8, 1, 1]);
        assert_eq!(memory.bytes(a).expect("there")[512], 1);
        writes.apply(&mut memory);
        assert_eq!(memory.bytes(a).expect("there")[511..515], [1, 7, 8, 1]);
    }

    #[test]
    fn lanes_write_as_one_by_one() {
        let mut memory = Memory::default();
        let start = vec![0; 2000];
        memory
            .alloc(Region::Buffers, "a", start, 1 << 20)
            .expect("small");
        let (mut together, mut alone) = (Writes::default(), Writes::default());
        // To and fro between pages, some places twice, with the same value and with another one.
        for step in [4, 300, 600, 4] {
            let lanes = (0..32).map(|i| (i * step % 1600 / 4 * 4, [i as u8, 1, 2, step as u8]));
            for (offset, bytes) in lanes.clone() {
                alone.write(&memory, 0, offset, &bytes);
            }
            together.write_lanes(&memory, 0, lanes);
            assert_eq!(together.difference(&alone, &memory, |_| true), None);
            let state = |writes: &Writes| (writes.activity, writes.rewritten, writes.touched);
            assert_eq!(state(&together), state(&alone));
        }
    }

    #[test]
    fn limits_and_neighbors() {
        let mut memory = Memory::default();
        let mut alloc = |name| memory.alloc(Region::Buffers, name, vec![0; 600], 1000);
        let a = alloc("A").expect("small");
        assert_eq!(
            alloc("B"),
            Err(Error::OutOfMemory {
                wanted: 1200,
                limit: 1000
            })
        );
        assert_eq!(memory.find(a + 597, 4), None);
        assert_eq!(
            memory.nearest(a + 600).0,
            format!("1 bytes after the nearest allocation, A, at 0x{a:x} of size 600 bytes")
        );
    }
}
