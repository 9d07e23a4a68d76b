//! Which machine instructions a warp executed: a walk through the machine code that reproduces the PTX trace.
//!
//! The machine code's branches differ from those of the PTX: ptxas unrolls loops, turns branches into predicates and
//! moves instructions within a block. But each machine instruction knows its PTX line. So an *anchor*, an instruction
//! that ptxas neither duplicates nor removes (memory accesses, barriers, matrix products), identifies an event of the
//! trace. At a branch the walk takes the side whose anchors come next in the trace. In a loop without an anchor, an
//! instruction that computes becomes one ([`count_loops`]).
use std::cmp::Ordering;
use std::collections::BTreeMap;

use emulator::{Instruction, InstructionKind, WarpTrace};
use rustc_hash::FxHashMap as HashMap;

use crate::anchors::{anchors_of, count_loops, polls};
use crate::machine_code::{MachineCode, MachineInstruction};

/// A machine instruction that a warp issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index into [`MachineCode::instructions`].
    pub instruction: u32,
    /// The trace event that it carries out; none if it has no effect of its own, or its guard was false.
    pub event: Option<u32>,
}

/// Executions of one PTX instruction in the trace.
#[derive(Default)]
struct Visits {
    /// Events in trace order.
    events: Vec<u32>,
    /// For each opcode, how many of the events were consumed.
    consumed: HashMap<u32, usize>,
}

impl Visits {
    /// Events that some opcode has consumed. Several machine instructions of one PTX instruction count as one
    /// execution.
    fn executed(&self) -> usize {
        self.consumed.values().max().copied().unwrap_or(0)
    }
}

/// Walks the machine code of one kernel.
pub struct Walk<'a> {
    code: &'a MachineCode,
    /// For each machine instruction that is an anchor, its PTX instruction and the number of its opcode.
    anchors: Vec<Option<(u32, u32)>>,
    /// The first `wgmma` stands for all `wgmma`s of the PTX: the machine code keeps their order but not their lines.
    wgmmas: Option<u32>,
    is_wgmma: Vec<bool>,
    /// For each PTX instruction, the one that stands for all copies of its line: a function is inlined at each of its calls.
    of_line: Vec<u32>,
    /// For each PTX instruction, whether it polls other threads: [`polls`].
    polls: Vec<bool>,
}

/// The limit of a warp's steps: more than any real kernel needs, so a walk that goes astray ends.
const MOST_STEPS: usize = 40_000_000;

/// Steps without a trace event, in passes through the whole code plus a constant. A walk that takes longer is in an
/// infinite loop, in machine code that branches to itself.
const MOST_IDLE_ROUNDS: usize = 4;
const MOST_IDLE: usize = 4096;

/// Anchors that are compared at a branch: an unrolled loop has a few hundred.
const LOOKAHEAD: usize = 512;

/// This many must match the trace; anchors further on may be on a path that is not taken.
const CERTAIN: usize = 64;

/// Branches that are followed in search of anchors.
const DEPTH: u32 = 6;

impl<'a> Walk<'a> {
    /// For a kernel with these PTX instructions.
    pub fn new(code: &'a MachineCode, instructions: &[Instruction]) -> Self {
        let mut lines: BTreeMap<u32, u32> = BTreeMap::new();
        for (index, one) in (0..).zip(instructions) {
            if !matches!(anchors_of(&one.kind), []) {
                lines.insert(one.ptx_line, index);
            }
        }
        let is_wgmma: Vec<bool> = (instructions.iter())
            .map(|one| matches!(one.kind, InstructionKind::Wgmma(_)))
            .collect();
        let wgmmas = is_wgmma.iter().position(|&is| is).map(|at| at as u32);
        let stands_for = |line: u32, root: &str| {
            if root.ends_with("GMMA") {
                return wgmmas;
            }
            let fits =
                |index: &u32| anchors_of(&instructions[*index as usize].kind).contains(&root);
            if let Some(index) = lines.get(&line).filter(|index| fits(index)) {
                return Some(*index);
            }
            // Of a loop that waits, ptxas peels the first iteration and attributes it to a nearby line.
            let near = lines.range(line.saturating_sub(NEAR)..=line.saturating_add(NEAR));
            let near = near.filter(|(_, index)| fits(index));
            near.min_by_key(|&(&at, _)| at.abs_diff(line))
                .map(|(_, &index)| index)
        };
        let mut opcodes: HashMap<&str, u32> = HashMap::default();
        let mut anchors = Vec::new();
        for one in &code.instructions {
            let root = root(&one.opcode);
            let next = opcodes.len() as u32;
            let instruction = stands_for(one.ptx_line, root);
            anchors.push(instruction.map(|index| (index, *opcodes.entry(root).or_insert(next))));
        }
        let next = opcodes.len() as u32;
        count_loops(code, instructions, &mut anchors, next);
        Self {
            code,
            anchors,
            wgmmas,
            is_wgmma,
            of_line: (0..)
                .zip(instructions)
                .map(|(index, one)| lines.get(&one.ptx_line).copied().unwrap_or(index))
                .collect(),
            polls: instructions.iter().map(polls).collect(),
        }
    }

