//! Where the values come from that a kernel multiplies and stores. Where shared memory is the lesson, each of them must be loaded
//! from there. Nothing else that is done with shared memory replaces that: a value that is compared with it, or combined with it so
//! that nothing changes, was loaded from global memory into a register.
//!
//! A value is traced through the registers of the PTX, whatever the instructions between do with it. The compiler gives each value
//! a register of its own, so the order of instructions does not matter. Predicates are not traced: whether a tile is inside may well
//! depend on what was loaded from global memory. Neither are addresses.
use std::collections::BTreeMap;

use emulator::{Counters, Instruction, InstructionKind as Kind, Number, Space};
use harness::{Launched, Trial};

use super::budget::Budget;
use super::launches::LaunchResults;
use super::plan::PlannedLaunch;
use super::quote;
use super::rubric::AssignmentKind;

/// A kernel may store a few constants: one in so many bytes.
const FEW: u64 = 20;

/// What is said if shared memory is the lesson and a value that counts was not loaded from there, and the launch.
pub fn missed<'a>(budget: &Budget, all: &LaunchResults<'a>) -> Option<(&'a PlannedLaunch, String)> {
    budget.at_least.filter(|_| budget.of.is_shared())?;
    let mut launches = all.done.iter();
    launches.find_map(|(launch, one)| {
        let trial = all.trial(launch);
        let moves_words = all.rubric.task == AssignmentKind::Transpose;
        let (at, load) = Origins::of(trial, one).bypass(moves_words)?;
        Some((*launch, describe(all, trial, at, load)))
    })
}

fn describe(
    all: &LaunchResults,
    trial: &Trial,
    at: &Instruction,
    load: Option<&Instruction>,
) -> String {
    let place = |of: &Instruction| {
        let quoted = quote::line(trial.source(), of);
        quoted.map_or_else(
            || of.text.clone(),
            |quoted| format!("{}, {quoted}", of.opcode),
        )
    };
    let what = match at.kind {
        Kind::Store(_) => format!("stores a value of {}", all.rubric.task.output()),
        _ => "multiplies a value".to_owned(),
    };
    let at = place(at);
    match load.map(place) {
        Some(load) => format!(
            "a thread {what} that it, or another lane, has loaded from global memory into a register, not from shared memory\n  \
             used by {at}\n  loaded by {load}"
        ),
        None => format!(
            "a thread {what} that no register has received from shared memory\n  used by {at}"
        ),
    }
}

/// The loads that a value depends on.
#[derive(Clone, Copy, Default, PartialEq)]
struct Origin {
    /// Whether there is any.
    is_loaded: bool,
    /// One from global memory: its instruction.
    global: Option<usize>,
}

impl Origin {
    fn and(self, other: Self) -> Self {
        Self {
            is_loaded: self.is_loaded || other.is_loaded,
            global: self.global.or(other.global),
        }
    }
}

/// The origin of each register's value in a launch.
struct Origins<'a> {
    instructions: &'a [Instruction],
    launched: &'a Launched,
    registers: BTreeMap<u32, Origin>,
    /// Of what is stored in a thread's own memory, by the address as written.
    own_memory: BTreeMap<&'a str, Origin>,
}

impl<'a> Origins<'a> {
    fn of(trial: &'a Trial, launched: &'a Launched) -> Self {
        let mut all = Self {
            instructions: trial.instructions(),
            launched,
            registers: BTreeMap::new(),
            own_memory: BTreeMap::new(),
        };
        while all.propagate() {}
        all
    }

    /// Whether anything has changed.
    fn propagate(&mut self) -> bool {
        let mut has_changed = false;
        for (index, of) in self.instructions.iter().enumerate() {
            let origin = self.result(index, of);
            let mut add = |known: &mut Origin| {
                let both = known.and(origin);
                has_changed |= both != *known;
                *known = both;
            };
            match &of.kind {
                Kind::Store(to) if is_own(to.space) => {
                    add(self.own_memory.entry(address(of)).or_default());
                }
                Kind::Store(_) | Kind::StoreMatrix { .. } => {}
                _ if of.opcode.starts_with("red.") || of.opcode.starts_with("setp.") => {}
                _ => {
                    for register in of.operands.first().into_iter().flatten() {
                        add(self.registers.entry(*register).or_default());
                    }
                }
            }
        }
        has_changed
    }

