//! Operands: registers of the right class for numbers, special registers, symbols and predicates.
use super::layout::VariableAddress;
use super::{Lowering, Result};
use crate::op::{Class, ColdOp, Compare, LaneOp, Logic, Reg};
use crate::program::{Fixed, Special};
use crate::ptx::{Instr, Operand, PtxError};

impl Lowering<'_> {
    /// A source operand, in a register of class `class`.
    pub(super) fn source(&mut self, instr: &Instr, operand: &Operand, class: Class) -> Result<Reg> {
        match operand {
            Operand::Register(id) => {
                let reg = self.reg(*id);
                self.widen(instr, reg, class)
            }
            // No fixed register holds predicates; `predicate` handles those that may be written as numbers.
            _ if class == Class::Predicate => Err(instr.wrong("needs a predicate")),
            Operand::Int(value) => Ok(self.constant(class, *value)),
            Operand::F32(bits) if class == Class::B64 => {
                Ok(self.constant(class, f64::from(f32::from_bits(*bits)).to_bits()))
            }
            Operand::F32(bits) => Ok(self.constant(class, u64::from(*bits))),
            Operand::F64(bits) if class == Class::B64 => Ok(self.constant(class, *bits)),
            Operand::F64(bits) => {
                Ok(self.constant(class, u64::from((f64::from_bits(*bits) as f32).to_bits())))
            }
            Operand::Special(name) => self.special(instr, name, class),
            Operand::Symbol(name, offset) => self.symbol(instr, name, *offset, class),
            _ => {
                let text = &instr.text;
                Err(instr.error(format!("an operand of `{text}` is of the wrong kind")))
            }
        }
    }

    /// PTX lets an instruction read the low part of a wider register, for `.b` types and conversions.
    pub(super) fn widen(&mut self, instr: &Instr, reg: Reg, class: Class) -> Result<Reg> {
        match (reg.class, class) {
            (a, b) if a == b => Ok(reg),
            (Class::B64, Class::B32) => {
                let d = self.temp(Class::B32);
                self.push_always(LaneOp::Truncate([d.index, reg.index]));
                Ok(d)
            }
            (Class::B32, Class::B64) => {
                let d = self.temp(Class::B64);
                self.push_always(LaneOp::Extend(false, [d.index, reg.index]));
                Ok(d)
            }
            _ => Err(instr.wrong("mixes predicates with other registers")),
        }
    }

    pub(super) fn special(&mut self, instr: &Instr, name: &str, class: Class) -> Result<Reg> {
        let (base, dim) = match name.rsplit_once('.') {
            Some((base, "x")) => (base, 0),
            Some((base, "y")) => (base, 1),
            Some((base, "z")) => (base, 2),
            _ => (name, 0),
        };
        let special = match base {
            "%tid" => Special::Tid(dim),
            "%ntid" => Special::Ntid(dim),
            "%ctaid" => Special::Ctaid(dim),
            "%nctaid" => Special::Nctaid(dim),
            "%clusterid" => Special::Cluster(dim),
            "%nclusterid" => Special::Clusters(dim),
            "%cluster_ctaid" => Special::ClusterCtaid(dim),
            "%cluster_nctaid" => Special::ClusterNctaid(dim),
            "%cluster_ctarank" => Special::ClusterRank,
            "%cluster_nctarank" => Special::ClusterRanks,
            "%laneid" => Special::Lane,
            "%warpid" => Special::Warp,
            "%nwarpid" => Special::Warps,
            "%lanemask_eq" => Special::LaneMaskEq,
            "%lanemask_le" => Special::LaneMaskLe,
            "%lanemask_lt" => Special::LaneMaskLt,
            "%lanemask_ge" => Special::LaneMaskGe,
            "%lanemask_gt" => Special::LaneMaskGt,
            _ if let Some(number) = envreg(base) => Special::Environment(number),
            "%dynamic_smem_size" => Special::DynamicShared,
            "%total_smem_size" => Special::TotalShared,
            "%aggr_smem_size" => Special::AggregateShared,
            "%clock" | "%clock_hi" | "%clock64" | "%globaltimer" | "%globaltimer_lo"
            | "%globaltimer_hi" => {
                let d = self.temp(class);
                self.push_always(ColdOp::Clock { d });
                return Ok(d);
            }
            _ => {
                return Err(instr.error(format!(
                    "`{name}` is neither a declared register nor a special register that the emulator has, in `{}`",
                    instr.text
                )));
            }
        };
        Ok(self.fixed(class, Fixed::Special(special)))
    }

    pub(super) fn symbol(
        &mut self,
        instr: &Instr,
        name: &str,
        offset: i64,
        class: Class,
    ) -> Result<Reg> {
        if name == "WARP_SZ" {
            return Ok(self.constant(class, 32));
        }
        let at = match self.places.get(name) {
            Some(&VariableAddress::Global(index)) => {
                return Ok(self.fixed(class, Fixed::Global { index, offset }));
            }
            Some(&VariableAddress::Frame(at)) => {
                return self.frame_address(at, offset, class);
            }
            Some(VariableAddress::Dynamic) => {
                return Ok(self.fixed(class, Fixed::Dynamic { offset }));
            }
            Some(
                VariableAddress::Const(at)
                | VariableAddress::Shared(at)
                | VariableAddress::Local(at),
            ) => *at,
            None => match self.params.get(name) {
                Some((at, _)) => *at,
                None if let Some(address) = self.module.function_address(name) => {
                    return Ok(self.constant(class, address.wrapping_add_signed(offset)));
                }
                None => {
                    let message = format!("`{name}` is not declared, in `{}`", instr.text);
                    return Err(instr.error(message));
                }
            },
        };
        Ok(self.constant(class, u64::from(at).wrapping_add_signed(offset)))
    }

    /// A destination register.
    pub(super) fn dest(&mut self, instr: &Instr, operand: &Operand) -> Result<Reg> {
        match operand {
            Operand::Register(id) => Ok(self.reg(*id)),
            _ => Err(instr.wrong("has no register to write to")),
        }
    }

    pub(super) fn predicate(&mut self, instr: &Instr, operand: &Operand) -> Result<(u32, bool)> {
        let (id, negated) = match operand {
            Operand::Register(id) => (*id, false),
            Operand::NotRegister(id) => (*id, true),
            Operand::Special(name) if name == "%is_explicit_cluster" => {
                let a = self.fixed(Class::B32, Fixed::Special(Special::ExplicitCluster));
                let b = self.constant(Class::B32, 0).index;
                let d = self.temp(Class::Predicate).index;
                self.push_always(LaneOp::Compare(Compare::Ne, [d, a.index, b]));
                return Ok((d, false));
            }
            // `-1` and `1` mean true.
            Operand::Int(value) => {
                let p = self.temp(Class::Predicate);
                self.push_always(LaneOp::Logic(Logic::Xor, [p.index; 3], *value != 0));
                return Ok((p.index, false));
            }
            _ => return Err(instr.wrong("needs a predicate")),
        };
        let reg = self.reg(id);
        if reg.class != Class::Predicate {
            return Err(instr.wrong("needs a predicate"));
        }
        Ok((reg.index, negated))
    }

    /// A destination register of this class.
    pub(super) fn dest_of(
        &mut self,
        instr: &Instr,
        operand: &Operand,
        class: Class,
    ) -> Result<Reg> {
        let d = self.dest(instr, operand)?;
        self.check_class(instr, d, class)?;
        Ok(d)
    }

    pub(super) fn check_class(&self, instr: &Instr, d: Reg, class: Class) -> Result<()> {
        let fits = (d.class == class).then_some(());
        fits.ok_or_else(|| wrong_width(instr))
    }

    /// Source operands of one class.
    pub(super) fn sources<const N: usize>(
        &mut self,
        instr: &Instr,
        operands: [&Operand; N],
        class: Class,
    ) -> Result<[Reg; N]> {
        let mut regs = [Reg::predicate(0); N];
        for (reg, operand) in regs.iter_mut().zip(operands) {
            *reg = self.source(instr, operand, class)?;
        }
        Ok(regs)
    }

    /// Whether an operand is a 16-bit register, whose upper half is always zero.
    pub(super) fn is_16(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Register(id) if self.type_of(*id).bits == 16)
    }

    /// The operands; it is an error if their number is not `N`.
    pub(super) fn operands<'i, const N: usize>(
        &self,
        instr: &'i Instr,
    ) -> Result<&'i [Operand; N]> {
        instr
            .operands
            .first_chunk::<N>()
            .filter(|_| instr.operands.len() == N)
            .ok_or_else(|| instr.wrong(format!("takes {N} operands, not {}", instr.operands.len())))
    }
}

/// The number of `%envreg0` to `%envreg31`.
fn envreg(name: &str) -> Option<u8> {
    let digits = name.strip_prefix("%envreg")?;
    let number = digits.parse().ok()?;
    (number < 32 && (digits.len() == 1 || !digits.starts_with('0'))).then_some(number)
}

pub(super) fn wrong_width(instr: &Instr) -> PtxError {
    let text = &instr.text;
    instr.error(format!(
        "the result register of `{text}` has the wrong width"
    ))
}

pub(super) fn wrong_registers(instr: &Instr) -> PtxError {
    let text = &instr.text;
    instr.error(format!("the registers of `{text}` have the wrong width"))
}
