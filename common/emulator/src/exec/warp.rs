//! One warp: its registers, and its threads in groups that diverge and reconverge.
use super::bulk::Store;
use super::call::CallStacks;
use super::lanes::{LanesB32, LanesB64, lanes};
use super::machine::Machine;
use super::undefined::Undefined;
use super::waits::Begun;
use super::warpgroup::Tracker;
use crate::op::{Address, Class, Reg};
use crate::shadow::Site;

/// Threads of a warp that are at the same instruction.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pub pc: u32,
    pub mask: u32,
    /// The join where these threads reconverge next; `NONE` if it is the end of the kernel.
    pub join: u32,
    pub state: State,
}

/// What a split waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// `bar.sync` with this number.
    Barrier(u32),
    /// A warp-level instruction that these lanes must reach.
    Warp(u32),
    /// An aligned barrier, for the rest of the warp.
    WholeWarp,
    /// `wgmma.wait_group`, until all warps of the warpgroup have issued this many `wgmma`.
    Warpgroup(u64),
    /// `mbarrier.try_wait`, with the number of mbarrier phases that its block had completed and of instructions that
    /// the cluster had executed when the wait began.
    Mbarrier(u64, u64),
    /// `barrier.cluster.wait`
    Cluster,
    /// `setmaxnreg.inc`, with the size of the block's pool at its last test.
    Registers(u32),
}

/// The point where diverged threads reconverge: the immediate post-dominator of their branch.
#[derive(Clone, Debug)]
struct Join {
    pc: u32,
    /// The threads that will reach it, unless they exit first.
    members: u32,
    arrived: u32,
    outer: u32,
    free: bool,
}

pub(super) const NONE: u32 = u32::MAX;

/// A warp's state when it was interrupted, to detect that it spins.
#[derive(Clone, Copy)]
pub(super) struct Watch {
    pub digest: u64,
    /// Number of changes of memory at that time.
    pub activity: u64,
    pub clock: u64,
    pub spins: bool,
    /// How often a later state was compared with this one, and the maximum.
    pub looks: u32,
    pub until: u32,
}

/// One lane's `cp.async` in flight.
pub(super) struct Pending {
    pub lane: usize,
    /// The lane's group that contains it.
    pub group: u32,
    /// Address in shared memory.
    pub to: u32,
    /// Allocation and offset in global memory, if anything is to be read.
    pub source: Option<(usize, usize)>,
    pub bytes: u32,
    /// Bytes to read; the rest are zero.
    pub wanted: u32,
    pub op: usize,
    /// Its number among the warp's copies.
    pub number: u64,
    /// The step of its issue, and the warp's `mma.sync`s before it.
    pub issued: u64,
    pub products: u64,
    /// Its number in [`super::lookahead`].
    pub issue: u32,
}

/// `cp.async.mbarrier.arrive`: arrives at an mbarrier when the lane's earlier copies have landed.
pub(super) struct Signal {
    pub lane: usize,
    /// The number of earlier copies of the warp.
    pub copies: u64,
    pub mbarrier: u32,
    pub op: usize,
}

#[derive(Default)]
pub(super) struct Warp {
    pub b32: Vec<LanesB32>,
    pub b64: Vec<LanesB64>,
    pub predicates: Vec<u32>,
    /// Local memory: [`Machine::local`] bytes for each lane, one lane after the other.
    pub local: Vec<u8>,
    /// Index of the warp in its block.
    pub index: usize,
    /// Its number among the warps of the cluster.
    pub actor: usize,
    /// Threads that have not exited.
    pub alive: u32,
    pub splits: Vec<Split>,
    /// Calls of functions that are not inlined.
    pub calls: CallStacks,
    joins: Vec<Join>,
    /// Asynchronous copies that have not landed, in program order.
    pub pending: Vec<Pending>,
    /// Groups of copies that each lane has committed.
    pub commits: [u32; 32],
    /// Accesses of `wgmma` in flight to registers; tracked under `sanitize`.
    pub matrices: Tracker,
    /// Undefined bits of its registers and local memory; tracked under `sanitize`.
    pub undefined: Undefined,
    /// The number of copies so far, and the signals for their completion.
    pub copies: u64,
    pub signals: Vec<Signal>,
    /// Bulk copies to global memory that no thread has waited for, and the groups that each lane has committed.
    pub stores: Vec<Store>,
    pub bulk_commits: [u32; 32],
    /// Lanes whose `try_wait` has timed out.
    pub expired: u32,
    /// `try_wait`s that have already returned false once before their phase was complete, where that is enabled.
    pub hesitated: Vec<usize>,
    /// Waits at mbarriers that have not ended.
    pub waits: Vec<Begun>,
    /// Lanes that have arrived at the cluster's barrier, in this phase and in the last.
    pub cluster_arrived: u32,
    pub cluster_released: u32,
    /// Number of executed instructions, and of `mma.sync` among them.
    pub clock: u64,
    pub products: u64,
    /// Its state when it was interrupted in a loop.
    pub watched: Option<Watch>,
    /// The start of loops without effect: the number of changes of memory, and its clock, at that time.
    pub quiet: Option<(u64, u64)>,
    /// The next backward branch is not taken: no thread will write what this loop polls.
    pub leaves_loop: bool,
}

