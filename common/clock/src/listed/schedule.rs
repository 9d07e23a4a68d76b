//! List scheduling of a basic block: of the instructions whose operands are ready, pick the one on the longest critical
//! path.
use rustc_hash::FxHashMap as HashMap;

use super::choose::Chosen;
use crate::card::Card;
use crate::class::{Class, Does};
use crate::machine_code::MachineInstruction;

/// Scoreboards of a warp.
const BOARDS: u8 = 6;
/// An instruction is not hoisted over one that precedes it by this much in the PTX: values loaded early occupy
/// registers.
const WINDOW: usize = 64;
/// The largest stall count that the encoding can hold.
const MOST_STALL: u32 = 15;

/// Which scoreboards signal that a register has been written.
pub(super) struct Boards {
    /// For each PTX instruction, the scoreboard that it releases.
    own: HashMap<usize, u8>,
    by_name: HashMap<String, u8>,
}

/// Whether an instruction has variable latency.
fn is_variable(class: Option<Class>) -> bool {
    class.is_some_and(|class| {
        matches!(class.does, Does::Shared | Does::GlobalLoad | Does::Atomic)
            || class.does == Does::Scoreboard && class.pipe != crate::class::Pipe::Tensor
    })
}

impl Boards {
    /// Assigns scoreboards: each kind of instruction has a few of its own and uses them in rotation.
    pub fn of(chosen: &[Chosen]) -> Self {
        let mut boards = Self {
            own: HashMap::default(),
            by_name: HashMap::default(),
        };
        let (mut shared, mut other) = (0, 0);
        for (at, one) in chosen.iter().enumerate() {
            if !is_variable(one.class) || one.writes.is_empty() {
                continue;
            }
            let board = match one.class.map(|class| class.does) {
                Some(Does::Shared) => {
                    shared += 1;
                    shared % 3
                }
                _ => {
                    other += 1;
                    3 + other % 3
                }
            };
            boards.own.insert(at, board % BOARDS);
            for name in &one.writes {
                *boards.by_name.entry(name.clone()).or_default() |= 1 << board;
            }
        }
        // A renamed register waits for the scoreboards of its source.
        for _ in 0..3 {
            for one in chosen.iter().filter(|one| one.machine.is_empty()) {
                let mask = boards.mask(&one.reads);
                for name in one.writes.iter().filter(|_| mask > 0) {
                    *boards.by_name.entry(name.clone()).or_default() |= mask;
                }
            }
        }
        boards
    }

    fn mask(&self, names: &[String]) -> u8 {
        let masks = names.iter().filter_map(|name| self.by_name.get(name));
        masks.fold(0, |all, mask| all | mask)
    }
}

/// Clocks until a dependent instruction may issue.
fn latency(class: Option<Class>, card: &Card) -> f64 {
    match class {
        None => 0.0,
        Some(class) if is_variable(Some(class)) => match class.does {
            Does::GlobalLoad | Does::Atomic => card.latency.l2,
            _ => class.latency,
        },
        Some(class) if class.pipe == crate::class::Pipe::Tensor => card.latency.mma,
        Some(_) => card.latency.fixed,
    }
}

