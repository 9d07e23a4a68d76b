//! `cp.async.bulk`: bulk copies of contiguous bytes and of tensor tiles by TMA.
use super::{Lowering, Result};
use crate::op::{BulkCopy, BulkDirection, Class, ColdOp};
use crate::ptx::{Instr, Operand};

/// `1d` to `5d`
pub(super) fn dimensions(name: &str) -> Option<usize> {
    let known = ["1d", "2d", "3d", "4d", "5d"];
    Some(known.iter().position(|one| *one == name)? + 1)
}

impl Lowering<'_> {
    /// Lowers all instructions that start with `cp.async.bulk`.
    pub(super) fn bulk(&mut self, instr: &Instr) -> Result<()> {
        let rest: Vec<&str> = instr.opcode[3..].iter().map(String::as_str).collect();
        let code = match rest[..] {
            ["commit_group"] => ColdOp::BulkCommit,
            ["wait_group"] | ["wait_group", "read"] => {
                let [Operand::Int(n)] = &instr.operands[..] else {
                    return Err(instr.unsupported());
                };
                ColdOp::BulkWait {
                    pending: u32::try_from(*n).unwrap_or(u32::MAX),
                    read: rest.len() == 2,
                }
            }
            // Caches are not emulated, so a prefetch has no effect.
            ["prefetch", ..] => ColdOp::Nothing,
            ["tensor", dims, ref rest @ ..] => {
                let dims = dimensions(dims).ok_or_else(|| instr.unsupported())?;
                let parts = rest.iter().copied();
                let rest: Vec<&str> = parts.filter(|part| *part != "tile").collect();
                ColdOp::BulkCopy(Box::new(self.bulk_copy(instr, &rest, Some(dims))?))
            }
            _ => ColdOp::BulkCopy(Box::new(self.bulk_copy(instr, &rest, None)?)),
        };
        self.push(code);
        Ok(())
    }

    /// Parses the destination and source spaces, the completion mechanism and the optional modifiers.
    pub(super) fn bulk_copy(
        &mut self,
        instr: &Instr,
        parts: &[&str],
        dims: Option<usize>,
    ) -> Result<BulkCopy> {
        let (way, to_cta, modifiers) = match parts {
            [
                to @ ("shared::cluster" | "shared::cta"),
                "global",
                "mbarrier::complete_tx::bytes",
                rest @ ..,
            ] => (BulkDirection::GlobalToShared, *to == "shared::cta", rest),
            ["global", "shared::cta", "bulk_group", rest @ ..] => {
                (BulkDirection::SharedToGlobal, false, rest)
            }
            [
                "shared::cluster",
                "shared::cta",
                "mbarrier::complete_tx::bytes",
            ] if dims.is_none() => (BulkDirection::SharedToCluster, false, &[][..]),
            _ => return Err(instr.unsupported()),
        };
        let (mut multicast, mut hint) = (false, false);
        for modifier in modifiers {
            match *modifier {
                "multicast::cluster" if way == BulkDirection::GlobalToShared && !to_cta => {
                    multicast = true;
                }
                "L2::cache_hint" => hint = true,
                _ => return Err(instr.unsupported()),
            }
        }
        let wrong = || instr.wrong_count();
        let mut operands = instr.operands.iter();
        let mut next = || operands.next().ok_or_else(wrong);
        let (to, from) = (next()?, next()?);
        let bytes = match dims {
            Some(_) => None,
            None => Some(next()?),
        };
        let mbarrier = match way {
            BulkDirection::SharedToGlobal => None,
            BulkDirection::GlobalToShared | BulkDirection::SharedToCluster => Some(next()?),
        };
        let mask = if multicast { Some(next()?) } else { None };
        // A cache policy has no effect in the emulator.
        if hint {
            next()?;
        }
        if operands.next().is_some() {
            return Err(wrong());
        }
        // `[map, {x, y}]` replaces the address in global memory.
        let (mut to, mut from) = (to, from);
        let mut coordinates = Vec::new();
        if let Some(dims) = dims {
            let tensor = match way {
                BulkDirection::SharedToGlobal => &mut to,
                BulkDirection::GlobalToShared | BulkDirection::SharedToCluster => &mut from,
            };
            let Operand::Vector(list) = *tensor else {
                return Err(instr.wrong("needs [map, {coordinates}]"));
            };
            let [map, Operand::Vector(list)] = &list[..] else {
                return Err(instr.unsupported());
            };
            if list.len() != dims {
                return Err(instr.wrong(format!("names {} coordinates, not {dims}", list.len())));
            }
            for coordinate in list {
                coordinates.push(self.source(instr, coordinate, Class::B32)?.index);
            }
            *tensor = map;
        }
        let (to, from) = (self.address(instr, to)?, self.address(instr, from)?);
        let bytes = match bytes {
            Some(bytes) => self.source(instr, bytes, Class::B32)?,
            None => self.constant(Class::B32, 0),
        };
        let mbarrier = mbarrier.map(|at| self.address(instr, at)).transpose()?;
        let mask = mask.map(|mask| self.source(instr, mask, Class::B32));
        let multicast = mask.transpose()?.map(|mask| mask.index);
        Ok(BulkCopy {
            way,
            to,
            to_cta,
            from,
            coordinates: coordinates.into(),
            bytes: bytes.index,
            mbarrier,
            multicast,
            reduction: None,
        })
    }
}
