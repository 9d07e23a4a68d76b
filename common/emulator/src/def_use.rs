//! Which registers an operation reads (uses) and writes (defines).
use crate::op::{
    CallTarget, Class, Code, ColdOp, LaneOp, MatrixOp, Op, Reg, SyncOp, WarpOp, WgmmaA, WgmmaOp,
};

/// How an operation touches a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefUse {
    Use,
    Def,
}

use Class::{B32, B64, Predicate};
use DefUse::{Def, Use};

impl Op {
    /// Calls `see` with every register, uses first; the register allocator renames them this way.
    pub fn registers(&mut self, mut see: impl FnMut(DefUse, Class, &mut u32)) {
        if let Some((p, _)) = &mut self.guard {
            see(Use, Predicate, p);
        }
        match &mut self.code {
            Code::Lane(op) => op.registers(&mut see),
            Code::Matrix(op) => op.registers(&mut see),
            Code::Sync(op) => op.registers(&mut see),
            Code::Call(call) => {
                if let CallTarget::Pointer(target) = &mut call.target {
                    see(Use, target.class, &mut target.index);
                }
            }
            Code::Branch { .. } | Code::Return | Code::Exit | Code::Trap => {}
        }
    }
}

type See<'a> = &'a mut dyn FnMut(DefUse, Class, &mut u32);

fn uses(see: See<'_>, class: Class, regs: &mut [u32]) {
    regs.iter_mut().for_each(|reg| see(Use, class, reg));
}

fn defines(see: See<'_>, class: Class, regs: &mut [u32]) {
    regs.iter_mut().for_each(|reg| see(Def, class, reg));
}

/// Registers that each carry their own class.
fn uses_any<'a>(see: See<'_>, regs: impl IntoIterator<Item = &'a mut Reg>) {
    for reg in regs {
        see(Use, reg.class, &mut reg.index);
    }
}

fn defines_any<'a>(see: See<'_>, regs: impl IntoIterator<Item = &'a mut Reg>) {
    for reg in regs {
        see(Def, reg.class, &mut reg.index);
    }
}

/// Sources and a destination, each with its class.
fn mixed<const N: usize>(see: See<'_>, sources: [(Class, &mut u32); N], d: (Class, &mut u32)) {
    for (class, reg) in sources {
        see(Use, class, reg);
    }
    see(Def, d.0, d.1);
}

/// `[d, a, b, …]`, all of one class.
fn simple(see: See<'_>, class: Class, regs: &mut [u32]) {
    if let [d, sources @ ..] = regs {
        uses(see, class, sources);
        see(Def, class, d);
    }
}

impl LaneOp {
    fn registers(&mut self, see: See<'_>) {
        match self {
            Self::B32(_, regs) => simple(see, B32, regs),
            Self::MadLo(regs) | Self::FmaF32(regs) => simple(see, B32, regs),
            Self::B64(_, regs) => simple(see, B64, regs),
            Self::ShiftB64(_, [d, a, n]) => mixed(see, [(B64, a), (B32, n)], (B64, d)),
            Self::MadWide(_, [d, a, b, c]) => {
                mixed(see, [(B32, a), (B32, b), (B64, c)], (B64, d));
            }
            Self::Extend(_, [d, a]) => mixed(see, [(B32, a)], (B64, d)),
            Self::Truncate([d, a]) => mixed(see, [(B64, a)], (B32, d)),
            Self::MoveB32(regs) | Self::F16ToF32(regs) | Self::F32ToF16(regs) => {
                simple(see, B32, regs);
            }
            Self::F32sToHalves(_, regs) => simple(see, B32, regs),
            Self::MoveB64(regs) => simple(see, B64, regs),
            Self::Compare(_, [d, a, b]) => mixed(see, [(B32, a), (B32, b)], (Predicate, d)),
            Self::Select([d, a, b, p]) => {
                mixed(see, [(B32, a), (B32, b), (Predicate, p)], (B32, d));
            }
            Self::Logic(_, regs, _) => simple(see, Predicate, regs),
            Self::Load(access) => {
                uses_any(see, [&mut access.address.base]);
                defines(see, access.class, &mut access.regs[..access.count as usize]);
            }
            Self::Store(access) => {
                uses_any(see, [&mut access.address.base]);
                uses(see, access.class, &mut access.regs[..access.count as usize]);
            }
            Self::Atomic(access) => {
                uses_any(
                    see,
                    [&mut access.address.base, &mut access.b, &mut access.c],
                );
                defines_any(see, &mut access.d);
            }
            Self::AsyncCopy(copy) => {
                uses_any(see, [&mut copy.to.base, &mut copy.from.base]);
                uses(see, B32, copy.size.as_mut_slice());
            }
            Self::AsyncCommit | Self::AsyncWait { .. } => {}
            Self::Cold(op) => op.registers(see),
        }
    }
}

