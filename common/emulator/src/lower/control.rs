//! Branches, barriers, fences, and communication between the lanes of a warp.
use std::collections::HashMap;

use super::{Lowering, Result, order, scalar};
use crate::PtxError;
use crate::op::{
    Barrier, Class, Code, ColdOp, Compare, LaneOp, Match, Op, Reduction, Scope, Shuffle,
    ShuffleMode, SyncOp, Vote, VoteMode, WarpOp,
};
use crate::ptx::{Instr, Operand};

impl Lowering<'_> {
    pub(super) fn control(&mut self, instr: &Instr) -> Result<()> {
        let code = match instr.opcode[0].as_str() {
            "bra" => match instr.operands[..] {
                // The target is filled in once all labels are known.
                [Operand::Label(target)] => Code::Branch {
                    target,
                    reconvergence: u32::MAX,
                },
                _ => return Err(instr.unsupported()),
            },
            "brx" => return self.indirect(instr),
            "ret" if self.function.is_some() => Code::Return,
            "ret" | "exit" => Code::Exit,
            "trap" => Code::Trap,
            "bar" if instr.has("warp") => {
                let [mask] = self.operands::<1>(instr)?;
                self.warp(instr, mask, WarpOp::Barrier)?
            }
            "barrier" if instr.has("cluster") => self.cluster_barrier(instr)?.into(),
            "elect" => self.elect(instr)?,
            "setmaxnreg" => self.set_registers(instr)?.into(),
            "bar" | "barrier" => self.barrier(instr)?.into(),
            "membar" | "fence" => self.fence(instr).into(),
            // The emulator runs grids one after another, so only the sanitizer needs this wait.
            "griddepcontrol" if instr.has("wait") => ColdOp::AwaitPreviousGrid.into(),
            "griddepcontrol" | "nanosleep" | "prefetch" | "prefetchu" | "pmevent" | "discard"
            | "applypriority" => ColdOp::Nothing.into(),
            "activemask" => {
                let [d] = self.operands::<1>(instr)?;
                let d = self.dest_of(instr, d, Class::B32)?.index;
                ColdOp::ActiveMask { d }.into()
            }
            "shfl" => self.shuffle(instr)?,
            "vote" => self.vote(instr)?,
            "match" => self.matching(instr)?,
            "redux" => self.redux(instr)?,
            _ => return Err(instr.unsupported()),
        };
        self.push(code);
        Ok(())
    }

    /// Fences matter only to the sanitizer: the emulator executes memory accesses in order.
    fn fence(&mut self, instr: &Instr) -> ColdOp {
        match () {
            () if instr.has("mbarrier_init") => ColdOp::FenceInit,
            // Global memory has only one proxy in the emulator: every write is visible to all.
            () if instr.has("async") && instr.has("global") => ColdOp::Nothing,
            // Unidirectional fences: from the generic to the async proxy; the other direction needs none in the
            // emulator.
            () if instr.has("async::generic") && instr.has("acquire") => ColdOp::Nothing,
            () if instr.has_any(&["async", "async::generic"]) => ColdOp::FenceProxy,
            // A tensor map cannot change during a launch of the emulator, and there are no aliases.
            () if instr.has("proxy") => ColdOp::Nothing,
            () => {
                // The scope `.cluster` needs no special treatment, since blocks of a cluster run together.
                let scope = order::scope(instr).unwrap_or(Scope::Gpu);
                self.communicates |= scope == Scope::Gpu;
                ColdOp::Fence(scope)
            }
        }
    }

    /// `brx.idx index, list`: a branch for each label except the last, to which all other threads go. An
    /// index beyond the list is undefined (PTX ISA, "brx.idx").
    fn indirect(&mut self, instr: &Instr) -> Result<()> {
        let [index, Operand::Targets(targets)] = self.operands::<2>(instr)? else {
            return Err(instr.unsupported());
        };
        let (Some((last, others)), None) = (targets.split_last(), self.guard) else {
            return Err(instr.unsupported());
        };
        let a = self.source(instr, index, Class::B32)?.index;
        let reconvergence = u32::MAX;
        for (i, &target) in others.iter().enumerate() {
            let b = self.constant(Class::B32, i as u64).index;
            let d = self.temp(Class::Predicate).index;
            self.push_always(LaneOp::Compare(Compare::Eq, [d, a, b]));
            self.push_guarded(
                Some((d, false)),
                Code::Branch {
                    target,
                    reconvergence,
                },
            );
        }
        let target = *last;
        self.push_always(Code::Branch {
            target,
            reconvergence,
        });
        Ok(())
    }

    fn barrier(&mut self, instr: &Instr) -> Result<SyncOp> {
        // `bar` is `barrier.aligned` (PTX ISA, "Parallel Synchronization: bar").
        let aligned = instr.opcode[0] == "bar" || instr.has("aligned");
        let wait = !instr.has("arrive");
        let mut operands = instr.operands.iter();
        let mut reduce = None;
        if instr.has("red") {
            let (op, class) = match () {
                () if instr.has("popc") => (Reduction::Popc, Class::B32),
                () if instr.has("and") => (Reduction::And, Class::Predicate),
                () if instr.has("or") => (Reduction::Or, Class::Predicate),
                () => return Err(instr.unsupported()),
            };
            let (Some(d), Some((p, rest))) = (operands.next(), instr.operands.split_last()) else {
                return Err(instr.unsupported());
            };
            let d = self.dest(instr, d)?;
            instr.require(d.class == class && rest.len() > 1)?;
            let (p, negated) = self.predicate(instr, p)?;
            reduce = Some((op, d, p, negated));
            operands = rest[1..].iter();
        }
        let id = match operands.next() {
            Some(id) => self.source(instr, id, Class::B32)?,
            None => self.constant(Class::B32, 0),
        };
        let threads = match operands.next() {
            Some(threads) => Some(self.source(instr, threads, Class::B32)?.index),
            None if !wait => return Err(instr.wrong("needs a number of threads")),
            None => None,
        };
        instr.require(operands.next().is_none())?;
        Ok(SyncOp::Barrier(Box::new(Barrier {
            id: id.index,
            threads,
            aligned,
            wait,
            reduce,
        })))
    }

    fn shuffle(&mut self, instr: &Instr) -> Result<Code> {
        let mode = match () {
            () if instr.has("up") => ShuffleMode::Up,
            () if instr.has("down") => ShuffleMode::Down,
            () if instr.has("bfly") => ShuffleMode::Bfly,
            () if instr.has("idx") => ShuffleMode::Idx,
            () => return Err(instr.unsupported()),
        };
        let [d, a, b, c, mask] = self.operands::<5>(instr)?;
        let (d, p) = match d {
            Operand::Pair(d, p) => (&**d, Some(self.dest_of(instr, p, Class::Predicate)?.index)),
            d => (d, None),
        };
        let d = self.dest_of(instr, d, Class::B32)?.index;
        let sources = self.sources(instr, [a, b, c], Class::B32)?;
        let sources = sources.map(|reg| reg.index);
        let shuffle = Shuffle {
            mode,
            d,
            p,
            sources,
        };
        self.warp(instr, mask, WarpOp::Shuffle(Box::new(shuffle)))
    }

    fn vote(&mut self, instr: &Instr) -> Result<Code> {
        let (mode, class) = match () {
            () if instr.has("all") => (VoteMode::All, Class::Predicate),
            () if instr.has("any") => (VoteMode::Any, Class::Predicate),
            () if instr.has("uni") => (VoteMode::Uni, Class::Predicate),
            () if instr.has("ballot") => (VoteMode::Ballot, Class::B32),
            () => return Err(instr.unsupported()),
        };
        let [d, a, mask] = self.operands::<3>(instr)?;
        let d = self.dest(instr, d)?;
        instr.require(d.class == class)?;
        let (a, negate) = self.predicate(instr, a)?;
        let vote = Vote { mode, d, a, negate };
        self.warp(instr, mask, WarpOp::Vote(Box::new(vote)))
    }

    fn matching(&mut self, instr: &Instr) -> Result<Code> {
        let [d, a, mask] = self.operands::<3>(instr)?;
        let (d, p) = match d {
            Operand::Pair(d, p) => (&**d, self.dest(instr, p)?),
            d => (d, self.temp(Class::Predicate)),
        };
        let d = self.dest_of(instr, d, Class::B32)?.index;
        instr.require(p.class == Class::Predicate)?;
        let class = match instr.has("b64") {
            true => Class::B64,
            false => Class::B32,
        };
        let (all, p) = (instr.has("all"), p.index);
        let a = self.source(instr, a, class)?;
        self.warp(instr, mask, WarpOp::Match(Box::new(Match { all, d, p, a })))
    }

    fn redux(&mut self, instr: &Instr) -> Result<Code> {
        let [d, a, mask] = self.operands::<3>(instr)?;
        // The operations of `atom`, without `exch` and `cas`.
        let ty = instr.last_type()?;
        instr.require(ty.bits == 32 && !ty.is_float() && !instr.has_any(&["exch", "cas"]))?;
        let f = scalar::atomic(instr, ty).ok_or_else(|| instr.unsupported())?;
        let d = self.dest_of(instr, d, Class::B32)?.index;
        let a = self.source(instr, a, Class::B32)?.index;
        self.warp(instr, mask, WarpOp::Reduce { f, d, a })
    }

    /// `elect.sync d|p, mask`
    fn elect(&mut self, instr: &Instr) -> Result<Code> {
        let [Operand::Pair(d, p), mask] = self.operands::<2>(instr)? else {
            return Err(instr.unsupported());
        };
        let d = match &**d {
            Operand::Sink => self.temp(Class::B32),
            d => self.dest_of(instr, d, Class::B32)?,
        };
        let p = self.dest_of(instr, p, Class::Predicate)?.index;
        self.warp(instr, mask, WarpOp::Elect { d: d.index, p })
    }

    fn warp(&mut self, instr: &Instr, mask: &Operand, op: WarpOp) -> Result<Code> {
        let mask = self.source(instr, mask, Class::B32)?.index;
        Ok(SyncOp::Warp { mask, op }.into())
    }
}

/// Replaces labels by operation numbers.
pub(super) fn resolve(ops: &mut [Op], labels: &HashMap<u32, u32>, line: u32) -> Result<()> {
    for op in ops {
        if let Code::Branch { target, .. } = &mut op.code {
            *target = *labels.get(target).ok_or_else(|| {
                PtxError::new(line, "a branch goes to a label that is not defined")
            })?;
        }
    }
    Ok(())
}