    /// The origin of what an instruction loads or computes.
    fn result(&self, index: usize, of: &Instruction) -> Origin {
        match &of.kind {
            Kind::Load(from) if is_own(from.space) => {
                // An index of a local array, or a function's parameter: it is not known which of the stores this reads.
                let unknown = Origin {
                    is_loaded: true,
                    global: None,
                };
                let stored = self.own_memory.get(address(of));
                stored.copied().unwrap_or(unknown)
            }
            Kind::Load(_) | Kind::LoadMatrix { .. } | Kind::Atomic { .. } => {
                let counters = self.launched.run.counters.get(index);
                let sectors = counters.map_or(0, |counters| counters.global_sectors);
                Origin {
                    is_loaded: counters.is_some_and(|counters| counters.executions > 0),
                    global: (sectors > 0).then_some(index),
                }
            }
            _ => self.all(of.operands.iter().skip(1).flatten()),
        }
    }

    fn all<'r>(&self, registers: impl IntoIterator<Item = &'r u32>) -> Origin {
        let known = registers
            .into_iter()
            .filter_map(|one| self.registers.get(one));
        known.fold(Origin::default(), |all, one| all.and(*one))
    }

    /// A value that is multiplied by another loaded one, or stored in global memory, and was loaded from there: where, and
    /// the load. If words are only moved, values that were not loaded at all have been copied by branches.
    fn bypass(&self, moves_words: bool) -> Option<(&'a Instruction, Option<&'a Instruction>)> {
        let all = self.instructions.iter().zip(&self.launched.run.counters);
        let executed = all.filter(|(_, counters)| counters.executions > 0);
        let found = executed.clone().find_map(|(of, counters)| {
            let global = if stores_globally(of, counters) {
                self.operand(of, 1).global
            } else if is_product(of) {
                let [a, b] = [1, 2].map(|number| self.operand(of, number));
                // A multiplication by a constant only converts.
                a.global.or(b.global).filter(|_| a.is_loaded && b.is_loaded)
            } else {
                None
            };
            Some((of, Some(self.instructions.get(global?)?)))
        });
        if found.is_some() || !moves_words {
            return found;
        }
        let mut stored = [0, 0];
        let mut first = None;
        for (of, counters) in executed {
            if stores_globally(of, counters) {
                let is_loaded = self.operand(of, 1).is_loaded;
                stored[usize::from(is_loaded)] += counters.bytes;
                first = first.or((!is_loaded).then_some(of));
            }
        }
        let [unloaded, loaded] = stored;
        Some((first.filter(|_| unloaded > loaded / FEW)?, None))
    }

    fn operand(&self, of: &Instruction, number: usize) -> Origin {
        self.all(of.operands.get(number).into_iter().flatten())
    }
}

fn stores_globally(of: &Instruction, counters: &Counters) -> bool {
    matches!(of.kind, Kind::Store(_)) && counters.global_sectors > 0
}

/// Local memory, and what is passed to a function that is not inlined.
fn is_own(space: Space) -> bool {
    matches!(space, Space::Local | Space::Param)
}

/// `[%SP+4]`, as written.
fn address(of: &Instruction) -> &str {
    let text = of.text.split_once('[').map_or("", |(_, rest)| rest);
    text.split_once(']').map_or("", |(address, _)| address)
}

/// Whether its operands 1 and 2 are multiplied, in floating point.
fn is_product(of: &Instruction) -> bool {
    match &of.kind {
        Kind::Mma(_) | Kind::Wgmma(_) => true,
        Kind::Arithmetic { number, .. } => {
            let is_multiplication = ["mul", "fma", "mad"].iter().any(|word| {
                let rest = of.opcode.strip_prefix(word);
                rest.is_some_and(|rest| rest.starts_with('.'))
            });
            is_multiplication && matches!(number, Number::Half | Number::F32 | Number::F64)
        }
        _ => false,
    }
}