    /// The machine instructions that a warp issued, and how many trace anchors have no machine instruction.
    pub fn of(&self, trace: &WarpTrace) -> (Vec<Step>, usize) {
        let mut visits: HashMap<u32, Visits> = HashMap::default();
        for &(instruction, _) in self.anchors.iter().flatten() {
            visits.entry(instruction).or_default();
        }
        let (mut total, mut last) = (0, None);
        for (at, event) in (0..).zip(&trace.events) {
            let instruction = match (self.wgmmas, self.is_wgmma[event.instruction as usize]) {
                (Some(first), true) => first,
                _ => self.of_line[event.instruction as usize],
            };
            if let Some(visits) = visits.get_mut(&instruction) {
                // The number of polls depends on the emulator's schedule, not on the card: only the last poll counts.
                if last == Some(instruction) && self.polls[instruction as usize] {
                    visits.events.pop();
                    total -= 1;
                }
                visits.events.push(at);
                total += 1;
                last = Some(instruction);
            }
        }
        let mut walker = Walker {
            walk: self,
            visits,
            frontier: 0,
            done: 0,
            undecided: HashMap::default(),
            calls: Vec::new(),
        };
        let steps = walker.run();
        (steps, total - walker.done.min(total))
    }
}

struct Walker<'a, 'b> {
    walk: &'b Walk<'a>,
    visits: HashMap<u32, Visits>,
    /// One past the latest event that was consumed.
    frontier: u32,
    done: usize,
    /// For each branch, how often neither side matched the trace.
    undecided: HashMap<usize, u32>,
    /// Where the calls that are being executed return to.
    calls: Vec<usize>,
}

impl Walker<'_, '_> {
    fn run(&mut self) -> Vec<Step> {
        let code = &self.walk.code.instructions;
        let (mut steps, mut at) = (Vec::new(), 0);
        // The last event among the anchors of the block that is being walked.
        let mut last_event = self.last_event(0);
        let most_idle = MOST_IDLE + MOST_IDLE_ROUNDS * code.len();
        let mut idle = 0;
        while at < code.len() && steps.len() < MOST_STEPS && idle < most_idle {
            let one = &code[at];
            let event = self.consume(at, last_event);
            idle = if event.is_some() { 0 } else { idle + 1 };
            steps.push(Step {
                instruction: at as u32,
                event,
            });
            let next = at + 1;
            at = match (one.opcode.as_str(), one.target) {
                ("EXIT", _) if !one.guarded || !self.remains(next) => break,
                (opcode, Some(target)) if is_jump(opcode) => {
                    let target = target as usize;
                    match one.guarded {
                        false => target,
                        true => self.choose(next, target),
                    }
                }
                _ => after(one, at, &mut self.calls),
            };
            if is_jump(&one.opcode) || one.opcode == "EXIT" {
                last_event = self.last_event(at);
            }
        }
        steps
    }

    /// The event of this anchor's next execution, after `ahead` others; none if it is not executed again.
    fn next(&self, at: usize, ahead: usize) -> Option<u32> {
        let (instruction, opcode) = self.walk.anchors[at]?;
        let visits = self.visits.get(&instruction)?;
        let consumed = visits.consumed.get(&opcode);
        let nth = consumed.copied().unwrap_or(0) + ahead;
        visits.events.get(nth).copied()
    }

    /// The latest event among the anchors of the block that begins here.
    fn last_event(&self, from: usize) -> u32 {
        let (anchors, _) = self.anchors_from(from, LOOKAHEAD);
        let latest = anchors.iter().flatten().max();
        latest.copied().unwrap_or(self.frontier).max(self.frontier)
    }

