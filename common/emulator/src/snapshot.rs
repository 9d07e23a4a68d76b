//! The state of a block when its warps reach given instructions: shared memory and operands.
use std::collections::{BTreeMap, BTreeSet};

use crate::banks::LANES;
use crate::op::Reg;

/// What to record of one block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotRequest {
    /// Its `blockIdx`.
    pub block: [u32; 3],
    /// Which execution by each warp: 1 is the first.
    pub execution: u64,
    /// Record shared memory when the last warp reaches one of these instructions, given as indices into
    /// [`crate::Function::instructions`]. Executions are counted over all of them, because they may be copies of one
    /// instruction in an unrolled loop.
    pub shared_at: Vec<usize>,
    /// Record the operands of these instructions, given as indices; executions are counted for each.
    pub operands_of: Vec<usize>,
    /// How many of the block's first warp instructions to record, in the order in which the emulator executed them.
    pub steps: usize,
    /// Keep the operands of these, too.
    pub operands_of_steps: bool,
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// `None` if no warp executed the instruction that often.
    pub shared: Option<SharedSnapshot>,
    /// In the order of execution.
    pub operands: Vec<OperandSnapshot>,
    /// In the order of execution.
    pub steps: Vec<StepSnapshot>,
}

/// A warp instruction that was executed, and the changes of shared memory before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepSnapshot {
    /// Index into [`crate::Function::instructions`].
    pub instruction: u32,
    /// The warp's number in its block.
    pub warp: u32,
    /// Lanes whose guard was true.
    pub active: u32,
    /// Words of shared memory that changed between the start of the previous step and the start of this one: the offset
    /// in bytes, as in [`crate::SharedVariable::start`], and the new value. They were written by the previous step, or
    /// by a copy that has completed since.
    pub changed: Vec<(u32, u32)>,
    /// Bulk copies and asynchronous stores that have landed since the step before.
    pub landed: Vec<Landed>,
    /// Where its operands are in [`Snapshot::operands`], if they were requested and it has some.
    pub operands: Option<usize>,
}

/// A bulk copy, or a `st.async`, whose bytes have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landed {
    /// Where they are in the block's shared memory, counted as those that have changed.
    pub at: u32,
    /// Up to how many bytes further.
    pub bytes: u32,
    /// The address of the mbarrier that counts them.
    pub mbarrier: u32,
}

/// A block's shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedSnapshot {
    /// The warps that had reached the instruction, in order of arrival; the last one was about to execute it.
    pub warps: Vec<u32>,
    /// From the first byte that a kernel can use, at which [`crate::SharedVariable::start`] is 0.
    pub bytes: Vec<u8>,
}

/// One execution of an instruction by a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandSnapshot {
    /// Index into [`crate::Function::instructions`].
    pub instruction: usize,
    /// The warp's number in its block.
    pub warp: u32,
    /// Lanes whose guard was true.
    pub active: u32,
    /// The operands that it read, with their values before, then those that it wrote, with their values after.
    /// Results of `wgmma` are those of the `wgmma.wait_group` that completes it.
    pub operands: Vec<Operand>,
}

/// One register of an instruction, or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// `address` (of two, that in shared memory), `value`, `coordinate` of a tensor, or `a` to `d` of a matrix product.
    pub role: &'static str,
    /// Its number among those of this role.
    pub number: usize,
    /// Size in bytes.
    pub bytes: u32,
    /// The value in each lane.
    pub lanes: [u64; LANES],
}

