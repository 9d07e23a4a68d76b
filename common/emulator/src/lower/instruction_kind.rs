//! Derives the kind of an instruction from the operations that it was lowered to.
use crate::instruction_kind::{
    Base, FactorFormat, Fence, InstructionKind, MatrixProduct, Number, Space, SumFormat, Transfer,
};
use crate::op::{Code, ColdOp, LaneOp, MatrixOp, MbarrierAction, Op, SyncOp, WarpOp, WgmmaOp};
use crate::ptx::{Instr, Operand, Type, TypeKind};

/// The first operation that is not arithmetic determines the kind; if there is none, the name does.
pub(super) fn kind_of(instr: &Instr, ops: &[Op]) -> InstructionKind {
    ops.iter()
        .find_map(|op| match &op.code {
            Code::Lane(op) => of_lane(instr, op),
            Code::Matrix(op) => of_matrix(instr, op),
            Code::Sync(op) => Some(of_sync(op)),
            Code::Branch { .. } | Code::Call(_) => Some(InstructionKind::Branch),
            Code::Exit | Code::Return => Some(InstructionKind::Exit),
            Code::Trap => Some(InstructionKind::Trap),
        })
        .unwrap_or_else(|| of_name(instr))
}

fn of_lane(instr: &Instr, op: &LaneOp) -> Option<InstructionKind> {
    Some(match op {
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
        | LaneOp::Logic(..) => return None,
        LaneOp::Load(access) => InstructionKind::Load(transfer(instr, access.bytes)),
        LaneOp::Store(access) => InstructionKind::Store(transfer(instr, access.bytes)),
        LaneOp::Atomic(access) => InstructionKind::Atomic {
            space: access.space,
            bytes: access.bytes,
        },
        LaneOp::AsyncCopy(copy) => InstructionKind::AsyncCopy {
            bytes: copy.bytes,
            through_l1: instr.has("ca"),
        },
        LaneOp::AsyncCommit | LaneOp::AsyncWait { .. } => InstructionKind::AsyncCopyGroup,
        LaneOp::Cold(op) => return of_cold(instr, op),
    })
}

fn of_cold(instr: &Instr, op: &ColdOp) -> Option<InstructionKind> {
    Some(match op {
        ColdOp::Scalar(..)
        | ColdOp::Lop3(..)
        | ColdOp::Pack(..)
        | ColdOp::Unpack(..)
        | ColdOp::Clock { .. }
        | ColdOp::FrameBase { .. }
        | ColdOp::AwaitPreviousGrid
        | ColdOp::Nothing => return None,
        ColdOp::Mbarrier(access) => InstructionKind::Mbarrier {
            space: access.space,
            transaction: match access.action {
                MbarrierAction::ExpectTx
                | MbarrierAction::CompleteTx
                | MbarrierAction::ArriveExpectTx { .. } => true,
                MbarrierAction::Init
                | MbarrierAction::Invalidate
                | MbarrierAction::Arrive { .. }
                | MbarrierAction::Copies { .. } => false,
            },
        },
        ColdOp::BulkCopy(copy) => InstructionKind::BulkCopy {
            tensor: !copy.coordinates.is_empty(),
        },
        ColdOp::StoreAsync(store) if store.reduction.is_some() => InstructionKind::Atomic {
            space: Space::Cluster,
            bytes: store.bytes,
        },
        ColdOp::StoreAsync(store) => InstructionKind::Store(Transfer {
            space: Space::Cluster,
            ..transfer(instr, store.bytes)
        }),
        ColdOp::BulkCommit | ColdOp::BulkWait { .. } => InstructionKind::BulkCopyGroup,
        ColdOp::MapShared(..) | ColdOp::RankOf { .. } => InstructionKind::ClusterAddress,
        ColdOp::Fence(_) => InstructionKind::Fence(Fence::Memory),
        ColdOp::FenceProxy => InstructionKind::Fence(Fence::AsyncProxy),
        ColdOp::FenceInit => InstructionKind::Fence(Fence::MbarrierInit),
        ColdOp::ActiveMask { .. } => InstructionKind::Vote,
        ColdOp::IsSpace(space, ..) => InstructionKind::IsSpace(*space),
        ColdOp::System(_) => InstructionKind::SystemCall,
    })
}

