//! Finds the operations that may read an undefined register, so that the sanitizer traces only these.
//!
//! A forward data-flow analysis: a register may be undefined from the entry of the kernel, or of a called function,
//! until it is written, and so may results computed from it. It runs after register allocation: a register that may be
//! read before it is written is live at the entry, so no other value is in its place before its last use.
use super::bit_set::Bits;
use super::graph::Graph;
use super::registers::{Allocated, MAX_BITS};
use crate::Space;
use crate::def_use::DefUse;
use crate::instruction_kind::InstructionKind;
use crate::op::{Class, Code, ColdOp, LaneOp, MatrixOp, Op, Reg, SyncOp, WarpOp, WgmmaOp};
use crate::program::{DataFlow, Flow, Instruction};

/// Numbers the registers of all classes consecutively.
struct Registers {
    /// The first number of each class, and the total.
    first: [usize; 4],
}

impl Registers {
    fn new([b32, b64, predicates]: [usize; 3]) -> Self {
        Self {
            first: [0, b32, b32 + b64, b32 + b64 + predicates],
        }
    }
    fn number(&self, reg: Reg) -> usize {
        self.first[reg.class as usize] + reg.index as usize
    }
    fn reg(&self, number: usize) -> Reg {
        let classes = [Class::B32, Class::B64, Class::Predicate];
        let class = (0..3).rfind(|&c| number >= self.first[c]).unwrap_or(0);
        Reg {
            class: classes[class],
            index: (number - self.first[class]) as u32,
        }
    }
}

/// The registers that an operation uses and defines.
struct Touched {
    uses: Vec<usize>,
    defs: Vec<usize>,
    flow: Flow,
    guarded: bool,
}

/// The most visits per operation, a bound for hostile input.
const MOST_PASSES: usize = 64;

/// For each operation, what the sanitizer has to trace; empty if there is nothing to trace or the kernel is too large.
/// Removes from `allocated` the unwritten registers that no operation reads.
pub(super) fn flows(
    ops: &mut [Op],
    allocated: &mut Allocated,
    has_local: bool,
    instructions: &[Instruction],
) -> Vec<Option<Box<DataFlow>>> {
    if allocated.unwritten.iter().all(Vec::is_empty) && !has_local {
        return Vec::new();
    }
    let registers = Registers::new(allocated.sizes);
    let touched: Vec<Touched> = ops
        .iter_mut()
        .map(|op| touched(op, &registers, has_local, instructions))
        .collect();
    let read = match read_unwritten(ops, &touched, &registers, allocated) {
        Some(read) if read.iter().next().is_some() => read,
        Some(_) | None => return Vec::new(),
    };
    for unwritten in &mut allocated.unwritten {
        unwritten.retain(|&reg| read.contains(registers.number(reg)));
    }
    // Every operation that reads or writes a possibly undefined register is traced.
    let flows = touched.iter().map(|one| {
        let mut all = one.uses.iter().chain(&one.defs);
        (all.any(|&reg| read.contains(reg)) || one.flow == Flow::Stores && has_local).then(|| {
            let list = |numbers: &[usize]| numbers.iter().map(|&n| registers.reg(n)).collect();
            Box::new(DataFlow {
                flow: one.flow,
                uses: list(&one.uses),
                defs: list(&one.defs),
            })
        })
    });
    flows.collect()
}

/// The registers that may be undefined where an operation reads them; `None` if the kernel is too large.
fn read_unwritten(
    ops: &[Op],
    touched: &[Touched],
    registers: &Registers,
    allocated: &Allocated,
) -> Option<Bits> {
    let graph = Graph::new(ops);
    let (blocks, count) = (graph.starts.len(), registers.first[3]);
    if blocks.saturating_mul(count) > MAX_BITS {
        return None;
    }
    let mut before: Vec<Option<Bits>> = vec![None; blocks];
    let (mut work, mut looked) = (Vec::new(), 0);
    for (&entry, unwritten) in allocated.entries.iter().zip(&allocated.unwritten) {
        let open: Vec<usize> = unwritten.iter().map(|&reg| registers.number(reg)).collect();
        let block = graph.block_of(entry);
        before[block] = Some(Bits::of(&open, count));
        work.push(block);
    }
    let mut read = Bits::of(&[], count);
    while let Some(block) = work.pop() {
        let Some(mut open) = before[block].clone() else {
            continue;
        };
        let here = graph.starts[block]..graph.end(block, ops.len());
        looked += here.len();
        if looked > MOST_PASSES.saturating_mul(ops.len()) {
            return None;
        }
        for one in &touched[here] {
            let used = one.uses.iter().filter(|&&reg| open.contains(reg));
            used.for_each(|&reg| read.insert(reg));
            one.apply(&mut open);
        }
        for &next in &graph.successors[block] {
            let grown = match &before[next] {
                None => open.clone(),
                Some(known) => {
                    let mut grown = known.clone();
                    grown.union(&open);
                    grown
                }
            };
            if before[next].as_ref() != Some(&grown) {
                before[next] = Some(grown);
                work.push(next);
            }
        }
    }
    Some(read)
}

impl Touched {
    /// Updates the set of possibly undefined registers across the operation.
    fn apply(&self, open: &mut Bits) {
        let result = match self.flow {
            Flow::Moves | Flow::Computes => self.uses.iter().any(|&reg| open.contains(reg)),
            Flow::Loads => true,
            Flow::Stores | Flow::Sink | Flow::Matrix | Flow::Wgmma => false,
        };
        for &reg in &self.defs {
            if result {
                open.insert(reg);
            } else if !self.guarded {
                open.remove(reg);
            }
        }
    }
}