/// A role, a number in it, bytes, and the register.
pub(crate) type NamedRegister = (&'static str, usize, u32, Reg);

/// Collects what was requested.
#[derive(Clone)]
pub(crate) struct Inspector {
    pub request: SnapshotRequest,
    /// Executions so far, by instruction and warp.
    counts: BTreeMap<(usize, u32), u64>,
    /// Executions of all instructions in `shared_at`, by warp.
    shared_counts: BTreeMap<u32, u64>,
    /// The last execution that was counted.
    last: Option<(usize, u32)>,
    warps: BTreeSet<u32>,
    pub found: Snapshot,
    /// Shared memory at the last step.
    memory: Vec<u32>,
    /// Changes before a step that was taken back.
    carried: Vec<(u32, u32)>,
    /// Copies that have landed since the last step.
    landed: Vec<Landed>,
    /// Registers that the last instruction of a warp writes, to be read before its next one. By warp: the index into
    /// the operands, and the registers with their roles and bytes.
    pub pending: Vec<(u32, (usize, Vec<NamedRegister>))>,
}

/// What is to be recorded now.
pub(crate) struct Due {
    pub shared: bool,
    pub operands: bool,
}

impl Inspector {
    pub fn new(request: &SnapshotRequest) -> Self {
        Self {
            request: request.clone(),
            counts: BTreeMap::new(),
            shared_counts: BTreeMap::new(),
            last: None,
            warps: BTreeSet::new(),
            found: Snapshot::default(),
            memory: Vec::new(),
            carried: Vec::new(),
            landed: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Counts an execution.
    pub fn count(&mut self, instruction: usize, warp: u32) -> Due {
        self.last = Some((instruction, warp));
        let is_next = |count: &mut u64| {
            *count += 1;
            *count == self.request.execution
        };
        let (at, of) = (&self.request.shared_at, &self.request.operands_of);
        Due {
            shared: at.contains(&instruction)
                && is_next(self.shared_counts.entry(warp).or_default()),
            operands: of.contains(&instruction)
                && is_next(self.counts.entry((instruction, warp)).or_default()),
        }
    }

    /// A warp is about to execute an instruction. Whether its operands are to be kept.
    pub fn step(&mut self, instruction: u32, warp: u32, active: u32, shared: &[u32]) -> bool {
        if self.found.steps.len() >= self.request.steps {
            return false;
        }
        self.memory.resize(shared.len(), 0);
        let mut changed = std::mem::take(&mut self.carried);
        for (index, (before, &now)) in self.memory.iter_mut().zip(shared).enumerate() {
            if *before != now {
                *before = now;
                changed.push((4 * index as u32, now));
            }
        }
        self.found.steps.push(StepSnapshot {
            instruction,
            warp,
            active,
            changed,
            landed: std::mem::take(&mut self.landed),
            operands: None,
        });
        self.request.operands_of_steps && active != 0
    }

    /// Keeps operands; those that are written are read before the warp's next instruction. `of_step`: they are those of the
    /// last step.
    pub fn keep_operands(
        &mut self,
        operands: OperandSnapshot,
        written: Vec<NamedRegister>,
        of_step: bool,
    ) {
        let index = self.found.operands.len();
        if of_step && let Some(step) = self.found.steps.last_mut() {
            step.operands = Some(index);
        }
        self.take_pending(operands.warp);
        self.pending.push((operands.warp, (index, written)));
        self.found.operands.push(operands);
    }

    /// The operands of a warp that are still to be read.
    pub fn take_pending(&mut self, warp: u32) -> Option<(usize, Vec<NamedRegister>)> {
        let index = self.pending.iter().position(|(of, _)| *of == warp)?;
        Some(self.pending.swap_remove(index).1)
    }

    /// Something has landed.
    pub fn land(&mut self, landed: Landed) {
        self.landed.push(landed);
    }

    /// The number of the step that is executed now, or was last; none if it is not kept.
    pub fn current_step(&self) -> Option<usize> {
        let steps = self.found.steps.len();
        steps.checked_sub(1).filter(|_| steps < self.request.steps)
    }

    /// Takes the last execution back: it will be repeated.
    pub fn take_back(&mut self) {
        let Some((instruction, warp)) = self.last.take() else {
            return;
        };
        let is_it =
            |one: &StepSnapshot| one.instruction as usize == instruction && one.warp == warp;
        if self.found.steps.last().is_some_and(is_it)
            && let Some(step) = self.found.steps.pop()
        {
            self.carried = step.changed;
            self.landed = step.landed;
            if let Some(operands) = step.operands {
                self.take_pending(warp);
                self.found.operands.truncate(operands);
            }
        }
        if self.request.shared_at.contains(&instruction)
            && let Some(count) = self.shared_counts.get_mut(&warp)
        {
            *count -= 1;
        }
        if let Some(count) = self.counts.get_mut(&(instruction, warp)) {
            *count -= 1;
            if *count + 1 == self.request.execution {
                self.take_pending(warp);
                let is_it =
                    |one: &OperandSnapshot| one.instruction == instruction && one.warp == warp;
                self.found.operands.retain(|one| !is_it(one));
            }
        }
    }

    /// A warp has arrived: replaces the recorded memory by its current state.
    pub fn keep_shared(&mut self, warp: u32, bytes: impl Iterator<Item = u8>) {
        self.warps.insert(warp);
        self.found.shared = Some(SharedSnapshot {
            warps: self.warps.iter().copied().collect(),
            bytes: bytes.collect(),
        });
    }

    /// Merges the results of another thread, which ran other blocks.
    pub fn add(&mut self, other: Self) {
        if other.found != Snapshot::default() {
            *self = other;
        }
    }
}
