//! Machine code without ptxas: each PTX instruction becomes what ptxas usually makes of it ([`choose`]), and each basic block
//! is list-scheduled in order of the longest chain of latencies that hangs on an instruction.
//!
//! It is less exact than ptxas's own code. Address arithmetic that ptxas folds, loops that it unrolls and registers that it
//! saves are not known here. But every step is of the trace, so a kernel of any shape is predicted.
mod choose;
mod registers;
mod schedule;

use std::collections::BTreeSet;

use emulator::{Instruction, InstructionKind, WarpTrace};

use crate::card::Card;
use crate::machine_code::MachineCode;
use crate::path::{self, Step};

/// A kernel's PTX, scheduled.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What stands for ptxas's machine code.
    pub code: MachineCode,
    /// Blocks in the order of the PTX.
    blocks: Vec<Block>,
    /// Of each PTX instruction its block.
    block_of: Vec<u32>,
    /// Of each PTX instruction its machine instructions.
    made_of: Vec<Vec<u32>>,
    /// Of each PTX instruction whether it polls, and whether it does anything that others see.
    roles: Vec<(bool, bool)>,
}

/// PTX instructions from one to before another, always executed together.
#[derive(Clone, Debug)]
struct Block {
    from: u32,
    to: u32,
    /// PTX instruction and machine instruction, as they are scheduled.
    order: Vec<(u32, u32)>,
}

impl Listed {
    /// Of the text of a PTX module and its kernel's instructions, as [`emulator::Function::instructions`] lists them.
    pub fn new(ptx: &str, instructions: &[Instruction], card: &Card) -> Self {
        let chosen = choose::all(instructions, card);
        let mut listed = Self {
            code: MachineCode {
                registers: registers::needed(ptx, instructions, &chosen),
                instructions: Vec::new(),
            },
            blocks: Vec::new(),
            block_of: vec![0; instructions.len()],
            made_of: vec![Vec::new(); instructions.len()],
            roles: (instructions.iter())
                .map(|one| (path::polls(one), path::is_anchor(one)))
                .collect(),
        };
        let boards = schedule::Boards::of(&chosen);
        for (from, to) in ranges(ptx, instructions) {
            let scheduled = schedule::block(&chosen[from..to], from, &boards, card);
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
        listed
    }

    /// The machine instructions that a warp issued.
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
            // What has been issued of this block for each PTX instruction: only the first has the effect.
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
                // Lanes of the warp take turns within it.
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
    /// Events and their instructions, of a loop that polls only the last round.
    fn last_polls(&self, trace: &WarpTrace) -> Vec<(u32, u32)> {
        let mut kept: Vec<(u32, u32)> = Vec::with_capacity(trace.events.len());
        // Where the poll is that nothing else followed.
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

/// Basic blocks: a label begins one, a branch or an exit ends it.
fn ranges(ptx: &str, instructions: &[Instruction]) -> Vec<(usize, usize)> {
    let labels: BTreeSet<u32> = (1..)
        .zip(ptx.lines())
        .filter(|(_, line)| {
            line.trim_end().ends_with(':') || line.contains(": ") && !line.contains("//")
        })
        .map(|(number, _)| number)
        .collect();
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

    /// A loop of two loads that do not depend on each other, and a sum.
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
        let mut context = Context::new(Options::default());
        let module = context.load_module(PTX).expect("a module");
        let function = module.function("k").expect("a kernel");
        let instructions = function.instructions().to_vec();
        let card = Card::H200;
        (Listed::new(PTX, &instructions, &card), instructions)
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
        // Each of the two waits for a scoreboard of its own load.
        let code = &listed.code.instructions;
        let (first, second) = (&code[at("FFMA", 0)], &code[at("FFMA", 1)]);
        assert!(first.wait != 0 && second.wait != 0 && first.wait != second.wait);
        assert_eq!(names.last(), Some(&"EXIT"));
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
        // A warp that stops within a block has issued what it executed and no more.
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
