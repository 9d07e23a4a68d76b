//! Memory that graphs allocate. A node's memory has a fixed address from the moment the node is added. Here it is reserved from
//! then on, until it is not allocated and no graph node refers to it.
use std::collections::HashSet;

use crate::device;
use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_VALUE};
use crate::host::{In, Out};
use crate::state::{State, with};
use crate::stream::Work;
use crate::table::Handle;

/// The unit of memory for graphs, as measured on an H100: 32 MiB.
const UNIT: u64 = 32 << 20;

// CUgraphMem_attribute
const USED: u32 = 0;
const USED_HIGH: u32 = 1;
const RESERVED: u32 = 2;
const RESERVED_HIGH: u32 = 3;

impl State {
    /// Reserves memory for a node that will allocate it.
    pub fn reserve(&mut self, bytes: usize, context: Handle) -> Result<u64, Fault> {
        let address = self.allocate(bytes, context, 0)?;
        self.graph_memory.insert(address, false);
        Ok(address)
    }

    /// Allocates or frees reserved memory.
    ///
    /// # Errors
    /// If it already is, or is not reserved.
    pub fn set_allocated(&mut self, address: u64, allocated: bool) -> Answer {
        match self.graph_memory.get_mut(&address) {
            Some(now) if *now != allocated => *now = allocated,
            _ => return Err(Fault::silent(INVALID_VALUE)),
        }
        self.graph_memory_high = self.graph_memory_high.max(self.used_by_graphs());
        self.release_graph_memory()
    }

    /// Frees what a graph's nodes have allocated, before they allocate it again.
    pub fn free_memory_of(&mut self, works: &[Work]) {
        let mut found = Vec::new();
        works.iter().for_each(|work| changes(work, &mut found));
        for (address, _) in found.iter().filter(|(_, allocated)| *allocated) {
            // Memory of a destroyed context is no longer reserved.
            if let Some(now) = self.graph_memory.get_mut(address) {
                *now = false;
            }
        }
    }

    /// Releases memory that is not allocated and that no graph node refers to.
    pub fn release_graph_memory(&mut self) -> Answer {
        let in_nodes = self.nodes.iter().map(|(_, node)| &node.work);
        let executables = self.executables.iter();
        let in_executables =
            executables.flat_map(|(_, one)| one.works.iter().map(|(_, work)| work));
        let mut used = Vec::new();
        in_nodes
            .chain(in_executables)
            .for_each(|work| changes(work, &mut used));
        let used: HashSet<u64> = used.iter().map(|(address, _)| *address).collect();
        let gone = self.graph_memory.iter();
        let gone = gone.filter(|(address, allocated)| !**allocated && !used.contains(address));
        let gone: Vec<u64> = gone.map(|(&address, _)| address).collect();
        for address in gone {
            self.graph_memory.remove(&address);
            self.free(address)?;
        }
        Ok(())
    }

    fn used_by_graphs(&self) -> u64 {
        let allocated = self
            .graph_memory
            .iter()
            .filter(|(_, allocated)| **allocated);
        let bytes = allocated.filter_map(|(address, _)| self.allocations.get(address));
        bytes.map(|one| one.bytes() as u64).sum()
    }
}

/// The addresses that work allocates (true) or frees, child graphs included.
fn changes(work: &Work, all: &mut Vec<(u64, bool)>) {
    match work {
        Work::Allocate(address, allocated) => all.push((*address, *allocated)),
        Work::Graph(works) => works.iter().for_each(|work| changes(work, all)),
        _ => {}
    }
}

entry_points! {
    /// Bytes that graphs have allocated or reserved.
    11040 fn cuDeviceGetGraphMemAttribute(device: i32, which: u32, value: Out<u64>) {
        with(|state| {
            device::check(device)?;
            let (now, high) = (state.used_by_graphs(), state.graph_memory_high);
            value.put(match which {
                USED => now,
                USED_HIGH => high,
                RESERVED => now.next_multiple_of(UNIT),
                RESERVED_HIGH => high.next_multiple_of(UNIT),
                _ => return Err(Fault::silent(INVALID_VALUE)),
            })
        })
    }
    /// Resets a high-water mark; the value must be 0.
    11040 fn cuDeviceSetGraphMemAttribute(device: i32, which: u32, value: In<u64>) {
        with(|state| {
            device::check(device)?;
            match (which, value.get()?) {
                (USED_HIGH | RESERVED_HIGH, 0) => state.graph_memory_high = state.used_by_graphs(),
                _ => return Err(Fault::silent(INVALID_VALUE)),
            }
            Ok(())
        })
    }
    /// Nothing to trim.
    11040 fn cuDeviceGraphMemTrim(device: i32) { with(|_| device::check(device)) }
}