impl Warp {
    pub fn new(machine: &Machine<'_>) -> Self {
        let program = machine.program;
        Self {
            b32: vec![LanesB32::ZERO; program.b32],
            b64: vec![LanesB64::ZERO; program.b64],
            predicates: vec![0; program.predicates],
            local: vec![0; machine.local as usize * 32],
            ..Self::default()
        }
    }

    /// Keeps only registers and local memory. Their initial values are undefined on a GPU, and always the same here.
    fn cleared(mut self) -> Self {
        self.b32.fill(LanesB32::POISON);
        self.b64.fill(LanesB64::POISON);
        self.predicates.fill(0x5555_5555);
        self.local.fill(0x7f);
        Self {
            b32: self.b32,
            b64: self.b64,
            predicates: self.predicates,
            local: self.local,
            undefined: self.undefined,
            ..Self::default()
        }
    }

    /// Prepares the warp for a block: all registers are poisoned except the fixed ones.
    pub fn reset(&mut self, machine: &Machine<'_>, actor: usize, block: [u32; 3]) {
        let index = actor % machine.warps;
        let threads = machine.threads - index * 32;
        let alive = u32::MAX >> 32usize.saturating_sub(threads);
        *self = Self {
            index,
            actor,
            alive,
            matrices: Tracker::new(machine),
            ..std::mem::take(self).cleared()
        };
        self.undefined.reset(machine);
        self.split(0, alive, NONE, State::Ready);
        for (register, &fixed) in self.b32.iter_mut().zip(&machine.program.fixed_b32) {
            register.0 = machine.fixed(fixed, index, block).map(|value| value as u32);
        }
        for (register, &fixed) in self.b64.iter_mut().zip(&machine.program.fixed_b64) {
            register.0 = machine.fixed(fixed, index, block);
        }
    }

    #[inline(always)]
    pub fn get(&self, reg: Reg, lane: usize) -> u64 {
        match reg.class {
            Class::B32 => u64::from(self.b32[reg.index as usize].0[lane]),
            Class::B64 => self.b64[reg.index as usize].0[lane],
            Class::Predicate => u64::from(self.predicates[reg.index as usize] >> lane & 1),
        }
    }

    /// One lane's address in 64 bits.
    pub fn address(&self, at: Address, lane: usize) -> u64 {
        self.get(at.base, lane).wrapping_add_signed(at.offset)
    }

    #[inline(always)]
    pub fn set(&mut self, reg: Reg, lane: usize, value: u64) {
        match reg.class {
            Class::B32 => self.b32[reg.index as usize].0[lane] = value as u32,
            Class::B64 => self.b64[reg.index as usize].0[lane] = value,
            Class::Predicate => {
                let p = &mut self.predicates[reg.index as usize];
                *p = *p & !(1 << lane) | ((value & 1) as u32) << lane;
            }
        }
    }

    /// Adds a split for threads that diverge.
    pub fn split(&mut self, pc: u32, mask: u32, join: u32, state: State) {
        self.splits.push(Split {
            pc,
            mask,
            join,
            state,
        });
    }

    pub fn join_pc(&self, join: u32) -> u32 {
        self.joins.get(join as usize).map_or(NONE, |join| join.pc)
    }

    /// The join for threads `mask` that diverge now and reconverge at `rejoin`, within `outer`.
    pub fn open_join(&mut self, reconvergence: u32, mask: u32, outer: u32) -> u32 {
        // Threads of a loop diverge repeatedly with the same reconvergence point.
        if reconvergence == NONE || self.join_pc(outer) == reconvergence {
            return outer;
        }
        let join = Join {
            pc: reconvergence,
            members: mask,
            arrived: 0,
            outer,
            free: false,
        };
        match self.joins.iter().position(|join| join.free) {
            Some(slot) => {
                self.joins[slot] = join;
                slot as u32
            }
            None => {
                self.joins.push(join);
                self.joins.len() as u32 - 1
            }
        }
    }

    /// Threads `mask` have reached their join. Closes it if all members have.
    pub fn arrive(&mut self, join: u32, mask: u32) {
        self.joins[join as usize].arrived |= mask;
        self.close_join(join);
    }

