//! Machine code without ptxas: each PTX instruction becomes what ptxas usually emits for it ([`choose`]), and each
//! basic block is list-scheduled by critical path.
//!
//! This is less exact than ptxas's own code: it does not know which address arithmetic ptxas folds, which loops it
//! unrolls and which registers it saves. But it follows the trace instruction by instruction, so it works for every
//! kernel.
mod choose;
mod folded;
mod registers;
mod schedule;
mod vectors;

use std::collections::BTreeSet;

use emulator::{Instruction, InstructionKind, WarpTrace};

use crate::anchors;
use crate::card::Card;
use crate::machine_code::MachineCode;
use crate::path::Step;
pub use registers::CtaSize;
use registers::Registers;

/// A kernel's PTX, scheduled.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The replacement for ptxas's machine code.
    pub code: MachineCode,
    /// Blocks in the order of the PTX.
    blocks: Vec<Block>,
    /// For each PTX instruction, its block.
    block_of: Vec<u32>,
    /// For each PTX instruction, its machine instructions.
    made_of: Vec<Vec<u32>>,
    /// For each PTX instruction, whether it polls, and whether it has a side effect.
    roles: Vec<(bool, bool)>,
}

/// A basic block: consecutive PTX instructions that always execute together.
#[derive(Clone, Debug)]
struct Block {
    from: u32,
    to: u32,
    /// PTX instruction and machine instruction, in scheduled order.
    order: Vec<(u32, u32)>,
}

impl Listed {
    /// Schedules a kernel for a launch of CTAs of this size, from its module's PTX and its instructions as
    /// [`emulator::Function::instructions`] lists them.
    pub fn new(ptx: &str, instructions: &[Instruction], cta: CtaSize, card: &Card) -> Self {
        let instructions = &with_all_operands(ptx, instructions);
        let mut chosen = choose::all(instructions, card);
        let ranges = ranges(ptx, instructions);
        vectors::merge(instructions, &mut chosen, &ranges);
        let successors = successors(ptx, instructions, &ranges);
        let mut registers = Registers::new(ptx, instructions, &chosen, &ranges, &successors, cta);
        let boards = schedule::Boards::of(&chosen);
        let scheduled = |registers: &Registers, number: usize| {
            let (from, to): (usize, usize) = ranges[number];
            let live = schedule::Live::new(registers, number, from..to);
            schedule::block(&chosen[from..to], from, &boards, live, card)
        };
        let few = registers.as_few_as_possible();
        let least = (0..ranges.len()).map(|number| scheduled(&few, number).1);
        registers.keep_occupancy(least.max().unwrap_or(0));
        let mut most = 0;
        let mut listed = Self {
            code: MachineCode {
                registers: 0,
                instructions: Vec::new(),
            },
            blocks: Vec::new(),
            block_of: vec![0; instructions.len()],
            made_of: vec![Vec::new(); instructions.len()],
            roles: (instructions.iter())
                .map(|one| (anchors::polls(one), anchors::is_anchor(one)))
                .collect(),
        };
        for (number, &(from, to)) in ranges.iter().enumerate() {
            let (scheduled, at_once) = scheduled(&registers, number);
            most = most.max(at_once);
            let mut order = Vec::new();
            for (within, machine) in scheduled {
                let ptx = from + within;
                let at = listed.code.instructions.len() as u32;
                listed.made_of[ptx].push(at);
                order.push((ptx as u32, at));
                listed.code.instructions.push(machine);
            }
            listed.block_of[from..to].fill(listed.blocks.len() as u32);
            listed.blocks.push(Block {
                from: from as u32,
                to: to as u32,
                order,
            });
        }
        listed.set_targets(instructions, &successors);
        listed.code.registers = registers.needed(most);
        listed
    }

