//! Register allocation: a kernel's thousands of virtual registers into the few that live at once, so
//! that a warp's registers stay in the CPU's nearest cache.
//!
//! Valid for every thread by itself, and so for a diverged warp: operations write active lanes only.
use super::FIXED;
use super::graph::Graph;
use crate::program::{Class, Op, Role};

/// A growable set of small numbers.
#[derive(Clone, PartialEq)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }
    fn insert(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }
    fn remove(&mut self, i: usize) {
        self.0[i / 64] &= !(1 << (i % 64));
    }
    fn union(&mut self, other: &Bits) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            std::iter::successors((bits != 0).then_some(bits), |b| {
                Some(b & (b - 1)).filter(|&b| b != 0)
            })
            .map(move |b| word * 64 + b.trailing_zeros() as usize)
        })
    }
}

/// Renames the registers of `ops` and returns how many of each class there are, fixed ones included.
/// `counts` are the virtual registers of each class, `fixed` those that keep their numbers.
pub(super) fn allocate(ops: &mut [Op], counts: [u32; 3], fixed: [u32; 3]) -> [usize; 3] {
    let graph = Graph::new(ops);
    let mut sizes = [0; 3];
    for class in [Class::Word, Class::Double, Class::Predicate] {
        let c = class as usize;
        let intervals = intervals(ops, &graph, class, counts[c] as usize);
        let (names, used) = scan(&intervals);
        for op in ops.iter_mut() {
            op.registers(|_, of, reg| {
                if of == class {
                    *reg = if *reg >= FIXED {
                        *reg - FIXED
                    } else {
                        fixed[c] + names[*reg as usize]
                    };
                }
            });
        }
        sizes[c] = (fixed[c] + used) as usize;
    }
    sizes
}

/// First and last point at which each register of a class holds something. Operation `i` reads at
/// point `2 i` and writes at `2 i + 1`.
fn intervals(
    ops: &mut [Op],
    graph: &Graph,
    class: Class,
    count: usize,
) -> Vec<Option<(usize, usize)>> {
    let (blocks, total) = (graph.starts.len(), ops.len());
    // What a block reads before it writes, and what it writes for sure.
    let mut reads = vec![Bits::new(count); blocks];
    let mut writes = vec![Bits::new(count); blocks];
    for block in 0..blocks {
        for op in &mut ops[graph.starts[block]..graph.end(block, total)] {
            let guarded = op.guard.is_some();
            op.registers(|role, of, &mut reg| {
                if of != class || reg >= FIXED {
                    return;
                }
                let reg = reg as usize;
                let written = writes[block].0[reg / 64] >> (reg % 64) & 1 == 1;
                // A guarded write leaves the other lanes as they were, which reads them.
                if (role == Role::Use || guarded) && !written {
                    reads[block].insert(reg);
                }
                if role == Role::Def && !guarded {
                    writes[block].insert(reg);
                }
            });
        }
    }
    let mut live_in = reads.clone();
    let mut live_out = vec![Bits::new(count); blocks];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..blocks).rev() {
            let mut out = Bits::new(count);
            for &next in &graph.successors[block] {
                out.union(&live_in[next]);
            }
            if out != live_out[block] {
                changed = true;
                let mut through = out.clone();
                for reg in writes[block].iter() {
                    through.remove(reg);
                }
                through.union(&reads[block]);
                live_in[block] = through;
                live_out[block] = out;
            }
        }
    }
    let mut intervals: Vec<Option<(usize, usize)>> = vec![None; count];
    let mut extend = |reg: usize, at: usize| {
        let (first, last) = intervals[reg].get_or_insert((at, at));
        (*first, *last) = ((*first).min(at), (*last).max(at));
    };
    for block in 0..blocks {
        let (start, end) = (graph.starts[block], graph.end(block, total));
        for reg in live_in[block].iter() {
            extend(reg, 2 * start);
        }
        for reg in live_out[block].iter() {
            extend(reg, 2 * end);
        }
        for (at, op) in ops.iter_mut().enumerate().take(end).skip(start) {
            op.registers(|role, of, &mut reg| {
                if of == class && reg < FIXED {
                    extend(reg as usize, 2 * at + usize::from(role == Role::Def));
                }
            });
        }
    }
    intervals
}

/// Linear scan: a register for each interval, free again after the interval's last point. A result may
/// take the register of an operand that ends at the same operation, but no two results share one.
fn scan(intervals: &[Option<(usize, usize)>]) -> (Vec<u32>, u32) {
    let mut names = vec![0; intervals.len()];
    let mut order: Vec<(usize, usize, usize)> = intervals
        .iter()
        .enumerate()
        .filter_map(|(reg, i)| i.map(|(first, last)| (first, last, reg)))
        .collect();
    order.sort_unstable();
    let mut free: Vec<u32> = Vec::new();
    let mut active: std::collections::BinaryHeap<std::cmp::Reverse<(usize, u32)>> =
        Default::default();
    let mut used = 0;
    for (first, last, reg) in order {
        while let Some(&std::cmp::Reverse((end, name))) = active.peek() {
            if end >= first {
                break;
            }
            active.pop();
            free.push(name);
        }
        let name = free.pop().unwrap_or_else(|| {
            used += 1;
            used - 1
        });
        names[reg] = name;
        active.push(std::cmp::Reverse((last, name)));
    }
    (names, used)
}