    /// Lets all threads of a complete join continue.
    fn close_join(&mut self, index: u32) {
        let join = &mut self.joins[index as usize];
        if join.free || join.arrived != join.members {
            return;
        }
        join.free = true;
        let (pc, members, outer) = (join.pc, join.members, join.outer);
        if members != 0 {
            self.split(pc, members, outer, State::Ready);
        }
    }

    /// Threads `mask` have exited: no join waits for them any more.
    pub fn exit(&mut self, mask: u32) {
        self.alive &= !mask;
        // Splits that waited for these threads may be complete now.
        for split in &mut self.splits {
            if matches!(split.state, State::Warp(_) | State::WholeWarp) {
                split.state = State::Ready;
            }
        }
        for index in 0..self.joins.len() {
            let join = &mut self.joins[index];
            if !join.free && join.members & mask != 0 {
                join.members &= !mask;
                self.close_join(index as u32);
            }
        }
    }

    /// Whether it loops without effect as long as the number of changes of memory stays at `activity`.
    pub fn spins(&self, activity: u64) -> bool {
        self.watched
            .is_some_and(|watch| watch.spins && watch.activity == activity)
    }

    /// Whether none of its threads can continue: they wait or have exited.
    pub fn is_blocked(&self) -> bool {
        (!self.has_joining() || self.waits_outside())
            && self.splits.iter().all(|split| split.state != State::Ready)
    }

    /// Whether threads of it wait for an event outside the warp: threads that wait for them at a join should
    /// then keep waiting.
    pub fn waits_outside(&self) -> bool {
        let outside = |split: &Split| {
            matches!(
                split.state,
                State::Mbarrier(..) | State::Cluster | State::Registers(_)
            )
        };
        self.splits.iter().any(outside)
    }

    /// Whether threads wait at a join for others of their warp.
    pub fn has_joining(&self) -> bool {
        self.joins
            .iter()
            .any(|join| !join.free && join.arrived != 0)
    }

    /// Lets threads that wait at joins continue alone: the others cannot arrive before they do.
    /// Threads of a warp make progress independently since Volta; reconvergence is optional.
    pub fn release_joins(&mut self) {
        for index in 0..self.joins.len() {
            let join = &mut self.joins[index];
            if !join.free && join.arrived != 0 {
                let (pc, arrived, outer) = (join.pc, join.arrived, join.outer);
                join.members &= !arrived;
                join.arrived = 0;
                self.split(pc, arrived, outer, State::Ready);
                self.close_join(index as u32);
            }
        }
    }

    /// The lanes that are at `pc` in `state`, and `own`, if they include all lanes of `mask` that have not exited.
    pub fn gather(&self, pc: u32, state: State, mask: u32, own: u32) -> Option<u32> {
        let mut there = own;
        for split in &self.splits {
            if split.pc == pc && split.state == state {
                there |= split.mask;
            }
        }
        let wanted = mask & self.alive;
        (there & wanted == wanted).then_some(there)
    }

    /// Unites the splits that waited in `state` at `pc` with the lanes `mask`, which arrived last.
    /// Lanes with another join than `join` continue alone from the next operation. Returns the
    /// united lanes and their join.
    pub fn unite(&mut self, pc: u32, state: State, mut mask: u32, join: u32) -> (u32, u32) {
        let mut others = 0;
        for split in &self.splits {
            if split.pc == pc && split.state == state {
                others |= split.mask;
            }
        }
        if mask | others == self.alive {
            // All threads are here, so no join has threads left to wait for.
            self.splits.clear();
            self.joins.clear();
            return (self.alive, NONE);
        }
        self.splits.retain_mut(|split| {
            let here = split.pc == pc && split.state == state;
            if here && split.join == join {
                mask |= split.mask;
                return false;
            }
            if here {
                (split.pc, split.state) = (pc + 1, State::Ready);
            }
            true
        });
        (mask, join)
    }

    /// A digest of all state except memory that determines what the warp does next.
    pub fn digest(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |x: u64| hash = (hash ^ x).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        let b32 = self.b32.iter().flat_map(|register| register.0);
        b32.for_each(|x| mix(x.into()));
        let b64 = self.b64.iter().flat_map(|register| register.0);
        b64.for_each(&mut mix);
        self.predicates.iter().for_each(|&p| mix(p.into()));
        for split in &self.splits {
            mix(u64::from(split.pc) << 32 | u64::from(split.mask));
        }
        self.calls.state().for_each(&mut mix);
        hash
    }

    /// Linear thread index in the block of each lane.
    pub fn thread(&self, lane: usize) -> usize {
        self.index * 32 + lane
    }

    /// A lane at an operation.
    pub fn site(&self, op: usize, lane: usize) -> Site {
        Site {
            warp: self.actor,
            lane,
            op,
        }
    }

    /// The first thread of a mask, for a finding.
    pub fn first_thread(&self, mask: u32) -> usize {
        self.thread(lanes(mask).next().unwrap_or(0))
    }
}