    /// The machine instructions that a warp issues.
    pub fn steps(&self, trace: &WarpTrace) -> Vec<Step> {
        let events = self.last_polls(trace);
        let mut steps = Vec::with_capacity(events.len());
        let mut at = 0;
        while let Some(&(event, instruction)) = events.get(at) {
            let block = &self.blocks[self.block_of[instruction as usize] as usize];
            let length = (block.to - block.from) as usize;
            let whole = events.get(at..at + length).is_some_and(|run| {
                (block.from..)
                    .zip(run)
                    .all(|(instruction, (_, own))| *own == instruction)
            });
            // How many machine instructions of each PTX instruction have been issued: only the first carries the
            // effect.
            let mut issue = |ptx: u32, machine: u32, event: u32| {
                let first = self.made_of[ptx as usize].first() == Some(&machine);
                steps.push(Step {
                    instruction: machine,
                    event: first.then_some(event),
                });
            };
            if whole {
                for &(ptx, machine) in &block.order {
                    issue(ptx, machine, events[at + (ptx - block.from) as usize].0);
                }
                at += length;
            } else {
                // Divergent lanes of the warp interleave within the block.
                for &machine in &self.made_of[instruction as usize] {
                    issue(instruction, machine, event);
                }
                at += 1;
            }
        }
        steps
    }
}

impl Listed {
    /// What each branch leads to.
    fn set_targets(&mut self, instructions: &[Instruction], successors: &[Vec<usize>]) {
        let starts: Vec<Option<u32>> = (self.blocks.iter())
            .map(|block| block.order.first().map(|&(_, machine)| machine))
            .collect();
        for (block, next) in self.blocks.iter().zip(successors) {
            let last = block.to as usize - 1;
            if matches!(instructions[last].kind, InstructionKind::Branch)
                && let (Some(&machine), Some(&target)) = (self.made_of[last].first(), next.last())
            {
                self.code.instructions[machine as usize].target = starts[target];
            }
        }
    }

    /// Events and their instructions, of a loop that polls only the last round.
    fn last_polls(&self, trace: &WarpTrace) -> Vec<(u32, u32)> {
        let mut kept: Vec<(u32, u32)> = Vec::with_capacity(trace.events.len());
        // The last poll, if nothing but polling has followed it.
        let mut last: Option<(u32, usize)> = None;
        for (event, one) in (0..).zip(&trace.events) {
            let instruction = one.instruction;
            let (polls, is_seen) = self.roles[instruction as usize];
            if polls {
                if let Some((before, at)) = last
                    && before == instruction
                {
                    kept.truncate(at);
                }
                last = Some((instruction, kept.len()));
            } else if is_seen {
                last = None;
            }
            kept.push((event, instruction));
        }
        kept
    }
}

/// Restores the operands that `Instruction::text` leaves out because it is cut at 300 characters: a `wgmma` has up to 128
/// accumulators.
fn with_all_operands(ptx: &str, instructions: &[Instruction]) -> Vec<Instruction> {
    let mut starts = vec![0];
    starts.extend(ptx.match_indices('\n').map(|(at, _)| at + 1));
    let mut all = instructions.to_vec();
    for one in &mut all {
        let Some(cut) = one.text.strip_suffix('…') else {
            continue;
        };
        let line = (one.ptx_line as usize).checked_sub(1);
        let start = line.and_then(|line| starts.get(line));
        if let Some(whole) = start.and_then(|&start| statement(&ptx[start..], cut)) {
            one.text = whole;
        }
    }
    all
}

/// The statement that begins on the first line of `ptx` with these words, up to its semicolon, on however many lines.
fn statement(ptx: &str, words: &str) -> Option<String> {
    let on_this_line = ptx.lines().next()?.matches(';').count();
    let mut statements = ptx.split(';').take(on_this_line + 1);
    statements.find_map(|one| {
        let one: Vec<&str> = one.split_whitespace().collect();
        let one = one.join(" ");
        one.find(words).map(|at| one[at..].to_owned())
    })
}

