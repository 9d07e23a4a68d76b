//! Global memory: allocations with gaps between them, and what the blocks of a launch write.
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The device's global memory.
#[derive(Clone, Debug)]
pub struct Memory {
    limit: u64,
    next: u64,
    allocations: Vec<Allocation>,
}

#[derive(Clone, Debug)]
struct Allocation {
    name: String,
    base: u64,
    bytes: Vec<u8>,
}

/// An allocation beyond the limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{wanted} bytes of device memory asked for, {limit} allowed; raise the limit with --max-memory"
)]
pub struct OutOfMemory {
    /// Bytes that would have been in use.
    pub wanted: u64,
    /// Bytes allowed.
    pub limit: u64,
}

/// cudaMalloc aligns to at least 256 bytes (CUDA C++ Programming Guide, "Device Memory Accesses").
const ALIGNMENT: u64 = 512;
/// Unused addresses between allocations, so that running past one does not land in the next.
const GAP: u64 = 1 << 20;

impl Memory {
    /// Memory that refuses to hold more than `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            next: 1 << 40,
            allocations: Vec::new(),
        }
    }

    /// Adds an allocation and returns its device address; `name` is used in findings.
    ///
    /// # Errors
    /// If the limit would be passed.
    pub fn alloc(&mut self, name: &str, bytes: Vec<u8>) -> Result<u64, OutOfMemory> {
        let used: u64 = self.allocations.iter().map(|a| a.bytes.len() as u64).sum();
        let wanted = used.saturating_add(bytes.len() as u64);
        if wanted > self.limit {
            return Err(OutOfMemory {
                wanted,
                limit: self.limit,
            });
        }
        let base = self.next;
        self.next = (base + bytes.len() as u64 + GAP).next_multiple_of(ALIGNMENT);
        self.allocations.push(Allocation {
            name: name.to_string(),
            base,
            bytes,
        });
        Ok(base)
    }

    /// The bytes of the allocation that starts at `address`.
    pub fn bytes(&self, address: u64) -> Option<&[u8]> {
        self.allocations
            .iter()
            .find(|a| a.base == address)
            .map(|a| &a.bytes[..])
    }

    /// Removes the allocations made since there were `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.allocations.truncate(count);
    }
    pub(crate) fn count(&self) -> usize {
        self.allocations.len()
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
    pub(crate) fn base(&self, index: usize) -> u64 {
        self.allocations[index].base
    }
    pub(crate) fn data(&self, index: usize) -> &[u8] {
        &self.allocations[index].bytes
    }

    /// Where an address outside all allocations lies, in compute-sanitizer's words.
    pub(crate) fn nearest(&self, address: u64) -> String {
        let distance = |a: &&Allocation| {
            let end = a.base + a.bytes.len() as u64;
            if address < a.base {
                a.base - address
            } else {
                address.saturating_add(1).saturating_sub(end)
            }
        };
        let Some(nearest) = self.allocations.iter().min_by_key(distance) else {
            return "there is no allocation".into();
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
        format!(
            "{side} the nearest allocation, {}, at 0x{:x} of size {size} bytes",
            nearest.name, nearest.base
        )
    }
}

/// Bytes in a page of [`Writes`].
const PAGE: usize = 256;

/// What one block, or all blocks that run interleaved, wrote: pages over unchanged memory.
///
/// Blocks that run in parallel see memory as it was before the launch, and their own writes. Writes are
/// applied in the order of the blocks, so that even kernels with races across blocks give the same
/// result on every run.
#[derive(Default)]
pub(crate) struct Writes {
    pages: HashMap<(u32, u32), Box<Page>, BuildHasherDefault<PageHasher>>,
    /// Bit for each of the first 64 allocations that was written; later ones share the last bit.
    touched: u64,
    /// Changes so far: whether anything has happened at all.
    pub activity: u64,
}

struct Page {
    data: [u8; PAGE],
    written: [u64; PAGE / 64],
}

/// Multiplicative hashing: page numbers are small and known to be harmless.
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

    pub fn bytes(&self) -> u64 {
        (self.pages.len() * size_of::<Page>()) as u64
    }

    /// Reads up to 16 aligned bytes, which never cross a page.
    pub fn read(&self, memory: &Memory, allocation: usize, offset: usize, out: &mut [u8]) {
        let at = offset % PAGE;
        match self.pages.get(&(allocation as u32, (offset / PAGE) as u32)) {
            Some(page) => out.copy_from_slice(&page.data[at..at + out.len()]),
            None => out.copy_from_slice(&memory.data(allocation)[offset..offset + out.len()]),
        }
    }

    /// Writes up to 16 aligned bytes, which never cross a page.
    pub fn write(&mut self, memory: &Memory, allocation: usize, offset: usize, bytes: &[u8]) {
        self.touched |= 1 << allocation.min(63);
        let page = self
            .pages
            .entry((allocation as u32, (offset / PAGE) as u32))
            .or_insert_with(|| {
                let mut page = Box::new(Page {
                    data: [0; PAGE],
                    written: [0; PAGE / 64],
                });
                let from = &memory.data(allocation)[offset / PAGE * PAGE..];
                let len = from.len().min(PAGE);
                page.data[..len].copy_from_slice(&from[..len]);
                page
            });
        let at = offset % PAGE;
        self.activity += u64::from(page.data[at..at + bytes.len()] != *bytes);
        page.data[at..at + bytes.len()].copy_from_slice(bytes);
        page.written[at / 64] |= ((1u64 << bytes.len()) - 1) << (at % 64);
    }

    /// Reads any run of bytes.
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

    /// Writes any run of bytes.
    pub fn write_run(&mut self, memory: &Memory, allocation: usize, offset: usize, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let len = (16 - (offset + at) % 16).min(bytes.len() - at);
            self.write(memory, allocation, offset + at, &bytes[at..at + len]);
            at += len;
        }
    }

    /// Puts what was written into memory.
    pub fn apply(self, memory: &mut Memory) {
        for ((allocation, page_number), page) in self.pages {
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
        let mut memory = Memory::new(1 << 20);
        let a = memory.alloc("a", vec![1; 600]).expect("small");
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
    fn limits_and_neighbours() {
        let mut memory = Memory::new(1000);
        let a = memory.alloc("A", vec![0; 600]).expect("small");
        assert!(memory.alloc("B", vec![0; 600]).is_err());
        assert_eq!(memory.find(a + 597, 4), None);
        assert_eq!(
            memory.nearest(a + 600),
            format!("1 bytes after the nearest allocation, A, at 0x{a:x} of size 600 bytes")
        );
    }
}