fn touched(
    op: &mut Op,
    registers: &Registers,
    has_local: bool,
    instructions: &[Instruction],
) -> Touched {
    let flow = flow(op, has_local, instructions);
    let (mut uses, mut defs) = (Vec::new(), Vec::new());
    let guard = op.guard.take();
    op.registers(|role, class, &mut index| {
        let list = match role {
            DefUse::Use => &mut uses,
            DefUse::Def => &mut defs,
        };
        list.push(registers.number(Reg { class, index }));
    });
    op.guard = guard;
    match &op.code {
        // Accumulators are written when the `wgmma` lands; their old value is an addend or is not read.
        Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Mma(wgmma))) => {
            let d = wgmma.d.iter().map(|&index| {
                registers.number(Reg {
                    class: Class::B32,
                    index,
                })
            });
            defs.extend(d);
        }
        // It lists the registers of every `wgmma`, and reads none.
        Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Wait { .. })) => uses.clear(),
        Code::Matrix(_) | Code::Lane(_) | Code::Sync(_) => {}
        Code::Branch { .. } | Code::Call(_) | Code::Return | Code::Exit | Code::Trap => {}
    }
    // The guard comes last.
    uses.extend(guard.map(|(p, _)| registers.number(Reg::predicate(p))));
    Touched {
        uses,
        defs,
        flow,
        guarded: guard.is_some(),
    }
}

/// What an operation does with undefined values.
fn flow(op: &Op, has_local: bool, instructions: &[Instruction]) -> Flow {
    let may_be_local = |space: Space| has_local && matches!(space, Space::Local | Space::Generic);
    match &op.code {
        Code::Lane(op_of_lane) => match op_of_lane {
            LaneOp::B32(..)
            | LaneOp::MadLo(_)
            | LaneOp::FmaF32(_)
            | LaneOp::B64(..)
            | LaneOp::ShiftB64(..)
            | LaneOp::MadWide(..)
            | LaneOp::Extend(..)
            | LaneOp::Truncate(_)
            | LaneOp::MoveB32(_)
            | LaneOp::MoveB64(_)
            | LaneOp::F16ToF32(_)
            | LaneOp::F32ToF16(_)
            | LaneOp::F32sToHalves(..)
            | LaneOp::Compare(..)
            | LaneOp::Select(_)
            | LaneOp::Logic(..) => arithmetic(op, instructions),
            LaneOp::Cold(cold) => match &**cold {
                ColdOp::Scalar(..) | ColdOp::Lop3(..) | ColdOp::Pack(..) | ColdOp::Unpack(..) => {
                    arithmetic(op, instructions)
                }
                // Its result is stored to local memory.
                ColdOp::System(_) => Flow::Stores,
                ColdOp::Mbarrier(_)
                | ColdOp::BulkCopy(_)
                | ColdOp::StoreAsync(_)
                | ColdOp::BulkCommit
                | ColdOp::BulkWait { .. }
                | ColdOp::MapShared(..)
                | ColdOp::RankOf { .. }
                | ColdOp::Fence(_)
                | ColdOp::AwaitPreviousGrid
                | ColdOp::FenceProxy
                | ColdOp::FenceInit
                | ColdOp::ActiveMask { .. }
                | ColdOp::Clock { .. }
                | ColdOp::FrameBase { .. }
                | ColdOp::IsSpace(..)
                | ColdOp::Nothing => Flow::Sink,
            },
            LaneOp::Load(access) if may_be_local(access.space) => Flow::Loads,
            LaneOp::Store(_) => Flow::Stores,
            LaneOp::Load(_)
            | LaneOp::Atomic(_)
            | LaneOp::AsyncCopy(_)
            | LaneOp::AsyncCommit
            | LaneOp::AsyncWait { .. } => Flow::Sink,
        },
        Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Mma(_))) => Flow::Wgmma,
        Code::Matrix(MatrixOp::Mma(_)) => Flow::Matrix,
        Code::Matrix(_) => Flow::Sink,
        Code::Sync(SyncOp::Warp { op, .. }) => match op {
            WarpOp::Barrier | WarpOp::Elect { .. } => Flow::Sink,
            WarpOp::Shuffle(_) | WarpOp::Vote(_) | WarpOp::Match(_) | WarpOp::Reduce { .. } => {
                Flow::Computes
            }
        },
        Code::Sync(_)
        | Code::Branch { .. }
        | Code::Call(_)
        | Code::Return
        | Code::Exit
        | Code::Trap => Flow::Sink,
    }
}

/// Whether bits are only moved, or used in a computation.
fn arithmetic(op: &Op, instructions: &[Instruction]) -> Flow {
    let instruction = &instructions[op.instruction as usize];
    let name = instruction.opcode.split('.').next().unwrap_or_default();
    let puts = [
        "and", "bfe", "bfi", "lop3", "mov", "or", "prmt", "selp", "shf", "shl", "shr", "xor",
    ];
    // Operations that prepare operands of other instructions, such as truncating the value of an `st`, only move bits.
    let prepares = !matches!(instruction.kind, InstructionKind::Arithmetic { .. });
    match prepares || puts.contains(&name) {
        true => Flow::Moves,
        false => Flow::Computes,
    }
}
