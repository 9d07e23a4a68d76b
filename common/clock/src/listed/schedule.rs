//! List scheduling of a block: of the instructions whose operands are there, the one with the longest chain behind it.
use std::ops::Range;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::choose::Chosen;
use super::registers::Registers;
use crate::card::Card;
use crate::class::{Class, Does, PIPES, Pipe};
use crate::machine_code::MachineInstruction;

/// Scoreboards of a warp.
const BOARDS: u8 = 6;
/// The largest stall count that an instruction has room for.
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
        matches!(
            class.does,
            Does::Shared | Does::Shuffle | Does::GlobalLoad | Does::Atomic
        ) || class.does == Does::Scoreboard && class.pipe != Pipe::Tensor
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
                    shared = (shared + 1) % 3;
                    shared
                }
                _ => {
                    other = (other + 1) % 3;
                    3 + other
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

/// The scoreboards that later instructions of the block still have to wait for. Once an instruction has waited for a load, no
/// other one has to, even if later loads use the same scoreboard.
struct Waits<'a> {
    boards: &'a Boards,
    /// How many instructions have been scheduled.
    now: u32,
    /// Of each register that the block has written, the scoreboards that signal it and when it was written; before the block at 0.
    written: HashMap<&'a str, (u8, u32)>,
    /// When each scoreboard was last waited for.
    waited: [u32; BOARDS as usize],
}

impl<'a> Waits<'a> {
    fn new(boards: &'a Boards) -> Self {
        Self {
            boards,
            now: 0,
            written: HashMap::default(),
            waited: [0; BOARDS as usize],
        }
    }

    /// The scoreboards that these registers wait for.
    fn of(&self, names: &[String]) -> u8 {
        let open = |name: &String| {
            let before = || (self.boards.by_name.get(name).copied().unwrap_or(0), 0);
            let (mask, at) = self
                .written
                .get(name.as_str())
                .copied()
                .unwrap_or_else(before);
            let open = (0..).zip(self.waited).filter(|(_, waited)| *waited <= at);
            open.fold(0, |all, (board, _)| all | mask & 1 << board)
        };
        names.iter().map(open).fold(0, |all, mask| all | mask)
    }

    /// Schedules an instruction that releases the scoreboard `own`; returns those that it waits for.
    fn take(&mut self, one: &'a Chosen, own: Option<u8>) -> u8 {
        let mask = self.of(&one.reads);
        self.now += 1;
        let left = match one.machine.first() {
            // A renamed register waits for what its source waits for.
            None => mask,
            Some(first) => {
                for (_, waited) in (0..)
                    .zip(&mut self.waited)
                    .filter(|(board, _)| mask >> board & 1 == 1)
                {
                    *waited = self.now;
                }
                let kept = if first.guarded {
                    self.of(&one.writes)
                } else {
                    0
                };
                own.map_or(0, |board| 1 << board) | kept
            }
        };
        for name in &one.writes {
            self.written.insert(name, (left, self.now));
        }
        mask
    }
}

fn is_wgmma(class: Class) -> bool {
    matches!(class.does, Does::Wgmma(_))
}

/// Clocks after which a warp may issue another instruction to the same pipe.
fn interval(class: Class) -> f64 {
    match class.pipe {
        Pipe::None => 0.0,
        // fmalite and fmaheavy both execute FFMA; the interval is that of one of them.
        Pipe::Fma => class.interval / 2.0,
        // The tensor core queues wgmma, so the warp can issue the next one at once.
        Pipe::Tensor if is_wgmma(class) => 1.0,
        _ => class.interval,
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
        // The tensor cores order products of a warpgroup; what else reads a sum follows the wait for its group.
        Some(class) if is_wgmma(class) => 0.0,
        Some(class) if class.pipe == Pipe::Tensor => card.latency.mma,
        Some(_) => card.latency.fixed,
    }
}

/// The registers that are live while a block is scheduled.
pub(super) struct Live<'a> {
    registers: &'a Registers,
    first: usize,
    now: HashSet<usize>,
    /// Reads of each that are still to come in the block, until it is written again; plus one if it is live after the block.
    left: HashMap<usize, u32>,
    /// The same for the values that are written later, the last first.
    later: HashMap<usize, Vec<u32>>,
    width: u32,
    most: u32,
}

impl<'a> Live<'a> {
    /// At the start of a block of these instructions.
    pub fn new(registers: &'a Registers, block: usize, of: Range<usize>) -> Self {
        let mut left: HashMap<usize, u32> = HashMap::default();
        let mut later: HashMap<usize, Vec<u32>> = HashMap::default();
        for &register in &registers.live_out[block] {
            left.insert(register, 1);
        }
        for at in of.clone().rev() {
            for &register in &registers.writes[at] {
                let reads = left.insert(register, 0).unwrap_or(0);
                later.entry(register).or_default().push(reads);
            }
            for &register in &registers.reads[at] {
                *left.entry(register).or_default() += 1;
            }
        }
        let now = registers.live_in[block].clone();
        let width = registers.width(&now);
        Self {
            registers,
            first: of.start,
            now,
            left,
            later,
            width,
            most: width,
        }
    }

