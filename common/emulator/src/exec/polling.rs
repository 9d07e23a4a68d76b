//! Loops that only the end of an mbarrier's phase can leave, whatever they count and whatever clock they read.
use std::collections::{BTreeMap, BTreeSet};

use super::lanes::lanes;
use super::warp::{Split, State, Warp};
use crate::def_use::DefUse;
use crate::op::{Class, Code, ColdOp, Compare, LaneOp, Logic, Op, Reg, SyncOp};

/// Longer loops are not examined.
const STEPS: usize = 256;

type Key = (Class, u32);
/// The registers that a path has defined, and their values where these are known.
type Values = BTreeMap<Key, Option<u64>>;

/// One lane that waits.
struct Poll<'a> {
    ops: &'a [Op],
    warp: &'a Warp,
    lane: usize,
    /// Registers that the loop changes.
    changed: BTreeSet<Key>,
}

impl Warp {
    /// Whether these lanes would do nothing but repeat their wait as long as it fails.
    pub fn only_repeats(&self, ops: &[Op], split: &Split) -> bool {
        !matches!(split.state, State::Mbarrier(..))
            || self.only_repeats_at(ops, split.mask, split.pc as usize)
    }

    /// The same of lanes whose wait at `at` has failed.
    pub fn only_repeats_at(&self, ops: &[Op], mask: u32, at: usize) -> bool {
        lanes(mask).all(|lane| {
            let mut poll = Poll {
                ops,
                warp: self,
                lane,
                changed: BTreeSet::new(),
            };
            // What one path changes is unknown to all others.
            loop {
                let known = poll.changed.len();
                if !poll.returns(at) {
                    return false;
                }
                if poll.changed.len() == known {
                    return true;
                }
            }
        })
    }
}

impl Poll<'_> {
    /// Whether each path from a wait that has failed leads back to it without any effect.
    fn returns(&mut self, start: usize) -> bool {
        let Code::Sync(SyncOp::MbarrierWait(wait)) = &self.ops[start].code else {
            return false;
        };
        if self.ops[start].guard.is_some() {
            return false;
        }
        let failed = Values::from([((Class::Predicate, wait.d), Some(0))]);
        let (mut open, mut seen) = (vec![(start + 1, failed)], BTreeSet::new());
        while let Some((pc, mut values)) = open.pop() {
            if pc == start {
                self.changed.extend(values.into_keys());
                continue;
            }
            if !seen.insert((pc, values.clone())) {
                continue;
            }
            let Some(op) = self.ops.get(pc) else {
                return false;
            };
            if seen.len() > STEPS {
                return false;
            }
            let guard = match op.guard {
                None => Some(true),
                Some((p, negated)) => {
                    let p = self.value(&values, Class::Predicate, p);
                    p.map(|p| (p != 0) != negated)
                }
            };
            if let Code::Branch { target, .. } = op.code {
                if guard != Some(false) {
                    open.push((target as usize, values.clone()));
                }
                if guard != Some(true) {
                    open.push((pc + 1, values));
                }
                continue;
            }
            if guard != Some(false) {
                let Code::Lane(lane) = &op.code else {
                    return false;
                };
                if has_effect(lane) {
                    return false;
                }
                let result = self.result(&values, lane).filter(|_| guard.is_some());
                op.clone().registers(|how, class, reg| {
                    if how == DefUse::Def {
                        values.insert((class, *reg), result);
                    }
                });
            }
            open.push((pc + 1, values));
        }
        let polled = [wait.address.base, wait.phase];
        let changes = |reg: &Reg| self.changed.contains(&(reg.class, reg.index));
        !polled.iter().any(changes)
    }

    fn value(&self, values: &Values, class: Class, index: u32) -> Option<u64> {
        match values.get(&(class, index)) {
            Some(value) => *value,
            None if self.changed.contains(&(class, index)) => None,
            None => Some(self.warp.get(Reg { class, index }, self.lane)),
        }
    }

    /// The result of the operations that turn the outcome of a wait into the condition of a branch.
    fn result(&self, values: &Values, op: &LaneOp) -> Option<u64> {
        let word = |index| self.value(values, Class::B32, index);
        let bit = |index| self.value(values, Class::Predicate, index);
        match *op {
            LaneOp::MoveB32([_, a]) => word(a),
            LaneOp::Select([_, a, b, p]) => word(if bit(p)? != 0 { a } else { b }),
            LaneOp::Compare(Compare::Eq, [_, a, b]) => Some((word(a)? == word(b)?).into()),
            LaneOp::Compare(Compare::Ne, [_, a, b]) => Some((word(a)? != word(b)?).into()),
            LaneOp::Logic(Logic::Not, [_, a, _], _) => Some(bit(a)? ^ 1),
            LaneOp::Logic(Logic::Move, [_, a, _], _) => bit(a),
            _ => None,
        }
    }
}

/// Whether an operation does more than to define registers.
fn has_effect(op: &LaneOp) -> bool {
    match op {
        LaneOp::Store(_)
        | LaneOp::Atomic(_)
        | LaneOp::AsyncCopy(_)
        | LaneOp::AsyncCommit
        | LaneOp::AsyncWait { .. } => true,
        LaneOp::Cold(op) => !matches!(
            **op,
            ColdOp::Scalar(..)
                | ColdOp::Lop3(..)
                | ColdOp::Pack(..)
                | ColdOp::Unpack(..)
                | ColdOp::Clock { .. }
                | ColdOp::ActiveMask { .. }
                | ColdOp::Nothing
        ),
        LaneOp::B32(..)
        | LaneOp::MadLo(_)
        | LaneOp::FmaF32(_)
        | LaneOp::B64(..)
        | LaneOp::ShiftB64(..)
        | LaneOp::MadWide(..)
        | LaneOp::Extend(..)
        | LaneOp::Truncate(_)
        | LaneOp::MoveB32(_)
        | LaneOp::MoveB64(_)
        | LaneOp::F16ToF32(_)
        | LaneOp::F32ToF16(_)
        | LaneOp::F32sToHalves(..)
        | LaneOp::Compare(..)
        | LaneOp::Select(_)
        | LaneOp::Logic(..)
        | LaneOp::Load(_) => false,
    }
}