    /// The events of the unguarded anchors from here to the next branch, and the index of that branch.
    fn anchors_from(&self, from: usize, most: usize) -> (Vec<Option<u32>>, usize) {
        let code = &self.walk.code.instructions;
        let (mut found, mut at) = (Vec::new(), from);
        let mut calls = self.calls.clone();
        let mut ahead: HashMap<(u32, u32), usize> = HashMap::default();
        let mut looked = 0;
        while at < code.len() && found.len() < most && looked < 4096 {
            looked += 1;
            let one = &code[at];
            if let Some(anchor) = self.walk.anchors[at]
                && !one.guarded
            {
                let before = ahead.entry(anchor).or_default();
                found.push(self.next(at, *before));
                *before += 1;
            }
            match (one.opcode.as_str(), one.target) {
                // After a guarded EXIT, only the remaining threads execute.
                ("EXIT", _) => break,
                (opcode, Some(target)) if is_jump(opcode) => {
                    if one.guarded {
                        break;
                    }
                    at = target as usize;
                }
                _ => at = after(one, at, &mut calls),
            }
        }
        (found, at)
    }

    /// How well the path that begins here matches the trace.
    fn fit(&self, from: usize, depth: u32) -> Fit {
        let (anchors, end) = self.anchors_from(from, LOOKAHEAD);
        if anchors.is_empty() {
            let code = &self.walk.code.instructions;
            let leaves = |one: &MachineInstruction| one.opcode == "EXIT" && one.guarded;
            if depth > 0 && code.get(end).is_some_and(leaves) && self.is_left() {
                return self.fit(end + 1, depth - 1);
            }
            let branch = code.get(end).filter(|one| is_jump(&one.opcode));
            let Some(target) = branch.and_then(|one| one.target) else {
                // The kernel's end matches if the trace has nothing left.
                return if self.is_left() { Fit::NONE } else { Fit::END };
            };
            if depth == 0 {
                return Fit::NONE;
            }
            let sides = [end + 1, target as usize].map(|side| self.fit(side, depth - 1));
            let best = match sides[1].is_better_than(sides[0]) {
                true => sides[1],
                false => sides[0],
            };
            return Fit {
                branches: best.branches + 1,
                ..best
            };
        }
        let wanted = anchors.len().min(CERTAIN);
        let known: Vec<u32> = anchors.into_iter().map_while(|event| event).collect();
        let count = known.len();
        if count < wanted {
            return Fit::NONE;
        }
        let earliest = known.iter().copied().min().unwrap_or(0);
        let latest = known.iter().copied().max().unwrap_or(0);
        let span = f64::from(latest.saturating_sub(self.frontier) + 1);
        Fit {
            earliest,
            density: count as f64 / span,
            count,
            branches: 0,
        }
    }

    /// Whether any trace event has not been consumed.
    fn is_left(&self) -> bool {
        let mut visits = self.visits.values();
        visits.any(|visits| visits.executed() < visits.events.len())
    }

    fn choose(&mut self, next: usize, target: usize) -> usize {
        let (stays, jumps) = (self.fit(next, DEPTH), self.fit(target, DEPTH));
        if stays.earliest == u32::MAX && jumps.earliest == u32::MAX {
            // Neither side is known to match: alternate, so that every loop ends.
            let turns = self.undecided.entry(next).or_default();
            *turns += 1;
            return if *turns % 2 == 1 { next } else { target };
        }
        if jumps.is_better_than(stays) {
            target
        } else {
            next
        }
    }

    /// Whether anchors from here on still occur in the trace.
    fn remains(&self, from: usize) -> bool {
        self.fit(from, DEPTH).earliest != u32::MAX
    }

    fn consume(&mut self, at: usize, last_event: u32) -> Option<u32> {
        let one = &self.walk.code.instructions[at];
        let (instruction, opcode) = self.walk.anchors[at]?;
        let event = self.next(at, 0)?;
        // The guard was true if the instructions after it also come later in the trace.
        if one.guarded && event > last_event && event > self.fit(at + 1, DEPTH).earliest {
            return None;
        }
        let visits = self.visits.get_mut(&instruction)?;
        let before = visits.executed();
        let consumed = visits.consumed.entry(opcode).or_default();
        *consumed += 1;
        self.done += usize::from(*consumed > before);
        self.frontier = self.frontier.max(event + 1);
        Some(event)
    }
}

/// How well a path matches the rest of the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fit {
    /// The first event of its anchors.
    earliest: u32,
    /// Anchors per event, between the frontier and their last event.
    density: f64,
    /// Number of its anchors.
    count: usize,
    /// Branches before the first anchor.
    branches: u32,
}

impl Fit {
    /// The trace does not do what this path does.
    const NONE: Self = Self {
        earliest: u32::MAX,
        density: 0.0,
        count: 0,
        branches: 0,
    };
    /// The kernel ends where the trace ends.
    const END: Self = Self {
        earliest: 0,
        density: 1.0,
        count: 0,
        branches: 0,
    };

