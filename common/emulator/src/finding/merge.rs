//! Merges findings of the same mistake.
use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use super::{Conflict, Finding, FindingKind, Location};
use crate::program::SourceLine;

/// Where a reader looks for a mistake: a line of the CUDA source, which an unrolled loop turns into many
/// instructions, with the call if it is in an inlined function; or the instruction if the line is not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Spot {
    Line(SourceLine),
    Inlined(SourceLine, SourceLine),
    Instruction(usize),
}

/// The findings of a launch, one for each mistake.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    seen: HashMap<Key, usize>,
}

/// What makes two findings the same mistake.
type Key = (Discriminant<FindingKind>, Spot, Option<Spot>);

fn key(finding: &Finding) -> Key {
    let other = finding.other().map(Location::spot);
    (discriminant(&finding.kind), finding.location.spot(), other)
}

impl Finding {
    /// Puts the two sides of a race in program order: which of them is detected depends on the order
    /// of the warps.
    fn order(&mut self) {
        if let FindingKind::Race(Conflict {
            access,
            other_access,
            other,
            is_later,
            ..
        }) = &mut self.kind
        {
            let key = |location: &Location| (location.instruction, location.linear());
            if key(&self.location) < key(other) {
                std::mem::swap(access, other_access);
                *is_later = !*is_later;
                std::mem::swap(&mut self.location, other);
            }
        }
    }

    fn threads(&self) -> ([u32; 3], [u32; 3]) {
        let other = self.other().map_or([0; 3], Location::linear);
        (self.location.linear(), other)
    }
}

impl Location {
    /// Sorts like the thread's linear number in its block.
    fn linear(&self) -> [u32; 3] {
        let [x, y, z] = self.thread;
        [z, y, x]
    }

    fn spot(&self) -> Spot {
        match (&self.callee, &self.source) {
            (Some(callee), _) => Spot::Inlined(callee.line.clone(), callee.call.clone()),
            (None, Some(line)) => Spot::Line(line.clone()),
            (None, None) => Spot::Instruction(self.instruction),
        }
    }
}

impl Findings {
    pub fn add(&mut self, mut finding: Finding) {
        finding.order();
        let key = key(&finding);
        let Some(known) = self.seen.get(&key).and_then(|&i| self.list.get_mut(i)) else {
            self.seen.insert(key, self.list.len());
            self.list.push(finding);
            return;
        };
        // Keeps the first thread of the first block, independent of the order in which warps ran.
        let (count, step) = (known.count + finding.count, known.step.or(finding.step));
        if known.location.block == finding.location.block && finding.threads() < known.threads() {
            *known = finding;
        }
        (known.count, known.step) = (count, step);
    }

    /// Adds a finding of another launch, unless it is already known.
    pub fn add_new(&mut self, mut finding: Finding) {
        finding.order();
        if !self.seen.contains_key(&key(&finding)) {
            self.add(finding);
        }
    }

    pub fn take(&mut self) -> Vec<Finding> {
        self.seen.clear();
        std::mem::take(&mut self.list)
    }
}
