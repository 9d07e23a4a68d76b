//! Asynchronous reductions and stores: `cp.reduce.async.bulk`, `red.async`, `st.async`.
//!
//! The PTX ISA lists the operations of each type under "Syntax" of "cp.reduce.async.bulk",
//! "cp.reduce.async.bulk.tensor" and "red.async".
use super::bulk::dimensions;
use super::{Lowering, Result, scalar};
use crate::Space;
use crate::op::{BulkDirection, BulkReduction, ColdOp, Reduce, StoreAsync};
use crate::ptx::{Instr, Operand, Type};
use crate::tensor_map::Element;

const OPERATIONS: [&str; 8] = ["and", "or", "xor", "add", "inc", "dec", "min", "max"];

/// Whether `cp.reduce.async.bulk` to shared memory of the cluster and `red.async` support this operation and type.
fn to_shared(operation: &str, ty: &str) -> bool {
    match operation {
        "and" | "or" | "xor" => ty == "b32",
        "add" => ["u32", "s32", "u64"].contains(&ty),
        "inc" | "dec" => ty == "u32",
        "min" | "max" => ["u32", "s32"].contains(&ty),
        _ => false,
    }
}

/// Whether reductions to global memory support it; additions of 16-bit numbers require `.noftz`.
fn to_global(operation: &str, ty: &str) -> bool {
    match operation {
        "and" | "or" | "xor" => ["b32", "b64"].contains(&ty),
        "add" => ["u32", "s32", "u64", "f16", "bf16", "f32", "f64"].contains(&ty),
        "inc" | "dec" => ty == "u32",
        "min" | "max" => ["u32", "s32", "u64", "s64", "f16", "bf16"].contains(&ty),
        _ => false,
    }
}

/// The function of the operation.
fn reduce(instr: &Instr, operation: &str, ty: &str, global: bool) -> Option<Reduce> {
    let ty_of = Type::parse(ty)?;
    let opcode = ["red", operation, ty].map(str::to_owned).into();
    let one = Instr {
        opcode,
        ..instr.clone()
    };
    let flushed = match (operation, global) {
        ("add", true) => scalar::atomic_on_global(ty_of),
        _ => None,
    };
    Some(Reduce {
        bytes: ty_of.bytes(),
        f: flushed.or_else(|| scalar::atomic(&one, ty_of))?,
    })
}

/// The type with which elements of a tensor are reduced.
fn type_of(operation: &str, element: Element) -> Option<&'static str> {
    let bits = ["and", "or", "xor"].contains(&operation);
    Some(match element {
        Element::U32 | Element::I32 if bits => "b32",
        Element::U64 | Element::I64 if bits => "b64",
        Element::U8 | Element::U16 => return None,
        Element::U32 => "u32",
        Element::I32 => "s32",
        Element::U64 => "u64",
        Element::I64 => "s64",
        Element::F16 => "f16",
        Element::F32 => "f32",
        Element::F64 => "f64",
        Element::Bf16 => "bf16",
    })
}