/// Schedules a block: its machine instructions in order, each with the index of its PTX instruction in the block.
/// `first` is the index of the block's first instruction in the kernel.
pub(super) fn block(
    chosen: &[Chosen],
    first: usize,
    boards: &Boards,
    card: &Card,
) -> Vec<(usize, MachineInstruction)> {
    let count = chosen.len();
    let before = dependences(chosen, card);
    let mut behind: Vec<Vec<(usize, f64)>> = vec![Vec::new(); count];
    for (at, list) in before.iter().enumerate() {
        for &(earlier, clocks) in list {
            behind[earlier].push((at, clocks));
        }
    }
    // For each instruction, the length of the critical path from it.
    let mut height = vec![0.0f64; count];
    for at in (0..count).rev() {
        for &(later, clocks) in &behind[at] {
            height[at] = height[at].max(height[later] + clocks);
        }
    }
    let mut left: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut ready_at = vec![0.0f64; count];
    let mut ready: Vec<usize> = (0..count).filter(|&at| left[at] == 0).collect();
    let (mut done, mut oldest) = (vec![false; count], 0);
    let mut order: Vec<(usize, MachineInstruction)> = Vec::new();
    let mut time = 0.0f64;
    while !ready.is_empty() {
        while oldest < count && done[oldest] {
            oldest += 1;
        }
        let allowed = ready
            .iter()
            .enumerate()
            .filter(|(_, at)| **at < oldest + WINDOW);
        // Prefer what can issue now, then the longest critical path, then PTX order.
        let best = allowed.min_by(|(_, a), (_, b)| {
            let late = |at: usize| (ready_at[at] - time).max(0.0);
            let by_time = late(**a).total_cmp(&late(**b));
            by_time
                .then(height[**b].total_cmp(&height[**a]))
                .then(a.cmp(b))
        });
        let Some((nth, &at)) = best else { break };
        ready.swap_remove(nth);
        done[at] = true;
        // A wait for a fixed latency is the stall count of the instruction before.
        let mut gap = (ready_at[at] - time).max(0.0).ceil() as u32;
        time = time.max(ready_at[at]);
        while gap > 0 && !chosen[at].machine.is_empty() {
            let Some((_, previous)) = order.last_mut() else {
                break;
            };
            let room = MOST_STALL - u32::from(previous.stall).min(MOST_STALL);
            let more = gap.min(room);
            previous.stall += more as u8;
            gap -= more;
            if gap > 0 {
                let (ptx, previous) = order[order.len() - 1].clone();
                order.push((
                    ptx,
                    MachineInstruction {
                        opcode: "NOP".into(),
                        wait: 0,
                        write: None,
                        stall: 1,
                        ..previous
                    },
                ));
                gap -= 1;
            }
        }
        let all = chosen[at].machine.len();
        for (nth, machine) in chosen[at].machine.iter().enumerate() {
            let mut machine = machine.clone();
            if nth == 0 {
                machine.wait = boards.mask(&chosen[at].reads);
            }
            if nth + 1 == all {
                machine.write = boards.own.get(&(first + at)).copied();
            }
            order.push((at, machine));
            time += 1.0;
        }
        let issued = if all == 0 { time } else { time - 1.0 };
        for &(later, clocks) in &behind[at] {
            // Waits without a scoreboard are scheduled here; waits for scoreboards are simulated.
            let fixed = match is_variable(chosen[at].class) {
                true => clocks.min(2.0),
                false => clocks,
            };
            ready_at[later] = ready_at[later].max(issued + fixed);
            left[later] -= 1;
            if left[later] == 0 {
                ready.push(later);
            }
        }
    }
    order
}

/// For each instruction, the earlier ones that it depends on, and how many clocks each dependence takes.
fn dependences(chosen: &[Chosen], card: &Card) -> Vec<Vec<(usize, f64)>> {
    let mut writers: HashMap<&str, usize> = HashMap::default();
    let mut readers: HashMap<&str, Vec<usize>> = HashMap::default();
    // The last instruction that others may not cross, and the memory accesses since then.
    let (mut fence, mut loads, mut stores) = (None, Vec::new(), Vec::new());
    let mut all = Vec::with_capacity(chosen.len());
    for (at, one) in chosen.iter().enumerate() {
        let mut before: Vec<(usize, f64)> = Vec::new();
        for name in &one.reads {
            if let Some(&writer) = writers.get(name.as_str()) {
                before.push((writer, latency(chosen[writer].class, card)));
            }
            readers.entry(name).or_default().push(at);
        }
        for name in &one.writes {
            before.extend(writers.get(name.as_str()).map(|&writer| (writer, 1.0)));
            let others = readers.remove(name.as_str()).unwrap_or_default();
            before.extend(
                others
                    .into_iter()
                    .filter(|&other| other != at)
                    .map(|other| (other, 0.0)),
            );
            writers.insert(name, at);
        }
        let touches = one.loads || one.stores || one.ordered;
        if touches {
            before.extend(fence.map(|fence| (fence, 0.0)));
        }
        if one.ordered {
            before.extend(loads.drain(..).map(|other| (other, 0.0)));
            before.extend(stores.drain(..).map(|other| (other, 0.0)));
            fence = Some(at);
        } else if one.stores {
            before.extend(loads.iter().map(|&other| (other, 0.0)));
            before.extend(stores.last().map(|&other: &usize| (other, 0.0)));
            stores.push(at);
        } else if one.loads {
            before.extend(stores.last().map(|&other| (other, 0.0)));
            loads.push(at);
        }
        // A branch ends its block.
        let ends = one
            .machine
            .last()
            .is_some_and(|last| matches!(last.opcode.as_str(), "BRA" | "EXIT"));
        if ends {
            before.extend((0..at).map(|other| (other, 0.0)));
        }
        before.retain(|&(other, _)| other != at);
        before.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        before.dedup_by_key(|one| one.0);
        all.push(before);
    }
    all
}