    /// Prefers the path that is earlier in the trace. Of an unrolled loop and its remainder, which begin alike, it
    /// prefers the longer one; of two ways to the same anchors, the shorter.
    fn is_better_than(self, other: Self) -> bool {
        let margin = 1e-9;
        match self.earliest.cmp(&other.earliest) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => {
                let denser = self.density - other.density;
                denser > margin
                    || (denser > -margin && self.count > other.count)
                    || (denser > -margin
                        && self.count == other.count
                        && self.branches < other.branches)
            }
        }
    }
}

/// The most calls that are followed into each other: recursion goes no deeper.
const MOST_CALLS: usize = 64;

/// The instruction after one that is not a jump: a call's function, or behind the call that a function returns from.
fn after(one: &MachineInstruction, at: usize, calls: &mut Vec<usize>) -> usize {
    match (root(&one.opcode), one.target) {
        ("CALL", Some(target)) if !one.guarded && calls.len() < MOST_CALLS => {
            calls.push(at + 1);
            target as usize
        }
        ("RET", _) if !one.guarded => calls.pop().unwrap_or(at + 1),
        _ => at + 1,
    }
}

/// Whether an instruction goes on at an address that only a register knows, and the walk does not.
pub(crate) fn is_indirect(one: &MachineInstruction) -> bool {
    matches!(root(&one.opcode), "CALL" | "BRX" | "JMX") && one.target.is_none()
}

pub(crate) fn is_jump(opcode: &str) -> bool {
    opcode.starts_with("BRA") || opcode.starts_with("JMP")
}

pub(crate) fn root(opcode: &str) -> &str {
    opcode.split('.').next().unwrap_or_default()
}

/// How many lines around its own are searched for a machine instruction's PTX.
const NEAR: u32 = 16;

#[cfg(test)]
mod tests {
    use emulator::{Context, Options, TraceEvent};

    use super::*;

    /// Machine code from tuples: PTX line, opcode, whether guarded, branch target.
    fn code(of: &[(u32, &str, bool, Option<u32>)]) -> MachineCode {
        let instructions =
            of.iter()
                .map(|&(ptx_line, opcode, guarded, target)| MachineInstruction {
                    opcode: opcode.to_owned(),
                    operands: String::new(),
                    ptx_line,
                    guarded,
                    target,
                    stall: 1,
                    write: None,
                    read: None,
                    wait: 0,
                });
        MachineCode {
            registers: 8,
            instructions: instructions.collect(),
        }
    }