/// The successors of each block; the target of its branch is the last.
fn successors(
    ptx: &str,
    instructions: &[Instruction],
    blocks: &[(usize, usize)],
) -> Vec<Vec<usize>> {
    let lines: Vec<(u32, &str)> = labels(ptx).collect();
    // Other kernels, and scopes of inline assembly, may have the same label. The nearest one is taken, which is wrong if the next
    // scope has one closer than the branch's own.
    let of_label = |label: &str, from: u32| {
        let own = lines.iter().filter(|(_, name)| *name == label);
        let &(line, _) = own.min_by_key(|(line, _)| line.abs_diff(from))?;
        blocks
            .iter()
            .position(|&(from, _)| instructions[from].ptx_line >= line)
    };
    let of_block = |(block, &(_, to)): (usize, &(usize, usize))| {
        let last = &instructions[to - 1];
        let falls = !matches!(
            last.kind,
            InstructionKind::Branch | InstructionKind::Exit | InstructionKind::Trap
        ) || last.guard.is_some();
        let next = (falls && block + 1 < blocks.len()).then_some(block + 1);
        let jumps = matches!(last.kind, InstructionKind::Branch);
        let label = last.text.trim_end_matches(';').rsplit([' ', '\t']).next();
        let target = label
            .filter(|_| jumps)
            .and_then(|label| of_label(label, last.ptx_line));
        next.into_iter().chain(target).collect()
    };
    blocks.iter().enumerate().map(of_block).collect()
}

/// The labels of a module, each with its line: `$L1:`, or `DONE:}` in inline assembly.
fn labels(ptx: &str) -> impl Iterator<Item = (u32, &str)> {
    (1..).zip(ptx.lines()).filter_map(|(number, line)| {
        let (name, _) = line.split_once(':')?;
        let name = name.trim_start_matches(|c: char| c.is_whitespace() || c == '{');
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "_$%".contains(c));
        is_name.then_some((number, name))
    })
}