    /// By how much an instruction of the block changes what is live.
    fn change(&self, at: usize) -> i64 {
        let (registers, at) = (self.registers, self.first + at);
        let ends =
            |register: &&usize| self.now.contains(register) && self.left.get(register) == Some(&1);
        // A value may take the place of one that ends.
        let reads = &registers.reads[at];
        let begins = |register: &&usize| {
            !self.now.contains(register) || reads.contains(register) && ends(register)
        };
        let freed = registers.width(registers.reads[at].iter().filter(ends));
        let taken = registers.width(registers.writes[at].iter().filter(begins));
        i64::from(taken) - i64::from(freed)
    }

    /// Whether enough registers are free to schedule it now.
    fn has_room(&self, at: usize) -> bool {
        let change = self.change(at);
        change <= 0 || i64::from(self.width) + change <= i64::from(self.registers.room())
    }

    /// Schedules an instruction.
    fn take(&mut self, at: usize) {
        let (registers, at) = (self.registers, self.first + at);
        for register in &registers.reads[at] {
            let Some(left) = self.left.get_mut(register) else {
                continue;
            };
            *left = left.saturating_sub(1);
            if *left == 0 && self.now.remove(register) {
                self.width -= registers.widths[*register];
            }
        }
        for &register in &registers.writes[at] {
            let reads = self.later.get_mut(&register).and_then(Vec::pop);
            self.left.insert(register, reads.unwrap_or(0));
            if self.now.insert(register) {
                self.width += registers.widths[register];
            }
        }
        self.most = self.most.max(self.width);
        for register in &registers.writes[at] {
            // A result that is never read.
            if self.left.get(register).is_none_or(|left| *left == 0) && self.now.remove(register) {
                self.width -= registers.widths[*register];
            }
        }
    }
}

