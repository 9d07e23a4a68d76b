//! Undefined values, which no instruction has written, are traced through registers and local memory, and reported
//! where they matter: in an address, a branch, a store or a matrix product. As in Valgrind's memcheck, computing with
//! them is not an error.
//!
//! Which bits of a result depend on undefined bits is found by executing the operation with several patterns in their
//! place: result bits that do not change are defined. So `x & 0`, `x ^ x` and a selection of the other operand are
//! defined.
mod trace;

use super::lanes::lanes;
use super::machine::Machine;
use super::warp_access::cut;
use crate::banks::LANES;
use crate::op::{Class, Reg};

/// The undefined bits of a warp's registers and local memory; empty if none can be read.
#[derive(Default)]
pub(super) struct Undefined {
    registers: [Vec<Option<Box<Mark>>>; 3],
    /// Undefined bits of each byte of local memory, in the same layout.
    local: Vec<u8>,
}

/// The undefined bits of the caller's registers while a lane is in a function.
#[derive(Clone, Default)]
pub(super) struct Saved(Box<[SavedMark]>);

impl Saved {
    /// Host memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.0[..])
    }
}

/// The undefined bits of one register.
#[derive(Clone)]
struct SavedMark {
    reg: Reg,
    bits: u64,
    computed: bool,
    read_at: Option<usize>,
}

/// Undefined bits of one register.
#[derive(Clone)]
struct Mark {
    /// Lanes in which any bit is undefined.
    lanes: u32,
    /// Lanes in which an undefined value was used in a computation, not only moved.
    computed: u32,
    bits: [u64; LANES],
    /// The first operation that read the undefined value, if any.
    read_at: Option<usize>,
}

impl Mark {
    const NONE: Mark = Mark {
        lanes: 0,
        computed: 0,
        bits: [0; LANES],
        read_at: None,
    };
}

impl Undefined {
    /// Marks everything undefined that may be read before it is written.
    pub fn reset(&mut self, machine: &Machine<'_>) {
        let program = machine.program;
        if !machine.options.sanitize || program.flows.is_empty() {
            return;
        }
        let sizes = [program.b32, program.b64, program.predicates];
        for (marks, size) in self.registers.iter_mut().zip(sizes) {
            marks.resize(size, None);
            marks
                .iter_mut()
                .flatten()
                .for_each(|mark| **mark = Mark::NONE);
        }
        for &reg in &program.unwritten {
            self.registers[reg.class as usize][reg.index as usize] = Some(Box::new(Mark {
                lanes: u32::MAX,
                bits: [all_bits(reg.class); LANES],
                ..Mark::NONE
            }));
        }
        self.local.clear();
        self.local.resize(machine.local as usize * LANES, 0xff);
    }

    /// A lane enters a function: there only the registers `unwritten` and its whole frame, which begins at `frame`, are
    /// undefined. Returns the caller's undefined bits for [`Self::leave`].
    pub fn enter(&mut self, lane: usize, unwritten: &[Reg], frame: u32, bytes: u32) -> Saved {
        let mut saved = Vec::new();
        for class in [Class::B32, Class::B64, Class::Predicate] {
            let marks = self.registers[class as usize].iter_mut().zip(0..);
            for (mark, index) in marks {
                let Some(mark) = mark.as_deref_mut() else {
                    continue;
                };
                if mark.lanes >> lane & 1 == 1 {
                    saved.push(SavedMark {
                        reg: Reg { class, index },
                        bits: mark.bits[lane],
                        computed: mark.computed >> lane & 1 == 1,
                        read_at: mark.read_at,
                    });
                }
                mark.lanes &= !(1 << lane);
                mark.computed &= !(1 << lane);
            }
        }
        for &reg in unwritten {
            self.put(lane, reg, all_bits(reg.class), false, None);
        }
        if let Some(bits) = self.local_bits(lane, frame as usize, bytes) {
            bits.fill(0xff);
        }
        Saved(saved.into())
    }

    /// A lane leaves the function that it entered with `saved`.
    pub fn leave(&mut self, lane: usize, saved: &Saved) {
        for mark in self.registers.iter_mut().flatten().flatten() {
            mark.lanes &= !(1 << lane);
            mark.computed &= !(1 << lane);
        }
        for one in &saved.0 {
            self.put(lane, one.reg, one.bits, one.computed, one.read_at);
        }
    }

    fn put(&mut self, lane: usize, reg: Reg, bits: u64, computed: bool, read_at: Option<usize>) {
        let marks = &mut self.registers[reg.class as usize];
        if let Some(mark) = marks.get_mut(reg.index as usize) {
            let mark = mark.get_or_insert_with(|| Box::new(Mark::NONE));
            mark.lanes |= 1 << lane;
            mark.computed |= u32::from(computed) << lane;
            mark.bits[lane] = bits;
            mark.read_at = read_at;
        }
    }

    /// Copies the undefined bits of bytes that were copied in a lane's local memory.
    pub fn copy_local(&mut self, lane: usize, from: u32, to: u32, bytes: u32) {
        let start = lane * (self.local.len() / LANES);
        let [from, to] = [from, to].map(|at| start + at as usize);
        let end = from.max(to) + bytes as usize;
        if end <= self.local.len() {
            self.local.copy_within(from..from + bytes as usize, to);
        }
    }

    fn local_bits(&mut self, lane: usize, at: usize, bytes: u32) -> Option<&mut [u8]> {
        let each = self.local.len() / LANES;
        let at = lane * each + at;
        self.local.get_mut(at..at + bytes as usize)
    }

    fn mark(&self, reg: Reg) -> Option<&Mark> {
        let mark = self.registers[reg.class as usize].get(reg.index as usize)?;
        mark.as_deref().filter(|mark| mark.lanes != 0)
    }

    /// Lanes of `mask` in which any bit of the register is undefined.
    fn lanes(&self, reg: Reg, mask: u32) -> u32 {
        self.mark(reg).map_or(0, |mark| mark.lanes & mask)
    }

    /// A defined value was written to these lanes.
    fn define(&mut self, reg: Reg, mask: u32) {
        if let Some(Some(mark)) = self.registers[reg.class as usize].get_mut(reg.index as usize) {
            mark.lanes &= !mask;
            mark.computed &= !mask;
        }
    }

    /// A value with the undefined bits `new` was written to these lanes.
    fn set(&mut self, reg: Reg, mask: u32, new: &Mark) {
        self.define(reg, mask);
        if new.lanes & mask == 0 {
            return;
        }
        let Some(mark) = self.registers[reg.class as usize].get_mut(reg.index as usize) else {
            return;
        };
        let mark = mark.get_or_insert_with(|| Box::new(Mark::NONE));
        mark.lanes |= new.lanes & mask;
        mark.computed |= new.computed & mask;
        mark.read_at = new.read_at;
        for lane in lanes(new.lanes & mask) {
            mark.bits[lane] = new.bits[lane];
        }
    }
}

fn bytes_of(class: Class) -> u32 {
    match class {
        Class::B64 => 8,
        Class::B32 | Class::Predicate => 4,
    }
}

/// All bits that a register of this class has.
fn all_bits(class: Class) -> u64 {
    match class {
        Class::B32 | Class::B64 => cut(u64::MAX, bytes_of(class)),
        Class::Predicate => 1,
    }
}