fn of_matrix(instr: &Instr, op: &MatrixOp) -> Option<InstructionKind> {
    Some(match op {
        MatrixOp::Transpose(_) if instr.opcode[0] == "movmatrix" => InstructionKind::Shuffle,
        // Part of a `wmma` load or store.
        MatrixOp::Transpose(_) => return None,
        MatrixOp::Move(access) => {
            let (count, transposed) = (access.count, access.transposed);
            match access.store {
                true => InstructionKind::StoreMatrix { count, transposed },
                false => InstructionKind::LoadMatrix { count, transposed },
            }
        }
        MatrixOp::Mma(mma) => InstructionKind::Mma(mma.product),
        MatrixOp::MmaF64(mma) => InstructionKind::Mma(MatrixProduct {
            m: mma.rows,
            n: 8,
            k: mma.depth,
            factors: FactorFormat::F64,
            sums: SumFormat::F64,
        }),
        MatrixOp::Wgmma(WgmmaOp::Mma(wgmma)) => InstructionKind::Wgmma(wgmma.product),
        MatrixOp::Wgmma(WgmmaOp::Fence | WgmmaOp::Commit | WgmmaOp::Wait { .. }) => {
            InstructionKind::WgmmaGroup
        }
    })
}

fn of_sync(op: &SyncOp) -> InstructionKind {
    match op {
        SyncOp::Warp { op, .. } => match op {
            WarpOp::Barrier => InstructionKind::WarpBarrier,
            WarpOp::Shuffle(_) => InstructionKind::Shuffle,
            WarpOp::Vote(_) | WarpOp::Match(_) | WarpOp::Reduce { .. } => InstructionKind::Vote,
            WarpOp::Elect { .. } => InstructionKind::Elect,
        },
        SyncOp::Barrier(_) => InstructionKind::Barrier,
        SyncOp::MbarrierWait(wait) => InstructionKind::MbarrierWait {
            space: wait.space,
            blocking: wait.blocking,
        },
        SyncOp::ClusterBarrier(_) => InstructionKind::ClusterBarrier,
        SyncOp::SetRegisters { .. } => InstructionKind::SetRegisters,
    }
}

/// Instructions that are lowered to arithmetic, to moves or to nothing.
fn of_name(instr: &Instr) -> InstructionKind {
    let types = instr.types();
    let integers =
        || types.len() + 1 == instr.opcode.len() && types.iter().all(|ty| !ty.is_float());
    match instr.opcode[0].as_str() {
        "mov" => InstructionKind::Move,
        "cvt" if integers() => InstructionKind::Move,
        "cvta" => InstructionKind::ConvertAddress(instr.space()),
        // A load of a parameter that is in a register from the start.
        "ld" => InstructionKind::Load(transfer(instr, types.last().map_or(0, |ty| ty.bytes()))),
        "fence" | "membar" if !instr.has("proxy") => InstructionKind::Fence(Fence::Memory),
        "fence" if instr.has("async") || instr.has("async::generic") => {
            InstructionKind::Fence(Fence::AsyncProxy)
        }
        "fence" => InstructionKind::Fence(Fence::OtherProxy),
        "cp" => InstructionKind::Hint { bulk: true },
        "griddepcontrol" | "createpolicy" | "nanosleep" | "prefetch" | "prefetchu" | "pmevent"
        | "discard" | "applypriority" => InstructionKind::Hint { bulk: false },
        _ if instr.has_any(&["approx", "full"]) => InstructionKind::Approximate {
            number: number(&types),
            mufu: if types.last().is_some_and(|ty| ty.pair) {
                2
            } else {
                1
            },
        },
        name => InstructionKind::Arithmetic {
            number: number(&types),
            multiply_add: ["fma", "mad", "add", "sub", "mul"].contains(&name),
        },
    }
}

/// The type that arithmetic with these types computes in.
fn number(types: &[Type]) -> Number {
    types.last().map_or(Number::Integer, |ty| match ty.kind {
        TypeKind::Predicate => Number::Predicate,
        TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits => Number::Integer,
        TypeKind::Brain => Number::Half,
        TypeKind::Float => match (ty.bits, ty.pair) {
            (32, false) => Number::F32,
            (64, _) => Number::F64,
            _ => Number::Half,
        },
    })
}

/// Arguments of an inlined call are local variables in the emulator, parameters in PTX, and registers after ptxas.
fn transfer(instr: &Instr, bytes: u32) -> Transfer {
    let address = instr.operands.iter().find_map(|operand| match operand {
        Operand::Address(base, offset) => Some((&**base, *offset)),
        _ => None,
    });
    let (base, offset) = match address {
        Some((Operand::Register(id), offset)) => (Some(Base::Register(*id)), offset),
        Some((Operand::Symbol(name, more), offset)) => (
            Some(Base::Variable(name.clone())),
            offset.wrapping_add(*more),
        ),
        Some((_, offset)) => (None, offset),
        None => (None, 0),
    };
    let ordered = instr.has_any(&["volatile", "relaxed", "acquire", "release"]);
    Transfer {
        space: instr.space(),
        bytes,
        elements: match () {
            () if instr.has("v2") => 2,
            () if instr.has("v4") => 4,
            () => 1,
        },
        ordered,
        through_l1: instr.opcode[0] != "st" && !ordered && !instr.has_any(&["cg", "cv"]),
        base,
        offset,
    }
}
