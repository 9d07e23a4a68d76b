//! `mbarrier`: barriers in shared memory that count arrivals and bytes.
use super::{Lowering, Result};
use crate::op::{Class, Code, MbarrierAccess, MbarrierAction, MbarrierWait, Reg, Space};
use crate::ptx::{Instr, Operand};

type Guard = Option<(u32, bool)>;

/// Suffixes that say how an instruction orders, and where its mbarrier lies.
const KNOWN: [&str; 9] = [
    "release",
    "acquire",
    "relaxed",
    "cta",
    "cluster",
    "shared",
    "shared::cta",
    "shared::cluster",
    "b64",
];

impl Lowering<'_> {
    pub(super) fn mbarrier(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let (Some(action), rest) = (
            instr.opcode.get(1).map(String::as_str),
            instr.opcode.get(2..).unwrap_or(&[]),
        ) else {
            return Err(instr.unsupported());
        };
        let (modifier, rest) = match rest.first().map(String::as_str) {
            Some(word @ ("expect_tx" | "noComplete" | "parity")) => (Some(word), &rest[1..]),
            _ => (None, rest),
        };
        if rest.iter().any(|part| !KNOWN.contains(&part.as_str())) {
            return Err(instr.unsupported());
        }
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
                return self.mbarrier_wait(instr, guard, action, modifier.is_some());
            }
            ("pending_count", None) => return self.pending_count(instr, guard),
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
            _ => {
                return Err(
                    instr.error(format!("`{}` has the wrong number of operands", instr.text))
                );
            }
        };
        let counted = matches!(action, MbarrierAction::Arrive { .. });
        let count = match count {
            Some(count) => self.source(instr, count, Class::Word)?.index,
            None if counted || action == MbarrierAction::Invalidate => {
                self.constant(Class::Word, 1).index
            }
            None => return Err(instr.error(format!("`{}` needs a count", instr.text))),
        };
        let state = match d {
            None | Some(Operand::Sink) => None,
            Some(d) => {
                let d = self.dest(instr, d)?;
                self.check_class(instr, d, Class::Double)?;
                Some(d.index)
            }
        };
        let (base, offset) = self.address(instr, address)?;
        let access = MbarrierAccess {
            action,
            space: mbarrier_space(instr),
            base,
            offset,
            state,
            count,
            relaxed: instr.has("relaxed"),
        };
        self.push(guard, Code::Mbarrier(Box::new(access)));
        Ok(())
    }

    /// `try_wait` may be given a time limit; the emulator's clock is not the hardware's, so it is ignored.
    fn mbarrier_wait(
        &mut self,
        instr: &Instr,
        guard: Guard,
        action: &str,
        parity: bool,
    ) -> Result<()> {
        let blocking = action == "try_wait";
        let [d, address, phase] = match &instr.operands[..] {
            [d, address, phase] => [d, address, phase],
            [d, address, phase, _limit] if blocking => [d, address, phase],
            _ => {
                return Err(
                    instr.error(format!("`{}` has the wrong number of operands", instr.text))
                );
            }
        };
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Predicate)?;
        let class = if parity { Class::Word } else { Class::Double };
        let phase = self.source(instr, phase, class)?;
        let (base, offset) = self.address(instr, address)?;
        let wait = MbarrierWait {
            space: mbarrier_space(instr),
            base,
            offset,
            d: d.index,
            phase,
            blocking,
            relaxed: instr.has("relaxed"),
        };
        self.push(guard, Code::MbarrierWait(Box::new(wait)));
        Ok(())
    }

    /// `mbarrier.pending_count count, state`: the low 20 bits of the emulator's own encoding.
    fn pending_count(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let [d, state] = self.operands::<2>(instr)?;
        let d = self.dest(instr, d)?;
        self.check_class(instr, d, Class::Word)?;
        let a = self.source(instr, state, Class::Double)?;
        self.push(
            guard,
            Code::Scalar {
                f: |v| v[0] & 0xf_ffff,
                d,
                a,
                b: a,
                c: a,
            },
        );
        Ok(())
    }

    /// `cp.async.mbarrier.arrive{.noinc}{.shared}.b64 [mbarrier]`
    pub(super) fn copies_arrive(&mut self, instr: &Instr) -> Result<Code> {
        let [address] = self.operands::<1>(instr)?;
        let noinc = instr.has("noinc");
        let (base, offset) = self.address(instr, address)?;
        Ok(Code::Mbarrier(Box::new(MbarrierAccess {
            action: MbarrierAction::Copies { noinc },
            space: mbarrier_space(instr),
            base,
            offset,
            state: None,
            count: self.constant(Class::Word, 1).index,
            relaxed: false,
        })))
    }

    /// `elect.sync d|p, mask`
    pub(super) fn elect(&mut self, instr: &Instr) -> Result<Code> {
        let [Operand::Pair(d, p), mask] = self.operands::<2>(instr)? else {
            return Err(instr.unsupported());
        };
        let d = match &**d {
            Operand::Sink => self.temp(Class::Word),
            d => self.dest(instr, d)?,
        };
        self.check_class(instr, d, Class::Word)?;
        let Reg { index: p, .. } = {
            let p = self.dest(instr, p)?;
            self.check_class(instr, p, Class::Predicate)?;
            p
        };
        let mask = self.source(instr, mask, Class::Word)?.index;
        let d = d.index;
        Ok(Code::Elect { d, p, mask })
    }
}

/// The state space that an mbarrier instruction names.
fn mbarrier_space(instr: &Instr) -> Space {
    match () {
        () if instr.has("shared::cluster") => Space::Cluster,
        () if instr.has("shared") || instr.has("shared::cta") => Space::Shared,
        () => Space::Generic,
    }
}