impl ColdOp {
    fn registers(&mut self, see: See<'_>) {
        match self {
            Self::Scalar(_, d, sources) => {
                uses_any(see, sources);
                defines_any(see, [d]);
            }
            Self::Lop3(_, regs) => simple(see, B32, regs),
            Self::Pack(_, d, parts) => {
                uses_any(see, parts);
                defines_any(see, [d]);
            }
            Self::Unpack(_, parts, a) => {
                uses_any(see, [a]);
                defines_any(see, parts);
            }
            Self::Mbarrier(access) => {
                uses_any(see, [&mut access.address.base]);
                see(Use, B32, &mut access.count);
                defines(see, B64, access.state.as_mut_slice());
            }
            Self::BulkCopy(copy) => {
                uses_any(see, [&mut copy.to.base, &mut copy.from.base]);
                uses(see, B32, &mut copy.coordinates);
                see(Use, B32, &mut copy.bytes);
                uses_any(see, copy.mbarrier.as_mut().map(|at| &mut at.base));
                uses(see, B32, copy.multicast.as_mut_slice());
            }
            Self::StoreAsync(store) => {
                uses_any(see, [&mut store.address.base, &mut store.mbarrier.base]);
                uses(see, store.class, &mut store.regs[..store.count as usize]);
            }
            Self::MapShared([d, a], rank) => {
                uses_any(see, [a]);
                see(Use, B32, rank);
                defines_any(see, [d]);
            }
            Self::RankOf { d, a } => {
                uses_any(see, [a]);
                see(Def, B32, d);
            }
            Self::ActiveMask { d } => see(Def, B32, d),
            Self::Clock { d } => defines_any(see, [d]),
            Self::FrameBase { d } => see(Def, B32, d),
            Self::IsSpace(_, d, a) => {
                uses_any(see, [a]);
                see(Def, Predicate, d);
            }
            Self::BulkCommit
            | Self::BulkWait { .. }
            | Self::Fence(_)
            | Self::AwaitPreviousGrid
            | Self::FenceProxy
            | Self::FenceInit
            | Self::System(_)
            | Self::Nothing => {}
        }
    }
}

impl MatrixOp {
    fn registers(&mut self, see: See<'_>) {
        match self {
            Self::Move(access) => {
                uses_any(see, [&mut access.address.base]);
                let regs = &mut access.regs[..access.count as usize];
                if access.store {
                    uses(see, B32, regs);
                } else {
                    defines(see, B32, regs);
                }
            }
            Self::Transpose(regs) => simple(see, B32, regs),
            Self::Mma(mma) => {
                let [a, b, c] = mma.counts();
                uses(see, B32, &mut mma.a[..a]);
                uses(see, B32, &mut mma.b[..b]);
                uses(see, B32, &mut mma.c[..c]);
                defines(see, B32, &mut mma.d[..c]);
            }
            Self::MmaF64(mma) => {
                uses(see, B64, &mut mma.a);
                uses(see, B64, &mut mma.b);
                uses(see, B64, &mut mma.c);
                defines(see, B64, &mut mma.d);
            }
            Self::Wgmma(WgmmaOp::Mma(wgmma)) => {
                see(Use, B64, &mut wgmma.b);
                match &mut wgmma.a {
                    WgmmaA::Descriptor(a) => see(Use, B64, a),
                    WgmmaA::Registers(a) => uses(see, B32, a),
                }
                see(Use, Predicate, &mut wgmma.scale_d.0);
                // The wait that writes them may be far away, and until then their values are still used.
                uses(see, B32, &mut wgmma.d);
            }
            Self::Wgmma(WgmmaOp::Wait { regs, .. }) => uses(see, B32, regs),
            Self::Wgmma(WgmmaOp::Fence | WgmmaOp::Commit) => {}
        }
    }
}

impl SyncOp {
    fn registers(&mut self, see: See<'_>) {
        match self {
            Self::Warp { mask, op } => {
                see(Use, B32, mask);
                op.registers(see);
            }
            Self::Barrier(barrier) => {
                see(Use, B32, &mut barrier.id);
                uses(see, B32, barrier.threads.as_mut_slice());
                if let Some((_, d, p, _)) = &mut barrier.reduce {
                    see(Use, Predicate, p);
                    defines_any(see, [d]);
                }
            }
            Self::MbarrierWait(wait) => {
                uses_any(see, [&mut wait.address.base, &mut wait.phase]);
                see(Def, Predicate, &mut wait.d);
            }
            Self::ClusterBarrier(_) | Self::SetRegisters { .. } => {}
        }
    }
}

impl WarpOp {
    fn registers(&mut self, see: See<'_>) {
        match self {
            Self::Barrier => {}
            Self::Shuffle(s) => {
                uses(see, B32, &mut s.sources);
                see(Def, B32, &mut s.d);
                defines(see, Predicate, s.p.as_mut_slice());
            }
            Self::Vote(vote) => {
                see(Use, Predicate, &mut vote.a);
                defines_any(see, [&mut vote.d]);
            }
            Self::Match(m) => {
                uses_any(see, [&mut m.a]);
                see(Def, B32, &mut m.d);
                see(Def, Predicate, &mut m.p);
            }
            Self::Reduce { d, a, .. } => mixed(see, [(B32, a)], (B32, d)),
            Self::Elect { d, p } => {
                see(Def, B32, d);
                see(Def, Predicate, p);
            }
        }
    }
}
