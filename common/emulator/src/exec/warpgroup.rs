//! The state that the four warps of a warpgroup share about `wgmma`, and the checks of its registers.
use std::collections::VecDeque;

use super::block::Execution;
use super::machine::Machine;
use super::warp::Warp;
use crate::MatrixProduct;
use crate::finding::{Finding, FindingKind, WgmmaOrder};
use crate::tensor::{Columns, Rows};

/// Warps of a warpgroup: they are contiguous, and the number of the first is a multiple of 4.
pub(super) const WARPS: usize = 4;

/// As many `wgmma` keep their memory for later ones.
const SPARE: usize = 8;

/// The `wgmma` of four warps, in the order in which each warp executes them.
#[derive(Default)]
pub(super) struct Warpgroup {
    /// The `wgmma` that not all warps have finished.
    pub queue: VecDeque<Issued>,
    /// How many `wgmma` all warps have finished: the number of the first in the queue.
    first: u64,
    /// How many `wgmma` each warp has issued, and how many of them have landed in its registers.
    pub issued: [u64; WARPS],
    pub landed: [u64; WARPS],
    /// How many `wgmma` each warp had issued at each commit that it has not waited for.
    pub commits: [VecDeque<u64>; WARPS],
    /// Memory for the operands of the next ones.
    pub spare: Vec<Operands>,
}

/// One `wgmma` in flight.
pub(super) struct Issued {
    pub op: usize,
    pub descriptors: Descriptors,
    /// Its clock in the sanitizer.
    pub clock: u32,
    /// The operands read from shared memory. They are read as late as possible, but once for all warps.
    pub operands: Option<Operands>,
}

/// Arguments that must be the same in the four warps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptors {
    /// `None` if A is in registers.
    pub a: Option<u64>,
    pub b: u64,
    pub scale_d: bool,
}

/// Operands in shared memory, gathered: A as the rows of each warp, unless it is in registers; B as panels of 8 columns.
#[derive(Default)]
pub(super) struct Operands {
    pub a: Vec<Rows>,
    pub b: Vec<Columns>,
}

impl Warpgroup {
    /// The entry with this number, if it is not finished.
    pub fn entry(&mut self, number: u64) -> Option<&mut Issued> {
        let at = number.checked_sub(self.first)?;
        self.queue.get_mut(at as usize)
    }

    /// How many `wgmma` have landed in a warp when its wait for all groups but the latest `pending` ends; `None` if no
    /// group is waited for.
    pub fn end_of_wait(&self, warp: usize, pending: u32) -> Option<u64> {
        let commits = &self.commits[warp];
        let waited_for = commits.len().checked_sub(pending as usize)?;
        commits.get(waited_for.checked_sub(1)?).copied()
    }

    /// The operations whose results land in a warp when that wait ends.
    pub fn completed_by_wait(&self, warp: usize, pending: u32) -> impl Iterator<Item = usize> {
        let end = self.end_of_wait(warp, pending).unwrap_or(0);
        let numbers = self.landed[warp]..end;
        let entries = numbers.filter_map(|at| self.queue.get((at - self.first) as usize));
        entries.map(|issued| issued.op)
    }

    /// Whether every warp has issued `count`.
    pub fn all_issued(&self, count: u64) -> bool {
        self.issued.iter().all(|&issued| issued >= count)
    }

    /// Removes the `wgmma` that have landed in every warp.
    pub fn forget(&mut self) {
        let done = self.landed.iter().copied().min().unwrap_or(0);
        while self.first < done
            && let Some(issued) = self.queue.pop_front()
        {
            self.first += 1;
            if self.spare.len() < SPARE {
                self.spare.extend(issued.operands);
            }
        }
    }
}

/// Describes the warps that have not issued a `wgmma` that another one waits for.
pub(super) fn missing(warp: &Warp, cx: &Execution<'_>) -> String {
    let first = warp.index / WARPS * WARPS;
    let Some(group) = cx.block.warpgroups.get(warp.index / WARPS) else {
        return String::new();
    };
    let own = group.issued[warp.index % WARPS];
    let behind = (first..)
        .zip(group.issued)
        .filter(|&(_, issued)| issued < own);
    let names = behind.map(|(i, issued)| format!("warp {i} has executed {issued} of {own} wgmma"));
    names.collect::<Vec<_>>().join(", ")
}