    /// A loop with a load at line 8, followed by a store at line 11.
    const PTX: &str = ".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %p<2>;
loop:
ld.global.u32 %r1, [%rd1];
setp.ne.u32 %p1, %r1, 0;
@%p1 bra loop;
st.global.u32 [%rd1], %r1;
ret;
}
";

    /// Walks a warp that executes `loads` loads and the store: the steps, and anchors without a machine instruction.
    fn walk(code: &MachineCode, loads: usize) -> (Vec<u32>, usize) {
        let lines = [&[8, 9, 10].repeat(loads)[..], &[11, 12]].concat();
        walk_lines(code, PTX, &lines)
    }

    /// Walks a warp that executes the instructions of these lines.
    fn walk_lines(code: &MachineCode, ptx: &str, lines: &[u32]) -> (Vec<u32>, usize) {
        let mut context = Context::new(Options::default());
        let module = context.load_module(ptx).expect("a module");
        let function = module.function("k").expect("a kernel");
        let at = |line| {
            let mut all = function.instructions().iter();
            all.position(|one| one.ptx_line == line).expect("a line") as u32
        };
        let event = |line| TraceEvent {
            instruction: at(line),
            active: u32::MAX,
        };
        let events = lines.iter().map(|&line| event(line)).collect();
        let trace = WarpTrace {
            events,
            ..WarpTrace::default()
        };
        let (steps, missed) = Walk::new(code, function.instructions()).of(&trace);
        (steps.iter().map(|step| step.instruction).collect(), missed)
    }

    #[test]
    fn a_branch_to_itself_ends_the_walk() {
        let code = code(&[
            (8, "LDG.E", false, None),
            (10, "BRA", false, Some(1)),
            (11, "STG.E", false, None),
            (12, "EXIT", false, None),
        ]);
        let (steps, missed) = walk(&code, 1);
        assert!(steps.len() < 10_000, "{} steps", steps.len());
        assert_eq!(missed, 1, "the store");
    }

    #[test]
    fn a_loop_turns_as_often_as_in_the_trace() {
        let code = code(&[
            (8, "LDG.E", false, None),
            (10, "BRA", true, Some(0)),
            (11, "STG.E", false, None),
            (12, "EXIT", false, None),
        ]);
        assert_eq!(walk(&code, 3), (vec![0, 1, 0, 1, 0, 1, 2, 3], 0));
    }

    /// As it is, and unrolled by two: then `add` and `xor` are there once for each iteration, `setp` once for two.
    #[test]
    fn iterations_that_access_no_memory_are_counted() {
        let loop_of = |unrolled: &[(u32, &str, bool, Option<u32>)]| {
            let mut all = vec![(8, "LDG.E", false, None)];
            all.extend(unrolled);
            all.extend([(13, "BRA", true, Some(1)), (14, "STG.E", false, None)]);
            code(&all)
        };
        let ptx = PTX.replace(
            "setp.ne.u32 %p1, %r1, 0;",
            "turn:\nadd.u32 %r1, %r1, 1;\nxor.b32 %r1, %r1, 3;\nsetp.ne.u32 %p1, %r1, 0;",
        );
        let ptx = ptx.replace("bra loop", "bra turn");
        let lines = |turns: usize| {
            let turn = [10, 11, 12, 13].repeat(turns);
            [&[8][..], &turn, &[14, 15]].concat()
        };
        let turn = [(10, "IADD3", false, None), (11, "LOP3", false, None)];
        let test = [(12, "ISETP", false, None)];
        let rolled = loop_of(&[&turn[..], &test].concat());
        let (steps, missed) = walk_lines(&rolled, &ptx, &lines(3));
        let expected = [&[0][..], &[1, 2, 3, 4].repeat(3), &[5]].concat();
        assert_eq!((steps, missed), (expected, 0));
        let unrolled = loop_of(&[&turn[..], &test, &turn].concat());
        let (steps, missed) = walk_lines(&unrolled, &ptx, &lines(4));
        let turns = steps.iter().filter(|&&step| step == 6).count();
        assert_eq!((turns, missed), (2, 0));
    }

    #[test]
    fn calls_are_followed_and_return() {
        // The store after two calls of a function at 4, which loads.
        let code = code(&[
            (7, "CALL.REL.NOINC", false, Some(4)),
            (7, "CALL.REL.NOINC", false, Some(4)),
            (11, "STG.E", false, None),
            (12, "EXIT", false, None),
            (8, "LDG.E", false, None),
            (10, "RET.REL.NODEC", false, None),
        ]);
        assert_eq!(walk(&code, 2), (vec![0, 4, 5, 1, 4, 5, 2, 3], 0));
    }

    #[test]
    fn an_unrolled_loop_is_taken_while_enough_is_left() {
        // Unrolled by two from 1 on, then the remainder at 5, and the store.
        let code = code(&[
            (10, "BRA", true, Some(5)),
            (8, "LDG.E", false, None),
            (8, "LDG.E", false, None),
            (10, "BRA", true, Some(1)),
            (10, "BRA", true, Some(6)),
            (8, "LDG.E", false, None),
            (11, "STG.E", false, None),
            (12, "EXIT", false, None),
        ]);
        assert_eq!(walk(&code, 5), (vec![0, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7], 0));
        assert_eq!(walk(&code, 4), (vec![0, 1, 2, 3, 1, 2, 3, 4, 6, 7], 0));
    }

    #[test]
    fn what_comes_behind_a_guarded_exit_is_not_asked_for() {
        // A remainder that this warp skips, the store, and a load by the only thread that has not exited.
        let code = code(&[
            (10, "BRA", true, Some(2)),
            (8, "LDG.E", false, None),
            (11, "STG.E", false, None),
            (12, "EXIT", true, None),
            (8, "LDG.E", false, None),
            (12, "EXIT", false, None),
        ]);
        assert_eq!(walk(&code, 0), (vec![0, 2, 3], 0));
    }

    #[test]
    fn a_loop_that_only_an_exit_leaves_does_not_recurse_for_ever() {
        let code = code(&[
            (9, "ISETP", false, None),
            (12, "EXIT", true, None),
            (10, "BRA", false, Some(0)),
            (11, "STG.E", false, None),
        ]);
        let (steps, missed) = walk(&code, 1);
        assert!(
            steps.len() < 4 && missed == 1,
            "{} steps, {missed}",
            steps.len()
        );
    }
}
