//! Clusters that run in parallel are unordered: if one writes what another reads or writes, it is a race.
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::global_check::verb;
use super::machine::Machine;
use crate::Space;
use crate::finding::{Conflict, Finding, FindingKind};
use crate::memory::Writes;
use crate::shadow::{Known, Place};

/// The accesses of all clusters, by the bytes that the sanitizer watches.
#[derive(Default)]
pub(super) struct CrossCheck {
    cells: Mutex<HashMap<Place, Crossed>>,
}

/// The first cluster that wrote a cell, and the first that wrote another value; and the first two that read it. "First"
/// is by number, so the order in which clusters finish does not matter.
#[derive(Clone, Copy, Default)]
struct Crossed {
    writers: [Option<Access>; 2],
    readers: [Option<Access>; 2],
}

#[derive(Clone, Copy)]
struct Access {
    known: Known,
    /// The value that the cluster left there.
    value: u32,
}

impl CrossCheck {
    /// Adds the accesses of a cluster that has ended.
    pub fn add(&self, machine: &Machine<'_>, writes: &Writes) {
        let Some(shadow) = &writes.accesses else {
            return;
        };
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, cell) in shadow.cells() {
            let reader = cell.reads().min_by_key(|read| read.site());
            if cell.writes().next().is_none() && reader.is_none() {
                continue;
            }
            let mut raw = [0; 4];
            let len = machine.memory.data(place.0).len().saturating_sub(place.1);
            let held = &mut raw[..shadow.grain().min(len)];
            writes.read_run(machine.memory, place.0, place.1, held);
            let value = u32::from_le_bytes(raw);
            let crossed = cells.entry(place).or_default();
            for &known in cell.writes() {
                crossed.add_writer(Access { known, value });
            }
            if let Some(&known) = reader {
                crossed.add_reader(Access { known, value });
            }
        }
    }

    /// The races between clusters, in the order of their addresses.
    pub fn findings(self, machine: &Machine<'_>) -> Vec<Finding> {
        let cells = self.cells.into_inner();
        let cells = cells.unwrap_or_else(PoisonError::into_inner);
        let mut cells: Vec<(Place, Crossed)> = cells.into_iter().collect();
        cells.sort_unstable_by_key(|(place, _)| *place);
        let found = cells.into_iter().filter_map(|(place, crossed)| {
            let (one, other) = crossed.race()?;
            let locations = [one, other].map(|known| {
                let site = known.site();
                machine.location_in(known.cluster, site)
            });
            let [location, other_location] = locations;
            let conflict = Conflict {
                access: verb(one.mode),
                other_access: verb(other.mode),
                of_init: false,
                other: Box::new(other_location),
                space: Space::Global,
                address: machine.memory.base(place.0) + place.1 as u64,
                of_one_instruction: false,
                is_later: false,
            };
            Some(Finding::new(FindingKind::Race(conflict), location))
        });
        found.collect()
    }
}

impl Crossed {
    fn add_writer(&mut self, new: Access) {
        let mut all: Vec<Access> = self.writers.into_iter().flatten().chain([new]).collect();
        all.sort_by_key(|one| one.known.cluster);
        let first = all[0];
        let second = all.into_iter().find(|one| one.value != first.value);
        self.writers = [Some(first), second];
    }

    fn add_reader(&mut self, new: Access) {
        let mut all: Vec<Access> = self.readers.into_iter().flatten().chain([new]).collect();
        all.sort_by_key(|one| one.known.cluster);
        self.readers = [all.first().copied(), all.get(1).copied()];
    }

    fn race(&self) -> Option<(Known, Known)> {
        if let [Some(one), Some(other)] = self.writers {
            return Some((other.known, one.known));
        }
        let [writer, _] = self.writers;
        let writer = writer.filter(|writer| writer.known.mode.changes())?;
        let mut readers = self.readers.into_iter().flatten();
        let reader = readers.find(|reader| reader.known.cluster != writer.known.cluster)?;
        Some((reader.known, writer.known))
    }
}
