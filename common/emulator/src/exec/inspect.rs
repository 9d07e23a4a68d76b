//! Records the state of a block when its warps reach an instruction ([`SnapshotRequest`](crate::SnapshotRequest)).
use super::block::Execution;
use super::warp::Warp;
use super::warp_access::cut;
use crate::banks::LANES;
use crate::lower::SHARED_BASE;
use crate::op::{
    Address, BulkDirection, Class, Code, ColdOp, LaneOp, LoadStore, MatrixMove, MatrixOp, Mma, Reg,
    WgmmaA, WgmmaOp,
};
use crate::snapshot::NamedRegister;
use crate::{Landed, Operand, OperandSnapshot};

/// Registers that an instruction reads and writes; its address, and the bytes accessed.
#[derive(Default)]
struct Operands {
    address: Option<Address>,
    uses: Vec<NamedRegister>,
    defs: Vec<NamedRegister>,
}

impl Operands {
    fn is_empty(&self) -> bool {
        self.address.is_none() && self.uses.is_empty() && self.defs.is_empty()
    }
}

impl Execution<'_> {
    /// The number of the step that is executed now, or was last, of a block that is stepped through; none if it is not kept.
    pub(super) fn current_step(&self) -> Option<usize> {
        let tracer = self.profiler.tracer.as_ref()?;
        let inspector = tracer.inspector.as_ref()?;
        let is_its_block = inspector.request.block == self.block.index;
        is_its_block.then(|| inspector.current_step())?
    }

    /// A copy has landed in the shared memory of the block of this rank.
    pub(super) fn inspect_landed(&mut self, rank: usize, to: u32, bytes: u32, mbarrier: u32) {
        let index = self.index_of(rank);
        let inspector = self.profiler.tracer.as_mut();
        let inspector = inspector.and_then(|tracer| tracer.inspector.as_mut());
        if let Some(inspector) = inspector.filter(|one| one.request.block == index) {
            let at = to - SHARED_BASE;
            inspector.land(Landed {
                at,
                bytes,
                mbarrier,
            });
        }
    }
}

impl Warp {
    /// Called before each instruction if a snapshot is requested.
    #[inline(never)]
    pub(super) fn inspect(&self, pc: u32, active: u32, cx: &mut Execution<'_>) {
        let op = &cx.machine.program.ops[pc as usize];
        let accumulators = match &op.code {
            Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Wait { pending, .. })) => {
                self.accumulators_waited_for(*pending, cx)
            }
            _ => Vec::new(),
        };
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
        let mut of_step = false;
        if inspector.request.steps > 0 {
            let shared = &cx.block.shared[SHARED_BASE as usize / 4..];
            of_step = inspector.step(op.instruction, warp, active, shared);
        }
        if let Some((index, defs)) = inspector.take_pending(warp)
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
        if due.operands || of_step {
            let mut operands = operands(&op.code);
            operands.defs.extend(named("d", &accumulators));
            if of_step && operands.is_empty() {
                return;
            }
            let address = operands.address.map(|at| Operand {
                role: "address",
                number: 0,
                bytes: if at.base.class == Class::B64 { 8 } else { 4 },
                lanes: self.addresses(at, active),
            });
            let uses = operands.uses.iter().map(|named| self.operand(named));
            let kept = OperandSnapshot {
                instruction,
                warp,
                active,
                operands: address.into_iter().chain(uses).collect(),
            };
            inspector.keep_operands(kept, operands.defs, of_step);
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
                WgmmaA::Registers(a) => named("a", a),
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
        Code::Lane(LaneOp::Cold(cold)) => match &**cold {
            ColdOp::BulkCopy(copy) => Operands {
                address: Some(match copy.way {
                    BulkDirection::SharedToGlobal => copy.from,
                    BulkDirection::GlobalToShared | BulkDirection::SharedToCluster => copy.to,
                }),
                uses: named("coordinate", &copy.coordinates),
                ..Operands::default()
            },
            _ => Operands::default(),
        },
        _ => Operands::default(),
    }
}

fn named(role: &'static str, registers: &[u32]) -> Vec<NamedRegister> {
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
    let values = named("value", &access.regs[..access.count as usize]);
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
    let mut uses = named("a", &mma.a[..a]);
    uses.extend(named("b", &mma.b[..b]));
    uses.extend(named("c", &mma.c[..c]));
    Operands {
        address: None,
        uses,
        defs: named("d", &mma.d[..c]),
    }
}
