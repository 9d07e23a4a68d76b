//! Records the state of a block when its warps reach an instruction ([`SnapshotRequest`](crate::SnapshotRequest)).
use super::block::Execution;
use super::warp::Warp;
use super::warp_access::cut;
use crate::banks::LANES;
use crate::lower::SHARED_BASE;
use crate::op::{
    Address, Class, Code, LaneOp, LoadStore, MatrixMove, MatrixOp, Mma, Reg, WgmmaA, WgmmaOp,
};
use crate::snapshot::NamedRegister;
use crate::{Operand, OperandSnapshot};

/// Registers that an instruction reads and writes; its address, and the bytes accessed.
#[derive(Default)]
struct Operands {
    address: Option<Address>,
    uses: Vec<NamedRegister>,
    defs: Vec<NamedRegister>,
}

impl Warp {
    /// Called before each instruction if a snapshot is requested.
    #[inline(never)]
    pub(super) fn inspect(&self, pc: u32, active: u32, cx: &mut Execution<'_>) {
        let op = &cx.machine.program.ops[pc as usize];
        let Some(inspector) = cx
            .profiler
            .tracer
            .as_mut()
            .and_then(|tracer| tracer.inspector.as_mut())
        else {
            return;
        };
        if cx.block.index != inspector.request.block {
            return;
        }
        let (instruction, warp) = (op.instruction as usize, self.index as u32);
        if inspector.request.steps > 0 {
            let shared = &cx.block.shared[SHARED_BASE as usize / 4..];
            inspector.step(op.instruction, warp, active, shared);
        }
        if let Some((index, defs)) = inspector.pending.remove(&warp)
            && let Some(found) = inspector.found.operands.get_mut(index)
        {
            found
                .operands
                .extend(defs.iter().map(|named| self.operand(named)));
        }
        if active == 0 {
            return;
        }
        let due = inspector.count(instruction, warp);
        if due.shared {
            let words = cx.block.shared.iter().flat_map(|word| word.to_le_bytes());
            inspector.keep_shared(warp, words.skip(SHARED_BASE as usize));
        }
        if due.operands {
            let operands = operands(&op.code);
            let address = operands.address.map(|at| Operand {
                role: "address",
                number: 0,
                bytes: if at.base.class == Class::B64 { 8 } else { 4 },
                lanes: self.addresses(at, active),
            });
            let uses = operands.uses.iter().map(|named| self.operand(named));
            inspector.found.operands.push(OperandSnapshot {
                instruction,
                warp,
                active,
                operands: address.into_iter().chain(uses).collect(),
            });
            let index = inspector.found.operands.len() - 1;
            inspector.pending.insert(warp, (index, operands.defs));
        }
    }

    fn operand(&self, &(role, number, bytes, reg): &NamedRegister) -> Operand {
        let index = reg.index as usize;
        let lanes = std::array::from_fn(|lane| match reg.class {
            Class::B32 => self.b32[index].0[lane].into(),
            Class::B64 => self.b64[index].0[lane],
            Class::Predicate => u64::from(self.predicates[index] >> lane & 1),
        });
        let lanes: [u64; LANES] = lanes;
        Operand {
            role,
            number,
            bytes,
            lanes: lanes.map(|value| cut(value, bytes)),
        }
    }
}

/// The operands of operations that move data or multiply matrices; none for all others.
fn operands(code: &Code) -> Operands {
    match code {
        Code::Matrix(MatrixOp::Move(access)) => matrix_move(access),
        Code::Matrix(MatrixOp::Mma(mma)) => product(mma),
        Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Mma(wgmma))) => {
            let b64 = |role, index| {
                (
                    role,
                    0,
                    8,
                    Reg {
                        class: Class::B64,
                        index,
                    },
                )
            };
            let mut uses = match &wgmma.a {
                WgmmaA::Descriptor(a) => vec![b64("a", *a)],
                WgmmaA::Registers(a) => words("a", a),
            };
            uses.push(b64("b", wgmma.b));
            Operands {
                uses,
                ..Operands::default()
            }
        }
        Code::Lane(LaneOp::Load(access)) => Operands {
            address: Some(access.address),
            defs: elements(access),
            ..Operands::default()
        },
        Code::Lane(LaneOp::Store(access)) => Operands {
            address: Some(access.address),
            uses: elements(access),
            ..Operands::default()
        },
        Code::Lane(LaneOp::AsyncCopy(copy)) => Operands {
            address: Some(copy.to),
            ..Operands::default()
        },
        _ => Operands::default(),
    }
}

fn words(role: &'static str, registers: &[u32]) -> Vec<NamedRegister> {
    let named = |(number, &index): (usize, &u32)| {
        let class = Class::B32;
        (role, number, 4, Reg { class, index })
    };
    registers.iter().enumerate().map(named).collect()
}

fn elements(access: &LoadStore) -> Vec<NamedRegister> {
    let count = access.count as usize;
    let named = |number| ("value", number, access.bytes, access.reg(number));
    (0..count).map(named).collect()
}

fn matrix_move(access: &MatrixMove) -> Operands {
    let values = words("value", &access.regs[..access.count as usize]);
    let (uses, defs) = match access.store {
        true => (values, Vec::new()),
        false => (Vec::new(), values),
    };
    Operands {
        address: Some(access.address),
        uses,
        defs,
    }
}

fn product(mma: &Mma) -> Operands {
    let [a, b, c] = mma.counts();
    let mut uses = words("a", &mma.a[..a]);
    uses.extend(words("b", &mma.b[..b]));
    uses.extend(words("c", &mma.c[..c]));
    Operands {
        address: None,
        uses,
        defs: words("d", &mma.d[..c]),
    }
}
