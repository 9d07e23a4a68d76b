//! `ldmatrix`, `stmatrix` and asynchronous copies.
use super::operand::wrong_registers;
use super::{Lowering, Result};
use crate::op::{AsyncCopy, Class, LaneOp, MatrixMove, MatrixOp, Reg};
use crate::ptx::{Instr, Operand};

impl Lowering<'_> {
    /// `ldmatrix.sync.aligned.m8n8.xN{.trans}{.shared}.b16` and `stmatrix` likewise.
    pub(super) fn matrix_access(&mut self, instr: &Instr) -> Result<()> {
        let store = instr.opcode[0] == "stmatrix";
        let shape = ["sync", "aligned", "m8n8", "b16", "x1", "x2", "x4", "trans"];
        let known = [&shape[..], &["shared", "shared::cta"]].concat();
        instr.require(instr.has("m8n8") && instr.has("b16") && instr.has_only(1, &known))?;
        let count = match () {
            () if instr.has("x4") => 4,
            () if instr.has("x2") => 2,
            () => 1,
        };
        let [first, second] = self.operands::<2>(instr)?;
        let (registers, address) = match store {
            true => (second, first),
            false => (first, second),
        };
        let address = self.address(instr, address)?;
        let regs = self.b32_array::<4>(instr, registers, count, !store)?;
        let access = MatrixMove {
            store,
            generic: !instr.has_any(&["shared", "shared::cta"]),
            transposed: instr.has("trans"),
            address,
            count: count as u32,
            regs,
            slot: self.slot(),
        };
        self.push(MatrixOp::Move(Box::new(access)));
        Ok(())
    }

    /// `movmatrix.sync.aligned.m8n8.trans.b16`
    pub(super) fn movmatrix(&mut self, instr: &Instr) -> Result<()> {
        let parts: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        instr.require(parts == ["sync", "aligned", "m8n8", "trans", "b16"])?;
        let [d, a] = self.operands::<2>(instr)?;
        let d = self.b32_array::<1>(instr, d, 1, true)?;
        let a = self.b32_array::<1>(instr, a, 1, false)?;
        self.push(MatrixOp::Transpose([d[0], a[0]]));
        Ok(())
    }

    /// `cp.async` and its groups and waits.
    pub(super) fn copy_async(&mut self, instr: &Instr) -> Result<()> {
        let instr = &*self.without_policy(instr)?;
        let rest: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        let code = match rest[..] {
            ["async", "commit_group"] => LaneOp::AsyncCommit,
            ["async", "mbarrier", "arrive", ..] => {
                let code = self.copies_arrive(instr)?;
                self.push(code);
                return Ok(());
            }
            ["async", "wait_all"] => LaneOp::AsyncWait { pending: None },
            ["async", "wait_group"] => match &instr.operands[..] {
                [Operand::Int(n)] => LaneOp::AsyncWait {
                    pending: Some(u32::try_from(*n).unwrap_or(u32::MAX)),
                },
                _ => {
                    return Err(instr.wrong(
                        "takes how many groups it leaves in flight as a constant, in inline PTX the constraint \"n\", and not in a register",
                    ));
                }
            },
            ["async", "ca" | "cg", "shared" | "shared::cta", "global", ..] => {
                let is_hint = |part: &&str| part.starts_with("L2::");
                instr.require(rest[4..].iter().all(is_hint))?;
                let [to, from, Operand::Int(bytes), size @ ..] = &instr.operands[..] else {
                    return Err(instr.unsupported());
                };
                let (bytes, size) = match size {
                    [] => (*bytes, None),
                    [size] => (*bytes, Some(self.source_size(instr, size, *bytes)?.index)),
                    _ => return Err(instr.unsupported()),
                };
                if !matches!((bytes, rest[1]), (16, _) | (4 | 8, "ca")) {
                    return Err(instr.wrong(format!(
                        "copies {bytes} bytes; .ca takes 4, 8 or 16, .cg takes 16"
                    )));
                }
                LaneOp::AsyncCopy(Box::new(AsyncCopy {
                    to: self.address(instr, to)?,
                    from: self.address(instr, from)?,
                    bytes: bytes as u32,
                    size,
                    slots: [self.slot(), self.slot()],
                }))
            }
            _ => return Err(instr.unsupported()),
        };
        self.push(code);
        Ok(())
    }

    /// How many bytes a `cp.async` reads: a size in a register, or all or none by its `ignore-src` predicate.
    fn source_size(&mut self, instr: &Instr, size: &Operand, bytes: u64) -> Result<Reg> {
        let is_predicate = match size {
            Operand::Register(id) | Operand::NotRegister(id) => {
                self.reg(*id).class == Class::Predicate
            }
            _ => false,
        };
        if !is_predicate {
            return self.source(instr, size, Class::B32);
        }
        let (ignored, negated) = self.predicate(instr, size)?;
        let [all, none] = [bytes, 0].map(|bytes| self.constant(Class::B32, bytes).index);
        let [then, otherwise] = if negated { [all, none] } else { [none, all] };
        let size = self.temp(Class::B32);
        self.push_always(LaneOp::Select([size.index, then, otherwise, ignored]));
        Ok(size)
    }

    /// `{%r1, %r2, …}`: `count` 32-bit registers, or a single one without braces.
    pub(super) fn b32_array<const N: usize>(
        &mut self,
        instr: &Instr,
        operand: &Operand,
        count: usize,
        write: bool,
    ) -> Result<[u32; N]> {
        let mut regs = [0; N];
        let list = self.b32_list(instr, operand, count, write)?;
        regs[..count].copy_from_slice(&list);
        Ok(regs)
    }

    /// The same for any number of registers.
    pub(super) fn b32_list(
        &mut self,
        instr: &Instr,
        operand: &Operand,
        count: usize,
        write: bool,
    ) -> Result<Vec<u32>> {
        let list = operand.elements();
        if list.len() != count {
            let named = list.len();
            return Err(instr.wrong(format!("names {named} registers where it needs {count}")));
        }
        let mut regs = Vec::new();
        for element in list {
            let found = match write {
                true => self.dest(instr, element)?,
                false => self.source(instr, element, Class::B32)?,
            };
            if found.class != Class::B32 {
                return Err(wrong_registers(instr));
            }
            regs.push(found.index);
        }
        Ok(regs)
    }
}
