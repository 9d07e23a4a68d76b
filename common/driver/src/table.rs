//! Handles: numbers that are looked up in a table, so that stale and invalid handles are detected.
use std::collections::BTreeMap;

/// A client's reference to an object of the driver: never null, and unique within a process.
pub type Handle = usize;

/// The first handle: above all host addresses, so that [`crate::host`] can tell them apart.
pub const HANDLES: usize = 1 << 57;

/// The objects of one kind.
pub struct Table<T> {
    /// Distinguishes handles of this kind from those of other kinds.
    kind: usize,
    made: usize,
    things: BTreeMap<Handle, T>,
}

impl<T> Table<T> {
    pub fn new(kind: usize) -> Self {
        Self {
            kind,
            made: 0,
            things: BTreeMap::new(),
        }
    }
    /// Handles look like aligned pointers, as some clients expect, but no process has memory there.
    pub fn insert(&mut self, thing: T) -> Handle {
        self.made += 1;
        let handle = HANDLES | (self.kind << 32) | (self.made << 4);
        self.things.insert(handle, thing);
        handle
    }
    pub fn get(&self, handle: Handle) -> Option<&T> {
        self.things.get(&handle)
    }
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        self.things.get_mut(&handle)
    }
    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        self.things.remove(&handle)
    }
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        self.things.iter().map(|(&handle, thing)| (handle, thing))
    }
    pub fn update(&mut self, change: impl FnMut(&mut T)) {
        self.things.values_mut().for_each(change);
    }
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.things.retain(|_, thing| keep(thing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_never_given_twice_and_belongs_to_one_table() {
        let (mut one, mut other) = (Table::new(1), Table::new(2));
        let (a, b) = (one.insert('a'), other.insert('b'));
        assert_ne!(a, b);
        assert_eq!((one.get(a), one.get(b)), (Some(&'a'), None));
        one.remove(a);
        assert_ne!(one.insert('c'), a);
    }
}
