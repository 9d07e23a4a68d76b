//! Instructions for clusters: addresses and barriers; and `setmaxnreg`.
use super::{Lowering, Result};
use crate::op::{Class, ClusterBarrier, ColdOp, LaneOp, SyncOp};
use crate::ptx::{Instr, Operand};

impl Lowering<'_> {
    /// `barrier.cluster.arrive{.release|.relaxed}{.aligned}`, `barrier.cluster.wait{.acquire}{.aligned}`
    pub(super) fn cluster_barrier(&mut self, instr: &Instr) -> Result<SyncOp> {
        let known = ["release", "relaxed", "acquire", "aligned"];
        let wait = match instr.opcode.get(2).map(String::as_str) {
            Some("arrive") => false,
            Some("wait") => true,
            _ => return Err(instr.unsupported()),
        };
        instr.require(instr.operands.is_empty() && instr.has_only(3, &known))?;
        Ok(SyncOp::ClusterBarrier(ClusterBarrier {
            wait,
            relaxed: instr.has("relaxed"),
            aligned: instr.has("aligned"),
        }))
    }

    /// `mapa{.shared::cluster}.{u32,u64} d, a, rank`
    pub(super) fn mapa(&mut self, instr: &Instr) -> Result<()> {
        let [d, a, rank] = self.operands::<3>(instr)?;
        let class = address_class(instr);
        let d = self.dest_of(instr, d, class)?;
        instr.require(class == Class::B64 || instr.has("shared::cluster"))?;
        let a = self.source(instr, a, class)?;
        let rank = self.source(instr, rank, Class::B32)?.index;
        self.push(ColdOp::MapShared([d, a], rank));
        Ok(())
    }

    /// `getctarank{.shared::cluster}.{u32,u64} d, a`
    pub(super) fn ctarank(&mut self, instr: &Instr) -> Result<()> {
        let [d, a] = self.operands::<2>(instr)?;
        let d = self.dest_of(instr, d, Class::B32)?;
        let a = self.source(instr, a, address_class(instr))?;
        self.push(ColdOp::RankOf { d: d.index, a });
        Ok(())
    }

    /// `setmaxnreg.{inc,dec}.sync.aligned.u32 n`: 24 to 256, a multiple of 8 (PTX ISA, "setmaxnreg").
    pub(super) fn set_registers(&mut self, instr: &Instr) -> Result<SyncOp> {
        let increase = match instr.opcode.get(1).map(String::as_str) {
            Some("inc") => true,
            Some("dec") => false,
            _ => return Err(instr.unsupported()),
        };
        let [Operand::Int(count)] = &instr.operands[..] else {
            return Err(instr.unsupported());
        };
        instr.require(instr.has("sync") && instr.has("aligned"))?;
        if !(24..=256).contains(count) || count % 8 != 0 {
            return Err(instr.error(format!(
                "`{}`: {count} registers; setmaxnreg takes multiples of 8 from 24 to 256",
                instr.text
            )));
        }
        Ok(SyncOp::SetRegisters {
            count: *count as u32,
            increase,
        })
    }

    /// `createpolicy…`: a policy of the L2. Its value does not matter, because caches are not emulated.
    pub(super) fn policy(&mut self, instr: &Instr) -> Result<()> {
        let d = instr.operands.first().ok_or_else(|| instr.unsupported())?;
        let d = self.dest_of(instr, d, Class::B64)?;
        let a = self.constant(Class::B64, 0);
        self.push(LaneOp::MoveB64([d.index, a.index]));
        Ok(())
    }
}

/// The class of an address: `.u64`, or `.u32`.
fn address_class(instr: &Instr) -> Class {
    match instr.has("u64") {
        true => Class::B64,
        false => Class::B32,
    }
}
