//! What shared memory holds in a launch, before each load from memory.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::launch::BeforeLoad;

/// The words of shared memory before each load of a launch, by block. Clones refer to the same recording.
#[derive(Clone, Default)]
pub struct SharedRecording(Arc<Mutex<BTreeMap<[u32; 3], Block>>>);

/// The shared memory of one block.
#[derive(Default)]
struct Block {
    /// As of the latest load.
    words: Vec<u32>,
    /// The words that have changed before each load, and their new values.
    changes: Vec<Vec<(usize, u32)>>,
    /// Loads that have been replayed.
    replayed: usize,
}

impl SharedRecording {
    /// What records a launch, as [`Options::before_load`](crate::Options::before_load).
    pub fn record(&self) -> BeforeLoad {
        self.with(Block::record)
    }

    /// What puts the recorded words into the shared memory of another launch, whose blocks load as often. Further loads see what is there.
    pub fn replay(&self) -> BeforeLoad {
        self.with(Block::replay)
    }

    fn with(&self, act: fn(&mut Block, &mut [u32])) -> BeforeLoad {
        let Self(blocks) = self.clone();
        Arc::new(move |index, words| {
            // A panic ends the launch anyway.
            let mut blocks = blocks
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            act(blocks.entry(index).or_default(), words);
        })
    }
}

impl Block {
    fn record(&mut self, words: &mut [u32]) {
        self.words.resize(words.len(), 0);
        let both = self.words.iter_mut().zip(words.iter()).enumerate();
        let changed = both.filter(|(_, (old, new))| **old != **new);
        let changed = changed.map(|(at, (old, new))| {
            *old = *new;
            (at, *new)
        });
        self.changes.push(changed.collect());
    }

    fn replay(&mut self, words: &mut [u32]) {
        if self.replayed == 0 {
            self.words.fill(0);
        }
        let Some(changes) = self.changes.get(self.replayed) else {
            return;
        };
        for &(at, new) in changes {
            self.words[at] = new;
        }
        for (word, recorded) in words.iter_mut().zip(&self.words) {
            *word = *recorded;
        }
        self.replayed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_launch_sees_what_was_recorded() {
        let recording = SharedRecording::default();
        let record = recording.record();
        for words in [[1, 0], [1, 2], [1, 2]] {
            record([0; 3], &mut words.clone());
            record([1, 0, 0], &mut [7]);
        }
        let replay = recording.replay();
        for expected in [[1, 0], [1, 2], [1, 2], [9, 9]] {
            let mut words = [9, 9];
            replay([0; 3], &mut words);
            assert_eq!(words, expected);
        }
        let mut other = [9];
        replay([1, 0, 0], &mut other);
        assert_eq!(other, [7]);
    }
}
