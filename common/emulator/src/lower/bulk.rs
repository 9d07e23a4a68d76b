//! `cp.async.bulk`: copies of runs and of tensor tiles by TMA.
use super::{Lowering, Result};
use crate::op::{BulkCopy, BulkWay, Class, Code};
use crate::ptx::{Instr, Operand};

type Guard = Option<(u32, bool)>;

impl Lowering<'_> {
    /// Everything that starts with `cp.async.bulk`.
    pub(super) fn bulk(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let rest: Vec<&str> = instr.opcode[3..].iter().map(String::as_str).collect();
        let code = match rest[..] {
            ["commit_group"] => Code::BulkCommit,
            ["wait_group"] | ["wait_group", "read"] => {
                let [Operand::Int(n)] = &instr.operands[..] else {
                    return Err(instr.unsupported());
                };
                Code::BulkWait {
                    pending: u32::try_from(*n).unwrap_or(u32::MAX),
                    read: rest.len() == 2,
                }
            }
            // What lies in a cache changes no bit and no counter here.
            ["prefetch", ..] => Code::Nothing,
            ["tensor", dims, ref rest @ ..] => {
                let dims = match dims {
                    "1d" => 1,
                    "2d" => 2,
                    "3d" => 3,
                    "4d" => 4,
                    "5d" => 5,
                    _ => return Err(instr.unsupported()),
                };
                let rest: Vec<&str> = rest
                    .iter()
                    .copied()
                    .filter(|part| *part != "tile")
                    .collect();
                self.bulk_copy(instr, &rest, Some(dims))?
            }
            _ => self.bulk_copy(instr, &rest, None)?,
        };
        self.push(guard, code);
        Ok(())
    }

    /// The destination's space, the source's, how it completes, and what may follow.
    fn bulk_copy(&mut self, instr: &Instr, parts: &[&str], dims: Option<usize>) -> Result<Code> {
        let (way, to_cta, modifiers) = match parts {
            [
                to @ ("shared::cluster" | "shared::cta"),
                "global",
                "mbarrier::complete_tx::bytes",
                rest @ ..,
            ] => (BulkWay::GlobalToShared, *to == "shared::cta", rest),
            ["global", "shared::cta", "bulk_group", rest @ ..] => {
                (BulkWay::SharedToGlobal, false, rest)
            }
            [
                "shared::cluster",
                "shared::cta",
                "mbarrier::complete_tx::bytes",
            ] if dims.is_none() => (BulkWay::SharedToCluster, false, &[][..]),
            _ => return Err(instr.unsupported()),
        };
        let (mut multicast, mut hint) = (false, false);
        for modifier in modifiers {
            match *modifier {
                "multicast::cluster" if way == BulkWay::GlobalToShared && !to_cta => {
                    multicast = true;
                }
                "L2::cache_hint" => hint = true,
                _ => return Err(instr.unsupported()),
            }
        }
        let wrong = || instr.error(format!("`{}` has the wrong number of operands", instr.text));
        let mut operands = instr.operands.iter();
        let mut next = || operands.next().ok_or_else(wrong);
        let (to, from) = (next()?, next()?);
        let bytes = match dims {
            Some(_) => None,
            None => Some(next()?),
        };
        let mbarrier = match way {
            BulkWay::SharedToGlobal => None,
            _ => Some(next()?),
        };
        let mask = if multicast { Some(next()?) } else { None };
        // Where a line shall stay in L2: of no effect here.
        if hint {
            next()?;
        }
        if operands.next().is_some() {
            return Err(wrong());
        }
        // `[map, {x, y}]` stands where an address in global memory would.
        let (mut to, mut from) = (to, from);
        let mut coordinates = Vec::new();
        if let Some(dims) = dims {
            let tensor = match way {
                BulkWay::SharedToGlobal => &mut to,
                _ => &mut from,
            };
            let Operand::Vector(list) = *tensor else {
                return Err(instr.error(format!("`{}` needs [map, {{coordinates}}]", instr.text)));
            };
            let [map, Operand::Vector(list)] = &list[..] else {
                return Err(instr.unsupported());
            };
            if list.len() != dims {
                return Err(instr.error(format!(
                    "`{}` names {} coordinates, not {dims}",
                    instr.text,
                    list.len()
                )));
            }
            for coordinate in list {
                coordinates.push(self.source(instr, coordinate, Class::Word)?.index);
            }
            *tensor = map;
        }
        let (to, to_offset) = self.address(instr, to)?;
        let (from, from_offset) = self.address(instr, from)?;
        let bytes = match bytes {
            Some(bytes) => self.source(instr, bytes, Class::Word)?,
            None => self.constant(Class::Word, 0),
        };
        let mbarrier = match mbarrier {
            Some(address) => Some(self.address(instr, address)?),
            None => None,
        };
        let multicast = match mask {
            Some(mask) => Some(self.source(instr, mask, Class::Word)?.index),
            None => None,
        };
        Ok(Code::BulkCopy(Box::new(BulkCopy {
            way,
            to,
            to_offset,
            to_cta,
            from,
            from_offset,
            coordinates: coordinates.into(),
            bytes: bytes.index,
            mbarrier,
            multicast,
        })))
    }
}
