//! Register allocation: maps a kernel's thousands of virtual registers to the few that are live at
//! once, so that a warp's registers stay in the CPU's L1 cache.
//!
//! It is valid for each thread, and so for a diverged warp, because operations write active lanes only.
use super::FIXED;
use super::bit_set::Bits;
use super::graph::Graph;
use crate::def_use::DefUse;
use crate::op::{Class, Op, Reg};

/// A bound for hostile input: bits of one set for every basic block.
pub(super) const MAX_BITS: usize = 1 << 30;

/// The registers after allocation.
pub(super) struct Allocated {
    /// The number of registers of each class, including fixed ones.
    pub sizes: [usize; 3],
    /// The operations at which a kernel and its functions begin.
    pub entries: Vec<usize>,
    /// For each entry, the registers that may be read before they are written.
    pub unwritten: Vec<Vec<Reg>>,
}

/// Renames the registers of `ops`. `counts` are the virtual registers of each class, `fixed` those that keep their
/// numbers, `entries` the operations at which the kernel and its functions begin.
pub(super) fn allocate(
    ops: &mut [Op],
    counts: [u32; 3],
    fixed: [u32; 3],
    entries: &[usize],
) -> Result<Allocated, String> {
    let graph = Graph::new(ops);
    let (mut sizes, mut unwritten) = ([0; 3], vec![Vec::new(); entries.len()]);
    for class in [Class::B32, Class::B64, Class::Predicate] {
        let c = class as usize;
        let count = counts[c] as usize;
        let (intervals, live) = intervals(ops, &graph, class, count, entries)?;
        let (names, used) = scan(&intervals);
        for (unwritten, live) in unwritten.iter_mut().zip(live) {
            unwritten.extend(live.into_iter().map(|reg| Reg {
                class,
                index: fixed[c] + names[reg],
            }));
        }
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
    Ok(Allocated {
        sizes,
        entries: entries.to_vec(),
        unwritten,
    })
}

/// The registers that are live at each entry.
type LiveAtEntries = Vec<Vec<usize>>;

/// The first and last point of a register's live range.
type Interval = (usize, usize);

/// The live range of each register of a class, where operation `i` reads at point `2 i` and writes at `2 i + 1`;
/// and the registers that are live at each entry.
fn intervals(
    ops: &mut [Op],
    graph: &Graph,
    class: Class,
    count: usize,
    entries: &[usize],
) -> Result<(Vec<Option<Interval>>, LiveAtEntries), String> {
    let (blocks, total) = (graph.starts.len(), ops.len());
    // The registers that each block reads before writing them, and those that it always writes.
    let mut reads = vec![Vec::new(); blocks];
    let mut writes = vec![Vec::new(); blocks];
    let mut written = vec![usize::MAX; count];
    // Numbers the registers that a block reads before writing them: no others are live between blocks.
    let mut crossing = vec![None; count];
    let mut crossings = Vec::new();
    for block in 0..blocks {
        for op in &mut ops[graph.starts[block]..graph.end(block, total)] {
            let guarded = op.guard.is_some();
            op.registers(|role, of, &mut reg| {
                if of != class || reg >= FIXED {
                    return;
                }
                let reg = reg as usize;
                // A guarded write keeps the old value in the other lanes, so it counts as a read.
                if (role == DefUse::Use || guarded) && written[reg] != block {
                    let number = *crossing[reg].get_or_insert_with(|| {
                        crossings.push(reg);
                        crossings.len() - 1
                    });
                    reads[block].push(number);
                }
                if role == DefUse::Def && !guarded && written[reg] != block {
                    written[reg] = block;
                    writes[block].push(reg);
                }
            });
        }
    }
    if crossings.len().saturating_mul(blocks) > MAX_BITS {
        return Err(format!(
            "the kernel is too large for the emulator: {} registers live across {blocks} basic blocks",
            crossings.len()
        ));
    }
    let mut live_in: Vec<Bits> = reads
        .iter()
        .map(|list| Bits::of(list, crossings.len()))
        .collect();
    let mut live_out = vec![Bits::of(&[], crossings.len()); blocks];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..blocks).rev() {
            let mut out = Bits::of(&[], crossings.len());
            for &next in &graph.successors[block] {
                out.union(&live_in[next]);
            }
            if out != live_out[block] {
                changed = true;
                live_out[block] = out.clone();
                for &reg in &writes[block] {
                    if let Some(number) = crossing[reg] {
                        out.remove(number);
                    }
                }
                live_in[block].union(&out);
            }
        }
    }
    let mut intervals: Vec<Option<Interval>> = vec![None; count];
    let mut extend = |reg: usize, at: usize| {
        let (first, last) = intervals[reg].get_or_insert((at, at));
        (*first, *last) = ((*first).min(at), (*last).max(at));
    };
    for block in 0..blocks {
        let (start, end) = (graph.starts[block], graph.end(block, total));
        for number in live_in[block].iter() {
            extend(crossings[number], 2 * start);
        }
        for number in live_out[block].iter() {
            extend(crossings[number], 2 * end);
        }
        for (at, op) in ops.iter_mut().enumerate().take(end).skip(start) {
            op.registers(|role, of, &mut reg| {
                if of == class && reg < FIXED {
                    extend(reg as usize, 2 * at + usize::from(role == DefUse::Def));
                }
            });
        }
    }
    let live = entries.iter().map(|&entry| {
        let live = live_in[graph.block_of(entry)].iter();
        live.map(|number| crossings[number]).collect()
    });
    Ok((intervals, live.collect()))
}

/// Linear scan: assigns a register to each interval and frees it after the interval's last point. A
/// result may take the register of an operand that ends at the same operation, but no two results
/// share one.
fn scan(intervals: &[Option<Interval>]) -> (Vec<u32>, u32) {
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
