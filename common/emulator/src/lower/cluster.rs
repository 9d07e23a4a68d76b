//! What blocks of a cluster tell each other, and what warps give each other: addresses, barriers, registers.
use super::{Lowering, Result};
use crate::op::{Class, ClusterBarrier, Code};
use crate::ptx::{Instr, Operand};

type Guard = Option<(u32, bool)>;

impl Lowering<'_> {
    /// `barrier.cluster.arrive{.release|.relaxed}{.aligned}`, `barrier.cluster.wait{.acquire}{.aligned}`
    pub(super) fn cluster_barrier(&mut self, instr: &Instr) -> Result<Code> {
        let known = ["release", "relaxed", "acquire", "aligned"];
        let wait = match instr.opcode.get(2).map(String::as_str) {
            Some("arrive") => false,
            Some("wait") => true,
            _ => return Err(instr.unsupported()),
        };
        if !instr.operands.is_empty()
            || instr.opcode[3..]
                .iter()
                .any(|part| !known.contains(&part.as_str()))
        {
            return Err(instr.unsupported());
        }
        Ok(Code::ClusterBarrier(ClusterBarrier {
            wait,
            relaxed: instr.has("relaxed"),
            aligned: instr.has("aligned"),
        }))
    }

    /// `mapa{.shared::cluster}.{u32,u64} d, a, rank`
    pub(super) fn mapa(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let [d, a, rank] = self.operands::<3>(instr)?;
        let d = self.dest(instr, d)?;
        let class = if instr.has("u64") {
            Class::Double
        } else {
            Class::Word
        };
        self.check_class(instr, d, class)?;
        if class == Class::Word && !instr.has("shared::cluster") {
            return Err(instr.unsupported());
        }
        let a = self.source(instr, a, class)?;
        let rank = self.source(instr, rank, Class::Word)?.index;
        self.push(guard, Code::MapShared { d, a, rank });
        Ok(())
    }

    /// `getctarank{.shared::cluster}.{u32,u64} d, a`
    pub(super) fn ctarank(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let [d, a] = self.operands::<2>(instr)?;
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Word)?;
        let class = if instr.has("u64") {
            Class::Double
        } else {
            Class::Word
        };
        let a = self.source(instr, a, class)?;
        self.push(guard, Code::RankOf { d: d.index, a });
        Ok(())
    }

    /// `setmaxnreg.{inc,dec}.sync.aligned.u32 n`: 24 to 256, a multiple of 8 (PTX ISA, "setmaxnreg").
    pub(super) fn set_registers(&mut self, instr: &Instr) -> Result<Code> {
        let increase = match instr.opcode.get(1).map(String::as_str) {
            Some("inc") => true,
            Some("dec") => false,
            _ => return Err(instr.unsupported()),
        };
        let [Operand::Int(count)] = &instr.operands[..] else {
            return Err(instr.unsupported());
        };
        if !instr.has("sync") || !instr.has("aligned") {
            return Err(instr.unsupported());
        }
        if !(24..=256).contains(count) || count % 8 != 0 {
            return Err(instr.error(format!(
                "`{}`: {count} registers; setmaxnreg takes multiples of 8 from 24 to 256",
                instr.text
            )));
        }
        Ok(Code::SetRegisters {
            count: *count as u32,
            increase,
        })
    }

    /// `createpolicy…`: how L2 shall keep lines; any value will do, since it changes no bit and no counter.
    pub(super) fn policy(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let Some(d) = instr.operands.first() else {
            return Err(instr.unsupported());
        };
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Double)?;
        let a = self.constant(Class::Double, 0).index;
        self.push(guard, Code::MoveDouble { d: d.index, a });
        Ok(())
    }
}