/// Reports every `wgmma` that its warps did not wait for before they exited.
pub(super) fn report_unfinished(cx: &mut Execution<'_>) {
    if !cx.machine.options.sanitize {
        return;
    }
    let step = cx.current_step();
    for (number, group) in cx.block.warpgroups.iter_mut().enumerate() {
        for (at, issued) in (group.first..).zip(std::mem::take(&mut group.queue)) {
            let unfinished = |&w: &usize| group.landed[w] <= at && at < group.issued[w];
            let Some(warp) = (0..WARPS).find(unfinished) else {
                continue;
            };
            let committed = group.commits[warp].iter().any(|&count| at < count);
            let reason = match committed {
                true => {
                    "nobody waits for it: its group is committed, but wgmma.wait_group is missing"
                }
                false => {
                    "it never lands: wgmma.commit_group is missing, and a wait covers only committed groups"
                }
            };
            let thread = 32 * (number * WARPS + warp);
            let place = cx.machine.location(issued.op, thread, cx.block.index);
            let kind = FindingKind::UnorderedWgmma(WgmmaOrder::Wait, reason.into());
            let finding = Finding::new(kind, place);
            cx.block.findings.add(Finding { step, ..finding });
        }
    }
}

/// The registers of a warp that some `wgmma` names; empty without `sanitize`.
#[derive(Default)]
pub(super) struct Tracker {
    registers: Vec<Tracked>,
    /// How many `wgmma` have landed in this warp.
    landed: u64,
}

#[derive(Clone, Copy, Default)]
struct Tracked {
    last: LastAccess,
    /// The last `wgmma` that used it, counted from 1, and its operation.
    taken: u64,
    op: usize,
}

/// The last access to a register since the last `wgmma.fence`.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum LastAccess {
    /// By an ordinary instruction, or there has been no fence at all.
    #[default]
    Ordinary,
    /// The fence itself.
    Fence,
    /// By a `wgmma` of this shape, as an accumulator.
    Accumulator(MatrixProduct),
    /// By a `wgmma`, as its A.
    A,
}

impl Tracker {
    pub fn new(machine: &Machine<'_>) -> Self {
        let tracked = machine.options.sanitize && !machine.program.watched.is_empty();
        let count = if tracked { machine.program.b32 } else { 0 };
        Self {
            registers: vec![Tracked::default(); count],
            landed: 0,
        }
    }

    pub fn fence(&mut self) {
        self.registers
            .iter_mut()
            .for_each(|reg| reg.last = LastAccess::Fence);
    }

    pub fn land(&mut self, landed: u64) {
        self.landed = landed;
    }

    /// An ordinary instruction accesses a register. Returns the `wgmma` in flight that uses it, if any.
    pub fn touch(&mut self, reg: u32) -> Option<usize> {
        let landed = self.landed;
        let reg = self.registers.get_mut(reg as usize)?;
        reg.last = LastAccess::Ordinary;
        (reg.taken > landed).then_some(reg.op)
    }

    /// The `wgmma` of this number and operation uses its accumulators, and A if that is in registers. Returns what is
    /// wrong with that, if anything.
    pub fn take(
        &mut self,
        number: u64,
        op: usize,
        (d, product): (&[u32], MatrixProduct),
        a: &[u32],
    ) -> Option<Unordered> {
        let mut wrong = None;
        if self.registers.is_empty() {
            return None;
        }
        for &reg in d {
            let reg = &mut self.registers[reg as usize];
            match reg.last {
                LastAccess::Fence => {}
                LastAccess::Accumulator(before) if is_same_shape(before, product) => {}
                LastAccess::Accumulator(before) => wrong = Some(Unordered::Shape(before)),
                LastAccess::Ordinary | LastAccess::A => wrong = Some(Unordered::Fence),
            }
            (reg.last, reg.taken, reg.op) = (LastAccess::Accumulator(product), number + 1, op);
        }
        for &reg in a {
            let reg = &mut self.registers[reg as usize];
            match reg.last {
                LastAccess::Accumulator(_) if reg.taken > self.landed => {
                    wrong = Some(Unordered::InFlight(reg.op));
                }
                LastAccess::Fence | LastAccess::A => {}
                LastAccess::Ordinary | LastAccess::Accumulator(_) => wrong = Some(Unordered::Fence),
            }
            (reg.last, reg.taken, reg.op) = (LastAccess::A, number + 1, op);
        }
        wrong
    }
}

/// Whether accumulators have the same shape and format, and so the same layout in registers, for any factors.
fn is_same_shape(a: MatrixProduct, b: MatrixProduct) -> bool {
    (a.m, a.n, a.sums) == (b.m, b.n, b.sums)
}

/// Why a `wgmma` may not use its registers.
pub(super) enum Unordered {
    /// No fence since they were accessed.
    Fence,
    /// No fence since they were used as accumulators of another shape.
    Shape(MatrixProduct),
    /// Its A has not been computed yet: it is the accumulator of this operation.
    InFlight(usize),
}
