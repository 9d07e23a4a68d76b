//! Which registers an operation reads and writes.
use crate::op::{Class, Code, Op, WgmmaA};

/// How an operation touches a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Use,
    Def,
}

impl Op {
    /// Shows every register to `see`, uses first; the register allocator renames them so.
    pub fn registers(&mut self, mut see: impl FnMut(Role, Class, &mut u32)) {
        use Class::{Double as D, Predicate as P, Word as W};
        use Role::{Def, Use};
        if let Some((p, _)) = &mut self.guard {
            see(Use, P, p);
        }
        match &mut self.code {
            Code::Word { d, a, b, .. } => {
                see(Use, W, a);
                see(Use, W, b);
                see(Def, W, d);
            }
            Code::MadLo { d, a, b, c }
            | Code::FmaF32 { d, a, b, c }
            | Code::Lop3 { d, a, b, c, .. } => {
                see(Use, W, a);
                see(Use, W, b);
                see(Use, W, c);
                see(Def, W, d);
            }
            Code::Double { d, a, b, .. } => {
                see(Use, D, a);
                see(Use, D, b);
                see(Def, D, d);
            }
            Code::MadWide { d, a, b, c, .. } => {
                see(Use, W, a);
                see(Use, W, b);
                see(Use, D, c);
                see(Def, D, d);
            }
            Code::Extend { d, a, .. } => {
                see(Use, W, a);
                see(Def, D, d);
            }
            Code::Truncate { d, a } => {
                see(Use, D, a);
                see(Def, W, d);
            }
            Code::MoveWord { d, a } | Code::HalfToFloat { d, a } | Code::FloatToHalf { d, a } => {
                see(Use, W, a);
                see(Def, W, d);
            }
            Code::MoveDouble { d, a } => {
                see(Use, D, a);
                see(Def, D, d);
            }
            Code::Compare { d, a, b, .. } => {
                see(Use, W, a);
                see(Use, W, b);
                see(Def, P, d);
            }
            Code::Select { d, a, b, p } => {
                see(Use, W, a);
                see(Use, W, b);
                see(Use, P, p);
                see(Def, W, d);
            }
            Code::Scalar { d, a, b, c, .. } => {
                for reg in [a, b, c] {
                    see(Use, reg.class, &mut reg.index);
                }
                see(Def, d.class, &mut d.index);
            }
            Code::Logic { d, a, b, .. } => {
                see(Use, P, a);
                see(Use, P, b);
                see(Def, P, d);
            }
            Code::Pack { d, parts, .. } => {
                for part in parts {
                    see(Use, part.class, &mut part.index);
                }
                see(Def, d.class, &mut d.index);
            }
            Code::Unpack { parts, a, .. } => {
                see(Use, a.class, &mut a.index);
                for part in parts {
                    see(Def, part.class, &mut part.index);
                }
            }
            Code::Load(access) => {
                see(Use, access.base.class, &mut access.base.index);
                for reg in &mut access.regs[..access.count as usize] {
                    see(Def, access.class, reg);
                }
            }
            Code::Store(access) => {
                see(Use, access.base.class, &mut access.base.index);
                for reg in &mut access.regs[..access.count as usize] {
                    see(Use, access.class, reg);
                }
            }
            Code::Atomic(access) => {
                for reg in [&mut access.base, &mut access.b, &mut access.c] {
                    see(Use, reg.class, &mut reg.index);
                }
                if let Some(d) = &mut access.d {
                    see(Def, d.class, &mut d.index);
                }
            }
            Code::Barrier(barrier) => {
                see(Use, W, &mut barrier.id);
                if let Some(threads) = &mut barrier.threads {
                    see(Use, W, threads);
                }
                if let Some((_, d, p, _)) = &mut barrier.reduce {
                    see(Use, P, p);
                    see(Def, d.class, &mut d.index);
                }
            }
            Code::WarpSync { mask } => see(Use, W, mask),
            Code::Matrix(access) => {
                see(Use, access.base.class, &mut access.base.index);
                let role = if access.store { Use } else { Def };
                for reg in &mut access.regs[..access.count as usize] {
                    see(role, W, reg);
                }
            }
            Code::Mma(mma) => {
                let (a, b) = (mma.k as usize / 4, mma.k as usize / 8);
                for reg in mma.a[..a].iter_mut().chain(&mut mma.b[..b]) {
                    see(Use, W, reg);
                }
                mma.c.iter_mut().for_each(|reg| see(Use, W, reg));
                mma.d.iter_mut().for_each(|reg| see(Def, W, reg));
            }
            Code::Wgmma(wgmma) => {
                see(Use, D, &mut wgmma.b);
                match &mut wgmma.a {
                    WgmmaA::Descriptor(a) => see(Use, D, a),
                    WgmmaA::Registers(a) => a.iter_mut().for_each(|reg| see(Use, W, reg)),
                }
                see(Use, P, &mut wgmma.scale_d.0);
                // Written at a wait that may be far away: what they hold up to there is used.
                wgmma.d.iter_mut().for_each(|reg| see(Use, W, reg));
            }
            Code::WgmmaWait { regs, .. } => regs.iter_mut().for_each(|reg| see(Use, W, reg)),
            Code::AsyncCopy(copy) => {
                see(Use, copy.to.class, &mut copy.to.index);
                see(Use, copy.from.class, &mut copy.from.index);
                if let Some(size) = &mut copy.size {
                    see(Use, W, size);
                }
            }
            Code::Shuffle(s) => {
                for reg in [&mut s.a, &mut s.b, &mut s.c, &mut s.mask] {
                    see(Use, W, reg);
                }
                see(Def, W, &mut s.d);
                if let Some(p) = &mut s.p {
                    see(Def, P, p);
                }
            }
            Code::Vote(vote) => {
                see(Use, P, &mut vote.a);
                see(Use, W, &mut vote.mask);
                see(Def, vote.d.class, &mut vote.d.index);
            }
            Code::Match { d, p, a, mask, .. } => {
                see(Use, a.class, &mut a.index);
                see(Use, W, mask);
                see(Def, W, d);
                see(Def, P, p);
            }
            Code::Reduce { d, a, mask, .. } => {
                see(Use, W, a);
                see(Use, W, mask);
                see(Def, W, d);
            }
            Code::ActiveMask { d } => see(Def, W, d),
            Code::Clock { d } => see(Def, d.class, &mut d.index),
            Code::IsSpace { d, a, .. } => {
                see(Use, a.class, &mut a.index);
                see(Def, P, d);
            }
            Code::Mbarrier(access) => {
                see(Use, access.base.class, &mut access.base.index);
                see(Use, W, &mut access.count);
                if let Some(d) = &mut access.state {
                    see(Def, D, d);
                }
            }
            Code::MbarrierWait(wait) => {
                see(Use, wait.base.class, &mut wait.base.index);
                see(Use, wait.phase.class, &mut wait.phase.index);
                see(Def, P, &mut wait.d);
            }
            Code::MapShared { d, a, rank } => {
                see(Use, a.class, &mut a.index);
                see(Use, W, rank);
                see(Def, d.class, &mut d.index);
            }
            Code::RankOf { d, a } => {
                see(Use, a.class, &mut a.index);
                see(Def, W, d);
            }
            Code::BulkCopy(copy) => {
                see(Use, copy.to.class, &mut copy.to.index);
                see(Use, copy.from.class, &mut copy.from.index);
                copy.coordinates.iter_mut().for_each(|reg| see(Use, W, reg));
                see(Use, W, &mut copy.bytes);
                if let Some((reg, _)) = &mut copy.mbarrier {
                    see(Use, reg.class, &mut reg.index);
                }
                if let Some(mask) = &mut copy.multicast {
                    see(Use, W, mask);
                }
            }
            Code::Elect { d, p, mask } => {
                see(Use, W, mask);
                see(Def, W, d);
                see(Def, P, p);
            }
            Code::ClusterBarrier(_)
            | Code::BulkCommit
            | Code::BulkWait { .. }
            | Code::SetRegisters { .. }
            | Code::AsyncCommit
            | Code::WgmmaFence
            | Code::WgmmaCommit
            | Code::AsyncWait { .. }
            | Code::Branch { .. }
            | Code::Exit
            | Code::Trap
            | Code::FenceProxy
            | Code::FenceInit
            | Code::Nothing => {}
        }
    }
}