impl Lowering<'_> {
    /// `cp.reduce.async.bulk` and `cp.reduce.async.bulk.tensor`
    pub(super) fn bulk_reduction(&mut self, instr: &Instr) -> Result<()> {
        let parts: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        let ["reduce", "async", "bulk", parts @ ..] = &parts[..] else {
            return Err(instr.unsupported());
        };
        let found = OPERATIONS.into_iter().find(|one| parts.contains(one));
        let operation = found.ok_or_else(|| instr.unsupported())?;
        let mut copy = match parts {
            ["tensor", dims, rest @ ..] => {
                let dims = dimensions(dims).ok_or_else(|| instr.unsupported())?;
                let [to, from, op, rest @ ..] = rest else {
                    return Err(instr.unsupported());
                };
                instr.require(*op == operation)?;
                let mut names = vec![*to, *from];
                names.extend(rest.iter().filter(|part| **part != "tile"));
                let mut copy = self.bulk_copy(instr, &names, Some(dims))?;
                let of = |element| {
                    let ty = type_of(operation, element)?;
                    match to_global(operation, ty) {
                        true => reduce(instr, operation, ty, true),
                        false => None,
                    }
                };
                let each = Element::ALL.map(of).into();
                copy.reduction = Some(BulkReduction::Tensor(operation, each));
                copy
            }
            _ => {
                let Some((ty, rest)) = parts.split_last() else {
                    return Err(instr.unsupported());
                };
                let noftz = rest.last() == Some(&"noftz");
                let rest = rest.strip_suffix(&["noftz"]).unwrap_or(rest);
                let Some((op, names)) = rest.split_last() else {
                    return Err(instr.unsupported());
                };
                let mut copy = self.bulk_copy(instr, names, None)?;
                let global = copy.way == BulkDirection::SharedToGlobal;
                let listed = match global {
                    true => to_global(operation, ty),
                    false => to_shared(operation, ty),
                };
                let needs_noftz = operation == "add" && ["f16", "bf16"].contains(ty);
                instr.require(*op == operation && listed && noftz == needs_noftz)?;
                let reduce = reduce(instr, operation, ty, global);
                let reduce = reduce.ok_or_else(|| instr.unsupported())?;
                copy.reduction = Some(BulkReduction::Elements(reduce));
                copy
            }
        };
        instr.require(copy.way != BulkDirection::GlobalToShared)?;
        copy.multicast = None;
        // Blocks may reduce into the same global memory.
        self.communicates |= copy.way == BulkDirection::SharedToGlobal;
        self.push(ColdOp::BulkCopy(Box::new(copy)));
        Ok(())
    }

    /// `st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar]` and
    /// `red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]`
    pub(super) fn store_async(&mut self, instr: &Instr) -> Result<()> {
        let reduces = instr.opcode[0] == "red";
        let parts: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        let rest = match (&parts[..], reduces) {
            (["async", "relaxed", "cluster", rest @ ..], true) => rest,
            (["async", "weak", rest @ ..] | ["async", rest @ ..], false) => rest,
            _ => return Err(instr.unsupported()),
        };
        let (space, rest) = match rest {
            ["shared::cluster" | "shared::cta" | "shared", rest @ ..] => (Space::Cluster, rest),
            rest => (Space::Generic, rest),
        };
        let ["mbarrier::complete_tx::bytes", rest @ ..] = rest else {
            return Err(instr.unsupported());
        };
        let (operation, count, ty) = match (rest, reduces) {
            ([operation, ty], true) => (Some(*operation), 1, *ty),
            (["v2", ty], false) => (None, 2, *ty),
            (["v4", ty], false) => (None, 4, *ty),
            ([ty], false) => (None, 1, *ty),
            _ => return Err(instr.unsupported()),
        };
        let known = Type::parse(ty).ok_or_else(|| instr.unsupported())?;
        let reduction = match operation {
            Some(operation) => {
                instr.require(to_shared(operation, ty))?;
                let reduce = reduce(instr, operation, ty, false);
                Some(reduce.ok_or_else(|| instr.unsupported())?)
            }
            None => {
                let bits = matches!(known.bits, 32 | 64) && !known.pair;
                instr.require(bits && known.bytes() * count <= 16)?;
                None
            }
        };
        let [address, value, mbarrier]: &[Operand; 3] = self.operands(instr)?;
        let [address, mbarrier] = [
            self.address(instr, address)?,
            self.address(instr, mbarrier)?,
        ];
        let (class, regs) = self.elements(instr, value, known, count, false)?;
        self.push(ColdOp::StoreAsync(Box::new(StoreAsync {
            space,
            address,
            mbarrier,
            bytes: known.bytes(),
            count,
            class,
            regs,
            reduction,
        })));
        Ok(())
    }
}
