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
use crate::path::Step;

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
        let events = &trace.events;
        let mut steps = Vec::with_capacity(events.len());
        let mut at = 0;
        while let Some(event) = events.get(at) {
            let block = &self.blocks[self.block_of[event.instruction as usize] as usize];
            let length = (block.to - block.from) as usize;
            let whole = events.get(at..at + length).is_some_and(|run| {
                (block.from..)
                    .zip(run)
                    .all(|(instruction, event)| event.instruction == instruction)
            });
            // What has been issued of this block for each PTX instruction: only the first has the effect.
            let mut issue = |ptx: u32, machine: u32, event: usize| {
                let first = self.made_of[ptx as usize].first() == Some(&machine);
                steps.push(Step {
                    instruction: machine,
                    event: first.then_some(event as u32),
                });
            };
            if whole {
                for &(ptx, machine) in &block.order {
                    issue(ptx, machine, at + (ptx - block.from) as usize);
                }
                at += length;
            } else {
                // Lanes of the warp take turns within it.
                for &machine in &self.made_of[event.instruction as usize] {
                    issue(event.instruction, machine, at);
                }
                at += 1;
            }
        }
        steps
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
