//! Matrix instructions and asynchronous copies.
use super::{Lowering, Result};
use crate::op::{AsyncCopy, Class, Code, MatrixAccess, Mma};
use crate::ptx::{Instr, Operand};
use crate::tensor::Factor;

type Guard = Option<(u32, bool)>;

impl Lowering<'_> {
    /// `ldmatrix.sync.aligned.m8n8.xN{.trans}{.shared}.b16` and `stmatrix` likewise.
    pub(super) fn matrix_access(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let store = instr.opcode[0] == "stmatrix";
        let known = [
            "sync",
            "aligned",
            "m8n8",
            "x1",
            "x2",
            "x4",
            "trans",
            "shared",
            "shared::cta",
            "b16",
        ];
        if !instr.has("m8n8")
            || !instr.has("b16")
            || instr.opcode[1..]
                .iter()
                .any(|part| !known.contains(&part.as_str()))
        {
            return Err(instr.unsupported());
        }
        let count = match () {
            () if instr.has("x4") => 4,
            () if instr.has("x2") => 2,
            () => 1,
        };
        let [first, second] = self.operands::<2>(instr)?;
        let (registers, address) = if store {
            (second, first)
        } else {
            (first, second)
        };
        let (base, offset) = self.address(instr, address)?;
        let regs = self.word_list::<4>(instr, registers, count, !store)?;
        let slot = self.slot();
        let access = MatrixAccess {
            store,
            generic: !instr.has("shared") && !instr.has("shared::cta"),
            transposed: instr.has("trans"),
            base,
            offset,
            count: count as u32,
            regs,
            slot,
        };
        self.push(guard, Code::Matrix(Box::new(access)));
        Ok(())
    }

    /// `mma.sync.aligned.m16n8kK.row.col.f32.{f16,bf16}.{f16,bf16}.f32`
    pub(super) fn mma(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let shape = instr
            .opcode
            .iter()
            .position(|part| part.starts_with('m') && part.contains('n') && part.contains('k'));
        let parts: Vec<&str> = instr
            .opcode
            .iter()
            .skip(shape.unwrap_or(0))
            .map(String::as_str)
            .collect();
        let (k, factor) = match parts[..] {
            ["m16n8k8", "row", "col", "f32", "f16", "f16", "f32"] => (8, Factor::F16),
            ["m16n8k8", "row", "col", "f32", "bf16", "bf16", "f32"] => (8, Factor::Bf16),
            ["m16n8k16", "row", "col", "f32", "f16", "f16", "f32"] => (16, Factor::F16),
            ["m16n8k16", "row", "col", "f32", "bf16", "bf16", "f32"] => (16, Factor::Bf16),
            _ => return Err(instr.unsupported()),
        };
        let [d, a, b, c] = self.operands::<4>(instr)?;
        let d = self.word_list(instr, d, 4, true)?;
        let a = self.word_list(instr, a, k / 4, false)?;
        let b = self.word_list(instr, b, k / 8, false)?;
        let c = self.word_list(instr, c, 4, false)?;
        self.push(
            guard,
            Code::Mma(Box::new(Mma {
                factor,
                k: k as u32,
                d,
                a,
                b,
                c,
            })),
        );
        Ok(())
    }

    /// `cp.async` and what waits for it.
    pub(super) fn copy_async(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let rest: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        let code = match rest[..] {
            ["async", "commit_group"] => Code::AsyncCommit,
            ["async", "mbarrier", "arrive", ..] => self.copies_arrive(instr)?,
            ["async", "wait_all"] => Code::AsyncWait { pending: None },
            ["async", "wait_group"] => match &instr.operands[..] {
                [Operand::Int(n)] => Code::AsyncWait {
                    pending: Some(u32::try_from(*n).unwrap_or(u32::MAX)),
                },
                _ => return Err(instr.unsupported()),
            },
            ["async", "ca" | "cg", "shared" | "shared::cta", "global", ..] => {
                if rest[4..]
                    .iter()
                    .any(|part| !part.starts_with("L2::") || *part == "L2::cache_hint")
                {
                    return Err(instr.unsupported());
                }
                let (to, from, bytes, size) = match &instr.operands[..] {
                    [to, from, Operand::Int(bytes)] => (to, from, *bytes, None),
                    [to, from, Operand::Int(bytes), size] => (
                        to,
                        from,
                        *bytes,
                        Some(self.source(instr, size, Class::Word)?.index),
                    ),
                    _ => return Err(instr.unsupported()),
                };
                if !matches!((bytes, rest[1]), (16, _) | (4 | 8, "ca")) {
                    return Err(instr.error(format!(
                        "`{}` copies {bytes} bytes; .ca takes 4, 8 or 16, .cg takes 16",
                        instr.text
                    )));
                }
                let (to, to_offset) = self.address(instr, to)?;
                let (from, from_offset) = self.address(instr, from)?;
                let slots = [self.slot(), self.slot()];
                Code::AsyncCopy(Box::new(AsyncCopy {
                    to,
                    to_offset,
                    from,
                    from_offset,
                    bytes: bytes as u32,
                    size,
                    slots,
                }))
            }
            _ => return Err(instr.unsupported()),
        };
        self.push(guard, code);
        Ok(())
    }

    /// `{%r1, %r2, …}`: so many 32-bit registers, or one without braces.
    fn word_list<const N: usize>(
        &mut self,
        instr: &Instr,
        operand: &Operand,
        count: usize,
        write: bool,
    ) -> Result<[u32; N]> {
        let mut regs = [0; N];
        let list = self.words(instr, operand, count, write)?;
        regs[..count].copy_from_slice(&list);
        Ok(regs)
    }

    /// The same for any number of registers.
    pub(super) fn words(
        &mut self,
        instr: &Instr,
        operand: &Operand,
        count: usize,
        write: bool,
    ) -> Result<Vec<u32>> {
        let list = match operand {
            Operand::Vector(list) => &list[..],
            one => std::slice::from_ref(one),
        };
        if list.len() != count {
            return Err(instr.error(format!(
                "`{}` names {} registers where it needs {count}",
                instr.text,
                list.len()
            )));
        }
        let mut regs = Vec::new();
        for element in list {
            let found = if write {
                self.dest(instr, element)?
            } else {
                self.source(instr, element, Class::Word)?
            };
            if found.class != Class::Word {
                return Err(instr.error(format!(
                    "the registers of `{}` have the wrong width",
                    instr.text
                )));
            }
            regs.push(found.index);
        }
        Ok(regs)
    }
}