/// A block's machine instructions in their order, each with the PTX instruction's number in the block. `first` is the number of the
/// block's first instruction in the kernel. And how many registers are live at once.
pub(super) fn block(
    chosen: &[Chosen],
    first: usize,
    boards: &Boards,
    mut live: Live<'_>,
    card: &Card,
) -> (Vec<(usize, MachineInstruction)>, u32) {
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
    // `ready_at`: when all operands are expected. `fixed_at`: when stall counts alone allow the issue; scoreboards and busy pipes are
    // left to the simulation.
    let mut ready_at = vec![0.0f64; count];
    let mut fixed_at = vec![0.0f64; count];
    let mut pipe_free = [0.0f64; PIPES];
    let mut ready: Vec<usize> = (0..count).filter(|&at| left[at] == 0).collect();
    let mut order: Vec<(usize, MachineInstruction)> = Vec::new();
    let mut waits = Waits::new(boards);
    let (mut time, mut fixed_time) = (0.0f64, 0.0f64);
    while !ready.is_empty() {
        let start = |at: usize| {
            let pipe = (chosen[at].class).map_or(0.0, |class| pipe_free[class.pipe as usize]);
            ready_at[at].max(pipe).max(time)
        };
        let allowed = || {
            let ready = ready.iter().enumerate();
            ready.filter(|(_, at)| live.has_room(**at))
        };
        // First what can issue now, then by the longest chain, then in the order of the PTX.
        let best = allowed().min_by(|(_, a), (_, b)| {
            let by_time = start(**a).total_cmp(&start(**b));
            by_time
                .then(height[**b].total_cmp(&height[**a]))
                .then(a.cmp(b))
        });
        // If no instruction fits into the registers, the first in PTX order.
        let earliest = || ready.iter().enumerate().min_by_key(|(_, at)| **at);
        let Some((nth, &at)) = best.or_else(earliest) else {
            break;
        };
        time = start(at);
        ready.swap_remove(nth);
        live.take(at);
        let all = chosen[at].machine.len();
        let fixed_start = fixed_time.max(fixed_at[at]);
        // The wait of a fixed latency is the stall count of the instruction before. What only renames a register leaves it to the
        // readers of its result.
        let mut gap = 0;
        if all > 0 {
            gap = (fixed_start - fixed_time).ceil() as u32;
            fixed_time = fixed_start;
        }
        while gap > 0 {
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
        let own = boards.own.get(&(first + at)).copied();
        let wait = waits.take(&chosen[at], own);
        for (nth, machine) in chosen[at].machine.iter().enumerate() {
            let mut machine = machine.clone();
            if nth == 0 {
                machine.wait = wait;
            }
            if nth + 1 == all {
                machine.write = own;
            }
            order.push((at, machine));
            time += 1.0;
            fixed_time += 1.0;
        }
        // When the last machine instruction issues; of a renaming, when its source is there.
        let (issued, fixed_issued) = match all {
            0 => (time, fixed_start),
            _ => (time - 1.0, fixed_time - 1.0),
        };
        if let Some(class) = chosen[at].class {
            let free = &mut pipe_free[class.pipe as usize];
            *free = free.max(time - all as f64) + interval(class) * all as f64;
        }
        for &(later, clocks) in &behind[at] {
            // Waits without a scoreboard are scheduled here; waits for scoreboards are simulated.
            let fixed = match is_variable(chosen[at].class) {
                true => clocks.min(2.0),
                false => clocks,
            };
            fixed_at[later] = fixed_at[later].max(fixed_issued + fixed);
            ready_at[later] = ready_at[later].max(issued + clocks);
            left[later] -= 1;
            if left[later] == 0 {
                ready.push(later);
            }
        }
    }
    (order, live.most)
}

/// For each instruction, the earlier ones that it depends on, and how many clocks each dependence takes.
fn dependences(chosen: &[Chosen], card: &Card) -> Vec<Vec<(usize, f64)>> {
    let mut writers: HashMap<&str, usize> = HashMap::default();
    let mut readers: HashMap<&str, Vec<usize>> = HashMap::default();
    // The last that keeps its place, and the memory accesses since.
    let mut fence = None;
    let (mut loads, mut stores): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    // The last of them that touches a memory of this one.
    let last = |of: &[usize], one: &Chosen| {
        let mut all = of.iter().rev().copied();
        all.find(|&other| chosen[other].memories & one.memories != 0)
    };
    let is_product = |at: usize| chosen[at].class.is_some_and(is_wgmma);
    let mut all = Vec::with_capacity(chosen.len());
    for (at, one) in chosen.iter().enumerate() {
        let mut before: Vec<(usize, f64)> = Vec::new();
        for name in &one.reads {
            if let Some(&writer) = writers.get(name.as_str()) {
                before.push((writer, latency(chosen[writer].class, card)));
                if is_product(writer) && !is_product(at) {
                    before.extend(fence.map(|fence| (fence, 0.0)));
                }
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
            let meets = |other: &&usize| chosen[**other].memories & one.memories != 0;
            before.extend(loads.iter().filter(meets).map(|&other| (other, 0.0)));
            before.extend(last(&stores, one).map(|other| (other, 0.0)));
            stores.push(at);
        } else if one.loads {
            before.extend(last(&stores, one).map(|other| (other, 0.0)));
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

#[cfg(test)]
mod tests {
    use emulator::{Context, Options};

    use super::super::{CtaSize, choose, ranges, successors};
    use super::*;

    #[test]
    fn a_value_that_is_replaced_later_ends_with_its_last_read() {
        // A loop of sixteen sums, each of which is computed in a new register and then moved to the old one.
        let all = |text: &dyn Fn(u32) -> String| (0..16).map(text).collect::<String>();
        let ptx = format!(
            ".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{{
.reg .b32 %r<3>; .reg .f32 %f<64>; .reg .b64 %rd<3>; .reg .pred %p<2>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, 4;
{}$L1:
ld.global.f32 %f50, [%rd1];
{}{}add.s32 %r1, %r1, -1;
setp.ne.s32 %p1, %r1, 0;
@%p1 bra $L1;
{}ret;
}}
",
            all(&|n| format!("mov.f32 %f{n}, 0f00000000;\n")),
            all(&|n| format!("fma.rn.f32 %f{}, %f50, %f50, %f{n};\n", 20 + n)),
            all(&|n| format!("mov.f32 %f{n}, %f{};\n", 20 + n)),
            all(&|n| format!("st.global.f32 [%rd1+{}], %f{n};\n", 4 * n)),
        );
        let mut context = Context::new(Options::default());
        let module = context.load_module(&ptx).expect("a module");
        let function = module.function("k").expect("a kernel");
        let instructions = function.instructions();
        let chosen = choose::all(instructions, &Card::H200);
        let blocks = ranges(&ptx, instructions);
        let successors = successors(&ptx, instructions, &blocks);
        let cta = CtaSize {
            threads: 128,
            shared_bytes: 0,
        };
        let registers = Registers::new(&ptx, instructions, &chosen, &blocks, &successors, cta);
        let (from, to) = blocks[1];
        let mut live = Live::new(&registers, 1, from..to);
        (0..to - from).for_each(|at| live.take(at));
        // The sums, what was loaded, and a counter; the address is a parameter.
        assert_eq!(live.most, 16 + 1 + 1);
    }
}
