//! Branches, barriers, and what the lanes of a warp tell each other.
use std::collections::HashMap;

use super::{Lowering, Result, scalar};
use crate::PtxError;
use crate::op::{
    Barrier, Class, Code, Compare, Op, Reduction, Shuffle, ShuffleMode, Vote, VoteMode,
};
use crate::ptx::{Instr, Operand, Type};

type Guard = Option<(u32, bool)>;

impl Lowering<'_> {
    pub(super) fn control(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let code = match instr.opcode[0].as_str() {
            "bra" => {
                let [Operand::Label(label)] = &instr.operands[..] else {
                    return Err(instr.unsupported());
                };
                // The label's place is put in once all are known.
                Code::Branch {
                    target: *label,
                    rejoin: u32::MAX,
                }
            }
            "brx" => return self.indirect(instr, guard),
            "ret" | "exit" => Code::Exit,
            "trap" => Code::Trap,
            "bar" if instr.has("warp") => {
                let [mask] = self.operands::<1>(instr)?;
                Code::WarpSync {
                    mask: self.source(instr, mask, Class::Word)?.index,
                }
            }
            "barrier" if instr.has("cluster") => self.cluster_barrier(instr)?,
            "elect" => self.elect(instr)?,
            "setmaxnreg" => self.set_registers(instr)?,
            // Grids of the emulator run one after another: there is none to wait for, and none waits.
            "griddepcontrol" => Code::Nothing,
            "bar" | "barrier" => return self.barrier(instr, guard),
            "membar" | "fence" => self.fence(instr)?,
            "nanosleep" | "prefetch" | "prefetchu" | "brkpt" | "pmevent" | "discard"
            | "applypriority" => Code::Nothing,
            "activemask" => {
                let [d] = self.operands::<1>(instr)?;
                Code::ActiveMask {
                    d: self.word_dest(instr, d)?,
                }
            }
            "shfl" => self.shuffle(instr)?,
            "vote" => self.vote(instr)?,
            "match" => self.matching(instr)?,
            "redux" => self.redux(instr)?,
            _ => return Err(instr.unsupported()),
        };
        self.push(guard, code);
        Ok(())
    }

    /// Fences. Of those between proxies and of `mbarrier.init`, the sanitizer takes note; the others order
    /// what the emulator keeps in order anyway.
    fn fence(&mut self, instr: &Instr) -> Result<Code> {
        let rest: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        Ok(match rest[..] {
            // In global memory the emulator has one proxy: every write is seen by all.
            ["proxy", "async", "global"] => Code::Nothing,
            ["proxy", "async"] | ["proxy", "async", "shared::cta" | "shared::cluster"] => {
                Code::FenceProxy
            }
            // One-way: from the generic to the async proxy, and back, where nothing is missing.
            [
                "proxy",
                "async::generic",
                "release",
                "sync_restrict::shared::cta",
                "cluster",
            ] => Code::FenceProxy,
            [
                "proxy",
                "async::generic",
                "acquire",
                "sync_restrict::shared::cluster",
                "cluster",
            ] => Code::Nothing,
            // A tensor map cannot change during a launch of the emulator, and there are no aliases.
            ["proxy", "alias"] | ["proxy", "tensormap::generic", ..] => Code::Nothing,
            ["mbarrier_init", "release", "cluster"] => Code::FenceInit,
            ["proxy", ..] => return Err(instr.unsupported()),
            _ => {
                // Blocks of a cluster run together anyway.
                if ["gl", "sys", "gpu"].iter().any(|s| instr.has(s)) {
                    self.talks = true;
                }
                Code::Nothing
            }
        })
    }

    /// `brx.idx index, list`: a branch for each label but the last, to which everybody else goes. An index
    /// beyond the list is undefined (PTX ISA, "brx.idx").
    fn indirect(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let [index, Operand::Targets(targets)] = self.operands::<2>(instr)? else {
            return Err(instr.unsupported());
        };
        let (Some((last, others)), None) = (targets.split_last(), guard) else {
            return Err(instr.unsupported());
        };
        let a = self.source(instr, index, Class::Word)?.index;
        let rejoin = u32::MAX;
        for (i, &target) in others.iter().enumerate() {
            let b = self.constant(Class::Word, i as u64).index;
            let d = self.temp(Class::Predicate).index;
            let op = Compare::Eq;
            self.push(None, Code::Compare { op, d, a, b });
            self.push(Some((d, false)), Code::Branch { target, rejoin });
        }
        let target = *last;
        self.push(None, Code::Branch { target, rejoin });
        Ok(())
    }

    fn word_dest(&mut self, instr: &Instr, operand: &Operand) -> Result<u32> {
        let d = self.dest(instr, operand)?;
        if d.class == Class::Word {
            Ok(d.index)
        } else {
            Err(instr.error(format!(
                "the result register of `{}` has the wrong width",
                instr.text
            )))
        }
    }

    fn barrier(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        // `bar` is `barrier.aligned` (PTX ISA, "Parallel Synchronization: bar").
        let aligned = instr.opcode[0] == "bar" || instr.has("aligned");
        let wait = !instr.has("arrive");
        let mut operands = instr.operands.iter();
        let mut reduce = None;
        if instr.has("red") {
            let op = match () {
                () if instr.has("popc") => Reduction::Popc,
                () if instr.has("and") => Reduction::And,
                () if instr.has("or") => Reduction::Or,
                () => return Err(instr.unsupported()),
            };
            let (Some(d), Some((p, rest))) = (operands.next(), instr.operands.split_last()) else {
                return Err(instr.unsupported());
            };
            let d = self.dest(instr, d)?;
            let class = if op == Reduction::Popc {
                Class::Word
            } else {
                Class::Predicate
            };
            if d.class != class || rest.len() < 2 {
                return Err(instr.unsupported());
            }
            let (p, negated) = self.predicate(instr, p)?;
            reduce = Some((op, d, p, negated));
            operands = rest[1..].iter();
        }
        let id = match operands.next() {
            Some(id) => self.source(instr, id, Class::Word)?,
            None => self.constant(Class::Word, 0),
        };
        let threads = match operands.next() {
            Some(threads) => Some(self.source(instr, threads, Class::Word)?.index),
            None if !wait => {
                return Err(instr.error(format!("`{}` needs a number of threads", instr.text)));
            }
            None => None,
        };
        if operands.next().is_some() {
            return Err(instr.unsupported());
        }
        self.push(
            guard,
            Code::Barrier(Box::new(Barrier {
                id: id.index,
                threads,
                aligned,
                wait,
                reduce,
            })),
        );
        Ok(())
    }

    fn shuffle(&mut self, instr: &Instr) -> Result<Code> {
        let mode = match () {
            () if instr.has("up") => ShuffleMode::Up,
            () if instr.has("down") => ShuffleMode::Down,
            () if instr.has("bfly") => ShuffleMode::Bfly,
            () if instr.has("idx") => ShuffleMode::Idx,
            () => return Err(instr.unsupported()),
        };
        if !instr.has("sync") {
            return Err(instr.error(format!(
                "`{}` was removed from PTX; use shfl.sync",
                instr.text
            )));
        }
        let [d, a, b, c, mask] = self.operands::<5>(instr)?;
        let (d, p) = match d {
            Operand::Pair(d, p) => {
                let p = self.dest(instr, p)?;
                if p.class != Class::Predicate {
                    return Err(instr.unsupported());
                }
                (self.word_dest(instr, d)?, Some(p.index))
            }
            d => (self.word_dest(instr, d)?, None),
        };
        let mut source = |operand| {
            self.source(instr, operand, Class::Word)
                .map(|reg| reg.index)
        };
        let (a, b, c, mask) = (source(a)?, source(b)?, source(c)?, source(mask)?);
        Ok(Code::Shuffle(Box::new(Shuffle {
            mode,
            d,
            p,
            a,
            b,
            c,
            mask,
        })))
    }

    fn vote(&mut self, instr: &Instr) -> Result<Code> {
        let mode = match () {
            () if instr.has("all") => VoteMode::All,
            () if instr.has("any") => VoteMode::Any,
            () if instr.has("uni") => VoteMode::Uni,
            () if instr.has("ballot") => VoteMode::Ballot,
            () => return Err(instr.unsupported()),
        };
        let [d, a, mask] = self.operands::<3>(instr)?;
        let d = self.dest(instr, d)?;
        let class = if mode == VoteMode::Ballot {
            Class::Word
        } else {
            Class::Predicate
        };
        if d.class != class || !instr.has("sync") {
            return Err(instr.unsupported());
        }
        let (a, negate) = self.predicate(instr, a)?;
        let mask = self.source(instr, mask, Class::Word)?.index;
        Ok(Code::Vote(Box::new(Vote {
            mode,
            d,
            a,
            negate,
            mask,
        })))
    }

    fn matching(&mut self, instr: &Instr) -> Result<Code> {
        let [d, a, mask] = self.operands::<3>(instr)?;
        let (d, p) = match d {
            Operand::Pair(d, p) => (self.word_dest(instr, d)?, self.dest(instr, p)?),
            d => (self.word_dest(instr, d)?, self.temp(Class::Predicate)),
        };
        if p.class != Class::Predicate {
            return Err(instr.unsupported());
        }
        let class = if instr.has("b64") {
            Class::Double
        } else {
            Class::Word
        };
        let (a, mask) = (
            self.source(instr, a, class)?,
            self.source(instr, mask, Class::Word)?.index,
        );
        Ok(Code::Match {
            all: instr.has("all"),
            d,
            p: p.index,
            a,
            mask,
        })
    }

    fn redux(&mut self, instr: &Instr) -> Result<Code> {
        let [d, a, mask] = self.operands::<3>(instr)?;
        let Some(ty) = instr
            .types()
            .last()
            .copied()
            .filter(|ty: &Type| ty.bits == 32 && !ty.is_float())
        else {
            return Err(instr.unsupported());
        };
        // The same operations as atomics, without the exchanges.
        let Some(f) = scalar::atomic(instr, ty).filter(|_| !instr.has("exch") && !instr.has("cas"))
        else {
            return Err(instr.unsupported());
        };
        let d = self.word_dest(instr, d)?;
        let (a, mask) = (
            self.source(instr, a, Class::Word)?.index,
            self.source(instr, mask, Class::Word)?.index,
        );
        Ok(Code::Reduce { f, d, a, mask })
    }
}

/// Puts operation numbers in place of labels.
pub(super) fn resolve(ops: &mut [Op], labels: &HashMap<u32, u32>, line: u32) -> Result<()> {
    for op in ops {
        if let Code::Branch { target, .. } = &mut op.code {
            *target = *labels.get(target).ok_or_else(|| {
                PtxError::new(line, "a branch goes to a label that stands nowhere")
            })?;
        }
    }
    Ok(())
}
