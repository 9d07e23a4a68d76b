//! The `mbarrier` instructions: barriers in shared memory that count arrivals and bytes.
use super::{Lowering, Result};
use crate::op::{Class, ColdOp, MbarrierAccess, MbarrierAction, MbarrierWait, SyncOp};
use crate::ptx::{Instr, Operand};

impl Lowering<'_> {
    pub(super) fn mbarrier(&mut self, instr: &Instr) -> Result<()> {
        let action = instr.opcode.get(1).map_or("", String::as_str);
        let modifiers = ["expect_tx", "noComplete", "parity"];
        let mut modifiers = modifiers.into_iter();
        let modifier = modifiers.find(|word| instr.opcode.iter().skip(2).any(|part| part == word));
        let drop = action == "arrive_drop";
        let action = match (action, modifier) {
            ("init", None) => MbarrierAction::Init,
            ("inval", None) => MbarrierAction::Invalidate,
            ("expect_tx", None) => MbarrierAction::ExpectTx,
            ("complete_tx", None) => MbarrierAction::CompleteTx,
            ("arrive" | "arrive_drop", None | Some("noComplete")) => MbarrierAction::Arrive {
                drop,
                no_complete: modifier.is_some(),
            },
            ("arrive" | "arrive_drop", Some("expect_tx")) => {
                MbarrierAction::ArriveExpectTx { drop }
            }
            ("test_wait" | "try_wait", None | Some("parity")) => {
                return self.mbarrier_wait(instr, action, modifier.is_some());
            }
            ("pending_count", None) => return self.pending_count(instr),
            _ => return Err(instr.unsupported()),
        };
        let arrives = matches!(
            action,
            MbarrierAction::Arrive { .. } | MbarrierAction::ArriveExpectTx { .. }
        );
        let (d, operands) = match &instr.operands[..] {
            [d, rest @ ..] if arrives && !matches!(d, Operand::Address(..)) => (Some(d), rest),
            rest => (None, rest),
        };
        let (address, count) = match operands {
            [address] if !matches!(action, MbarrierAction::Init) => (address, None),
            [address, count] if action != MbarrierAction::Invalidate => (address, Some(count)),
            _ => return Err(instr.wrong_count()),
        };
        let counted = matches!(action, MbarrierAction::Arrive { .. });
        let count = match count {
            Some(count) => self.source(instr, count, Class::B32)?.index,
            None if counted || action == MbarrierAction::Invalidate => {
                self.constant(Class::B32, 1).index
            }
            None => return Err(instr.wrong("needs a count")),
        };
        let state = match d {
            None | Some(Operand::Sink) => None,
            Some(d) => Some(self.dest_of(instr, d, Class::B64)?.index),
        };
        let address = self.address(instr, address)?;
        let access = MbarrierAccess {
            action,
            space: instr.space(),
            address,
            state,
            count,
            relaxed: instr.has("relaxed"),
            within_block: instr.has("cta"),
        };
        self.push(ColdOp::Mbarrier(Box::new(access)));
        Ok(())
    }

    /// `try_wait` may have a time limit, which is ignored, because the emulator does not model time.
    fn mbarrier_wait(&mut self, instr: &Instr, action: &str, parity: bool) -> Result<()> {
        let blocking = action == "try_wait";
        let [d, address, phase] = match &instr.operands[..] {
            [d, address, phase] => [d, address, phase],
            [d, address, phase, _limit] if blocking => [d, address, phase],
            _ => return Err(instr.wrong_count()),
        };
        let d = self.dest_of(instr, d, Class::Predicate)?;
        let class = if parity { Class::B32 } else { Class::B64 };
        let phase = self.source(instr, phase, class)?;
        let address = self.address(instr, address)?;
        let wait = MbarrierWait {
            space: instr.space(),
            address,
            d: d.index,
            phase,
            blocking,
            relaxed: instr.has("relaxed"),
            within_block: instr.has("cta"),
        };
        self.push(SyncOp::MbarrierWait(Box::new(wait)));
        Ok(())
    }

    /// `mbarrier.pending_count count, state`: the low 20 bits of the emulator's own encoding.
    fn pending_count(&mut self, instr: &Instr) -> Result<()> {
        let [d, state] = self.operands::<2>(instr)?;
        let d = self.dest_of(instr, d, Class::B32)?;
        let a = self.source(instr, state, Class::B64)?;
        self.push(ColdOp::Scalar(|v| v[0] & 0xf_ffff, d, [a, a, a]));
        Ok(())
    }

    /// `cp.async.mbarrier.arrive{.noinc}{.shared}.b64 [mbarrier]`
    pub(super) fn copies_arrive(&mut self, instr: &Instr) -> Result<ColdOp> {
        let [address] = self.operands::<1>(instr)?;
        let noinc = instr.has("noinc");
        let address = self.address(instr, address)?;
        Ok(ColdOp::Mbarrier(Box::new(MbarrierAccess {
            action: MbarrierAction::Copies { noinc },
            space: instr.space(),
            address,
            state: None,
            count: self.constant(Class::B32, 1).index,
            relaxed: false,
            within_block: false,
        })))
    }
}