/// Basic blocks: a label begins one, a branch or an exit ends it.
fn ranges(ptx: &str, instructions: &[Instruction]) -> Vec<(usize, usize)> {
    let labels: BTreeSet<u32> = labels(ptx).map(|(line, _)| line).collect();
    let mut starts = BTreeSet::from([0, instructions.len()]);
    for (at, pair) in (1..).zip(instructions.windows(2)) {
        let [one, next] = pair else { continue };
        let ends = matches!(
            one.kind,
            InstructionKind::Branch | InstructionKind::Exit | InstructionKind::Trap
        );
        let in_order = one.ptx_line <= next.ptx_line;
        if ends || !in_order || labels.range(one.ptx_line..=next.ptx_line).next().is_some() {
            starts.insert(at);
        }
    }
    let starts: Vec<usize> = starts.into_iter().collect();
    starts
        .windows(2)
        .filter_map(|pair| Some((*pair.first()?, *pair.last()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use emulator::{Context, Options, TraceEvent};

    use super::*;

    /// A loop of two independent loads and a sum.
    const PTX: &str = ".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
.maxntid 1024
{
.reg .b32 %r<3>; .reg .f32 %f<5>; .reg .b64 %rd<3>; .reg .pred %p<2>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, 4;
$L1:
ld.global.f32 %f1, [%rd1];
fma.rn.f32 %f3, %f1, %f1, %f3;
ld.global.f32 %f2, [%rd1+4];
fma.rn.f32 %f4, %f2, %f2, %f4;
add.s32 %r1, %r1, -1;
setp.ne.s32 %p1, %r1, 0;
@%p1 bra $L1;
st.global.f32 [%rd1], %f4;
ret;
}
";

    fn listed() -> (Listed, Vec<Instruction>) {
        of(PTX)
    }

    const CTA: CtaSize = CtaSize {
        threads: 128,
        shared_bytes: 0,
    };

    fn of(ptx: &str) -> (Listed, Vec<Instruction>) {
        let mut context = Context::new(Options::default());
        let module = context.load_module(ptx).expect("a module");
        let function = module.function("k").expect("a kernel");
        let instructions = function.instructions().to_vec();
        let card = Card::H200;
        (Listed::new(ptx, &instructions, CTA, &card), instructions)
    }

    /// Two products with 64 accumulators each, after a wait whose labels occur twice.
    fn products() -> String {
        let wait = "{.reg .pred p;
AGAIN:
mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2;
@p bra DONE;
bra AGAIN;
DONE:}
";
        let sums = |first: u32| {
            let names: Vec<String> = (first..first + 64).map(|n| format!("%f{n}")).collect();
            names.join(", ")
        };
        let product = |first| {
            format!(
                "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{{}}}, %rd1, %rd1, 1, 1, 1, 0, 0;\n",
                sums(first)
            )
        };
        let zeros: String = (0..128)
            .map(|n| format!("mov.f32 %f{n}, 0f00000000;\n"))
            .collect();
        let stores: String = (0..128)
            .map(|n| format!("st.global.f32 [%rd2+{}], %f{n};\n", 4 * n))
            .collect();
        format!(
            ".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
.maxntid 128
{{
.reg .b32 %r<3>; .reg .f32 %f<128>; .reg .b64 %rd<3>; .reg .pred %p<2>;
ld.param.u64 %rd2, [p];
mov.u32 %r1, 0;
mov.u32 %r2, 0;
mov.u64 %rd1, 0;
{zeros}$L1:
{wait}wgmma.fence.sync.aligned;
{}{}wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
xor.b32 %r2, %r2, 1;
setp.ne.s32 %p1, %r2, 0;
@%p1 bra $L1;
{stores}{wait}ret;
}}
",
            product(0),
            product(64)
        )
    }

    #[test]
    fn accumulators_take_registers_from_the_first_product_to_the_last_use() {
        let (listed, _) = of(&products());
        assert!(
            listed.code.registers >= 128 + 8,
            "{}",
            listed.code.registers
        );
    }

    #[test]
    fn an_instruction_on_many_lines_has_all_its_operands() {
        let ptx = products().replace(", %f", ",\n    %f");
        let (listed, instructions) = of(&ptx);
        assert!(
            listed.code.registers >= 128 + 8,
            "{}",
            listed.code.registers
        );
        let whole = with_all_operands(&ptx, &instructions);
        let product = whole.iter().find(|one| one.opcode.starts_with("wgmma.mma"));
        let text = &product.expect("a product").text;
        assert!(text.starts_with("wgmma.mma_async"), "{text}");
        assert!(text.ends_with("%f63}, %rd1, %rd1, 1, 1, 1, 0, 0"), "{text}");
    }

    #[test]
    fn a_block_keeps_the_occupancy_that_it_needs_at_least() {
        // One CTA of 128 threads more would not fit with 138 registers: an SM holds three with up to 168.
        let ptx = products();
        let (_, instructions) = of(&ptx);
        let chosen = choose::all(&with_all_operands(&ptx, &instructions), &Card::H200);
        let ranges = ranges(&ptx, &instructions);
        let successors = successors(&ptx, &instructions, &ranges);
        let of = |cta| Registers::new(&ptx, &instructions, &chosen, &ranges, &successors, cta);
        let mut registers = of(CTA);
        registers.keep_occupancy(130);
        assert_eq!(registers.room(), 168 - 8);
        registers.keep_occupancy(20);
        assert_eq!(registers.room(), 32 - 8);
        // Of these CTAs an SM's shared memory holds four.
        let mut registers = of(CtaSize {
            shared_bytes: 48 * 1024,
            ..CTA
        });
        registers.keep_occupancy(20);
        assert_eq!(registers.room(), 128 - 8);
    }

    #[test]
    fn both_loads_are_issued_before_what_waits_for_them() {
        let (listed, _) = listed();
        let names: Vec<&str> = (listed.code.instructions.iter())
            .map(|one| one.opcode.as_str())
            .collect();
        let at = |name: &str, nth: usize| {
            let mut all = names
                .iter()
                .enumerate()
                .filter(|(_, one)| one.starts_with(name));
            all.nth(nth)
                .unwrap_or_else(|| panic!("{name} in {names:?}"))
                .0
        };
        assert!(at("LDG", 1) < at("FFMA", 0), "{names:?}");
        // Each load has its own scoreboard, and the sum waits for both.
        let code = &listed.code.instructions;
        let (first, second) = (&code[at("FFMA", 0)], &code[at("FFMA", 1)]);
        assert!(first.wait != 0 && second.wait != 0 && first.wait != second.wait);
        assert_eq!(names.last(), Some(&"EXIT"));
    }

    #[test]
    fn a_load_is_waited_for_once() {
        let readers = [3, 4].map(|sum| format!("fma.rn.f32 %f{sum}, %f1, %f1, %f{sum};\n"));
        let (listed, _) = of(&PTX.replace(&readers[0], &readers.concat()));
        let code = &listed.code.instructions;
        let load = code.iter().find(|one| one.opcode.starts_with("LDG"));
        let board = 1 << load.and_then(|one| one.write).expect("a scoreboard");
        let waits = code.iter().filter(|one| one.wait & board != 0);
        assert_eq!(waits.count(), 1, "{code:?}");
    }

    #[test]
    fn a_renamed_result_is_waited_for_as_long_as_the_result() {
        let stalls = |ptx: &str| {
            let (listed, _) = of(ptx);
            let code = listed.code.instructions;
            let first = code.iter().position(|one| one.opcode == "FFMA");
            let first = first.expect("an addition");
            code[first].stall
        };
        let chain = |between: &str, name: &str| {
            format!(
                ".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{{
.reg .f32 %f<5>; .reg .b64 %rd<2>;
ld.param.u64 %rd1, [p];
add.f32 %f2, %f1, %f1;
{between}
add.f32 %f4, {name}, {name};
st.global.f32 [%rd1], %f4;
ret;
}}
"
            )
        };
        assert_eq!(stalls(&chain("", "%f2")), 4);
        assert_eq!(stalls(&chain("mov.f32 %f3, %f2;", "%f3")), 4);
    }

    #[test]
    fn steps_are_those_of_the_trace() {
        let (listed, instructions) = listed();
        let last = instructions.len() as u32 - 1;
        let branch = (instructions.iter())
            .position(|one| matches!(one.kind, InstructionKind::Branch))
            .expect("a branch") as u32;
        let start = (instructions.iter())
            .position(|one| one.opcode.starts_with("ld.global"))
            .expect("a load") as u32;
        let events = (0..=branch).chain(start..=branch).chain(branch + 1..=last);
        let trace = WarpTrace {
            events: events
                .map(|instruction| TraceEvent {
                    instruction,
                    active: u32::MAX,
                })
                .collect(),
            ..WarpTrace::default()
        };
        let steps = listed.steps(&trace);
        let loads = steps.iter().filter(|step| {
            let opcode = &listed.code.instructions[step.instruction as usize].opcode;
            opcode.starts_with("LDG") && step.event.is_some()
        });
        assert_eq!(loads.count(), 4);
        // A warp that stops within a block has issued only what it executed.
        let part = WarpTrace {
            events: trace.events[..start as usize + 2].to_vec(),
            ..WarpTrace::default()
        };
        let opcodes = listed.steps(&part);
        let loads = opcodes.iter().filter(|step| {
            listed.code.instructions[step.instruction as usize]
                .opcode
                .starts_with("LDG")
        });
        assert_eq!(loads.count(), 1);
    }

    #[test]
    fn registers_are_bounded_by_the_launch_bounds() {
        let (listed, _) = listed();
        assert!(
            (8..=64).contains(&listed.code.registers),
            "{}",
            listed.code.registers
        );
    }
}
