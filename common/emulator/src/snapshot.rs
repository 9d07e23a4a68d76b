//! What a block holds when its warps come to some instructions: shared memory, and the operands of each.
use std::collections::{BTreeMap, BTreeSet};

use crate::banks::LANES;
use crate::op::Reg;

/// What to keep of one block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotRequest {
    /// Its `blockIdx`.
    pub block: [u32; 3],
    /// Which execution by each warp: 1 is the first.
    pub execution: u64,
    /// Keep shared memory as it is when the last warp comes to one of these instructions, indices into
    /// [`crate::Function::instructions`]. Executions are counted over all of them: they may be copies of one, of a loop that
    /// the compiler unrolled.
    pub shared_at: Vec<usize>,
    /// Keep the operands of these, by such indices; executions are counted for each.
    pub operands_of: Vec<usize>,
}

/// What was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// None if no warp came to the instruction as often.
    pub shared: Option<SharedSnapshot>,
    /// In the order of execution.
    pub operands: Vec<OperandSnapshot>,
}

/// A block's shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedSnapshot {
    /// The warps that had come to the instruction, in their order: the last of them was just about to execute it.
    pub warps: Vec<u32>,
    /// From the first byte that a kernel has, which is where [`crate::SharedVariable::start`] counts from.
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
    /// Those that it read, as they were before, then those that it wrote, as they were after. What `wgmma` writes, it
    /// writes later, so that it is not here.
    pub operands: Vec<Operand>,
}

/// One register of an instruction, or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// `address`, `value`, or `a` to `d` of a matrix product.
    pub role: &'static str,
    /// Its number among those of this role.
    pub number: usize,
    /// Bytes that count.
    pub bytes: u32,
    /// What each lane holds.
    pub lanes: [u64; LANES],
}

/// A role, a number in it, bytes, and the register.
pub(crate) type NamedRegister = (&'static str, usize, u32, Reg);

/// Collects what was asked for.
#[derive(Clone)]
pub(crate) struct Inspector {
    pub request: SnapshotRequest,
    /// Executions so far, by instruction and warp.
    counts: BTreeMap<(usize, u32), u64>,
    /// Of all that shared memory is kept at, by warp.
    shared_counts: BTreeMap<u32, u64>,
    /// The last one that was counted.
    last: Option<(usize, u32)>,
    warps: BTreeSet<u32>,
    pub found: Snapshot,
    /// Registers that the last instruction of a warp writes: they are read before its next one. By warp, the index into
    /// the operands, and the registers with their roles and bytes.
    pub pending: BTreeMap<u32, (usize, Vec<NamedRegister>)>,
}

/// What is to be kept now.
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
            pending: BTreeMap::new(),
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

    /// Takes the last execution back: it will come again.
    pub fn take_back(&mut self) {
        let Some((instruction, warp)) = self.last.take() else {
            return;
        };
        if self.request.shared_at.contains(&instruction)
            && let Some(count) = self.shared_counts.get_mut(&warp)
        {
            *count -= 1;
        }
        if let Some(count) = self.counts.get_mut(&(instruction, warp)) {
            if *count == self.request.execution {
                self.pending.remove(&warp);
                let is_it =
                    |one: &OperandSnapshot| one.instruction == instruction && one.warp == warp;
                self.found.operands.retain(|one| !is_it(one));
            }
            *count -= 1;
        }
    }

    /// A warp has come: memory is kept as it is now, in place of what another warp found.
    pub fn keep_shared(&mut self, warp: u32, bytes: impl Iterator<Item = u8>) {
        self.warps.insert(warp);
        self.found.shared = Some(SharedSnapshot {
            warps: self.warps.iter().copied().collect(),
            bytes: bytes.collect(),
        });
    }

    /// Takes over what another thread has found, which ran other blocks.
    pub fn add(&mut self, other: Self) {
        if other.last.is_some() {
            *self = other;
        }
    }
}
