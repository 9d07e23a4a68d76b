//! Loads, stores and atomics.
use std::borrow::Cow;

use super::layout::VariableAddress;
use super::operand::wrong_registers;
use super::order::{order, scope};
use super::{Lowering, Result, class_of, moves, scalar};
use crate::Space;
use crate::op::{Address, Atomic, Class, LaneOp, LoadStore, Order, Reg, Scope};
use crate::program::Fixed;
use crate::ptx::{Instr, Operand, Type};

impl Lowering<'_> {
    /// The instruction without its cache policy, which has no effect because caches are not emulated.
    pub(super) fn without_policy<'i>(&self, instr: &'i Instr) -> Result<Cow<'i, Instr>> {
        if !instr.has("L2::cache_hint") {
            return Ok(Cow::Borrowed(instr));
        }
        let mut plain = instr.clone();
        plain.opcode.retain(|part| part != "L2::cache_hint");
        match plain.operands.pop() {
            Some(Operand::Register(id)) => {
                self.check_class(instr, self.reg(id), Class::B64)?;
                Ok(Cow::Owned(plain))
            }
            _ => Err(instr.wrong("needs a cache policy in a register")),
        }
    }

    pub(super) fn memory(&mut self, instr: &Instr) -> Result<()> {
        let instr = &*self.without_policy(instr)?;
        let mut space = instr.space();
        // Arguments and results of an inlined call are local variables.
        let local = |operand: &Operand| {
            matches!(operand, Operand::Address(base, _) if matches!(&**base, Operand::Symbol(name, _)
                if matches!(self.places.get(name.as_str()), Some(VariableAddress::Local(_) | VariableAddress::Frame(_)))))
        };
        if space == Space::Param && instr.operands.iter().any(local) {
            space = Space::Local;
        }
        match instr.opcode[0].as_str() {
            "atom" | "red" => self.atomic(instr, space),
            "st" => self.store(instr, space),
            _ if space == Space::Param => self.load_param(instr),
            _ => self.load(instr, space),
        }
    }

    /// The type and the number of elements.
    fn shape(&mut self, instr: &Instr, space: Space) -> Result<(Type, u32)> {
        let count = match () {
            () if instr.has("v2") => 2,
            () if instr.has("v4") => 4,
            () => 1,
        };
        let ordered = order(instr).strong.is_some() || instr.has("cv");
        self.communicates |= ordered && matches!(space, Space::Global | Space::Generic);
        let ty = instr.last_type()?;
        instr.require(ty != Type::PRED && ty.bits <= 64 && ty.bytes() * count <= 16)?;
        self.note_grain(space, ty);
        Ok((ty, count))
    }

    /// Tracks the narrowest access to shared and to global memory.
    fn note_grain(&mut self, space: Space, ty: Type) {
        if matches!(space, Space::Shared | Space::Cluster | Space::Generic) {
            self.program.grain = self.program.grain.min(ty.bytes());
        }
        if matches!(space, Space::Global | Space::Generic) {
            self.program.global_grain = self.program.global_grain.min(ty.bytes());
        }
    }

    pub(super) fn address(&mut self, instr: &Instr, operand: &Operand) -> Result<Address> {
        let Operand::Address(base, offset) = operand else {
            return Err(instr.wrong("needs an address in brackets"));
        };
        let base = match &**base {
            Operand::Register(id) => self.reg(*id),
            Operand::Symbol(name, inner)
                if let Some(&VariableAddress::Frame(at)) = self.places.get(name.as_str()) =>
            {
                let base = self.frame_base();
                let offset = offset.wrapping_add(*inner).wrapping_add(at.into());
                return Ok(Address { base, offset });
            }
            base => self.source(instr, base, Class::B64)?,
        };
        if base.class == Class::Predicate {
            return Err(instr.error("a predicate is not an address"));
        }
        let offset = *offset;
        Ok(Address { base, offset })
    }

    pub(super) fn slot(&mut self) -> u32 {
        self.program.slots += 1;
        self.program.slots as u32 - 1
    }

    /// The registers of a load or store, all of one class.
    pub(super) fn elements(
        &mut self,
        instr: &Instr,
        operand: &Operand,
        ty: Type,
        count: u32,
        write: bool,
    ) -> Result<(Class, [u32; 4])> {
        let list = operand.elements();
        if list.len() != count as usize {
            return Err(instr.wrong(format!("names {} registers, not {count}", list.len())));
        }
        let named = list.iter().find_map(|element| match element {
            Operand::Register(id) => Some(self.reg(*id).class),
            _ => None,
        });
        let class = named.unwrap_or(class_of(ty));
        if class == Class::Predicate || (class == Class::B32 && ty.bits > 32) {
            return Err(wrong_registers(instr));
        }
        let mut regs = [0; 4];
        for (reg, element) in regs.iter_mut().zip(list) {
            let found = match element {
                Operand::Sink => self.temp(class),
                element if write => self.dest(instr, element)?,
                element => self.source(instr, element, class)?,
            };
            if found.class != class {
                let text = &instr.text;
                return Err(instr.error(format!("the registers of `{text}` differ in width")));
            }
            *reg = found.index;
        }
        Ok((class, regs))
    }

    fn load(&mut self, instr: &Instr, space: Space) -> Result<()> {
        let (ty, count) = self.shape(instr, space)?;
        let [d, address] = self.operands::<2>(instr)?;
        let address = self.address(instr, address)?;
        let (class, regs) = self.elements(instr, d, ty, count, true)?;
        let access = self.load_store(instr, space, address, (ty, count), (class, regs));
        self.push(LaneOp::Load(access));
        self.clear_upper(instr, d, ty);
        Ok(())
    }

    fn store(&mut self, instr: &Instr, space: Space) -> Result<()> {
        if matches!(space, Space::Const | Space::Param) {
            return Err(instr.wrong("writes to memory that is read-only"));
        }
        let (ty, count) = self.shape(instr, space)?;
        let [address, a] = self.operands::<2>(instr)?;
        let address = self.address(instr, address)?;
        let (class, regs) = self.elements(instr, a, ty, count, false)?;
        let access = self.load_store(instr, space, address, (ty, count), (class, regs));
        self.push(LaneOp::Store(access));
        Ok(())
    }

    fn load_store(
        &mut self,
        instr: &Instr,
        space: Space,
        address: Address,
        (ty, count): (Type, u32),
        (class, regs): (Class, [u32; 4]),
    ) -> Box<LoadStore> {
        Box::new(LoadStore {
            space,
            order: order(instr),
            address,
            bytes: ty.bytes(),
            count,
            signed: ty.is_signed(),
            class,
            regs,
            slot: self.slot(),
        })
    }

    /// A parameter at a constant offset is in a register from the start; others are loaded.
    fn load_param(&mut self, instr: &Instr) -> Result<()> {
        let (ty, count) = self.shape(instr, Space::Param)?;
        let [d, address] = self.operands::<2>(instr)?;
        let Operand::Address(base, offset) = address else {
            return self.load(instr, Space::Param);
        };
        let place = match &**base {
            Operand::Symbol(name, _) => self.params.get(name.as_str()),
            _ => None,
        };
        let (Some(&(at, size)), offset) = (place, *offset) else {
            return self.load(instr, Space::Param);
        };
        let end = offset.checked_add(i64::from(ty.bytes() * count));
        if offset < 0 || end.is_none_or(|end| end > i64::from(size)) {
            return Err(instr.wrong("reads past its parameter"));
        }
        let (class, regs) = self.elements(instr, d, ty, count, true)?;
        for (i, &index) in regs[..count as usize].iter().enumerate() {
            let (bytes, signed) = (ty.bytes(), ty.is_signed());
            let offset = at + offset as u32 + i as u32 * bytes;
            let param = Fixed::Param {
                offset,
                bytes,
                signed,
            };
            let value = self.fixed(class, param);
            self.push(moves::copy(Reg { class, index }, value));
        }
        self.clear_upper(instr, d, ty);
        Ok(())
    }

    /// A signed byte loaded into a 16-bit register is extended only to 16 bits.
    fn clear_upper(&mut self, instr: &Instr, loaded: &Operand, ty: Type) {
        for element in loaded.elements() {
            if ty.is_signed()
                && self.is_16(element)
                && let Ok(Reg { index, .. }) = self.dest(instr, element)
            {
                self.push_16(index);
            }
        }
    }

    /// Each element of a vector is updated separately, in no particular order (PTX ISA, "atom", "red").
    fn atomic_vector(&mut self, instr: &Instr, count: usize, space: Space) -> Result<()> {
        let ty = instr.last_type()?;
        // Floating-point vectors of 32, 64 or 128 bits in total.
        let is_float = ["f16", "bf16", "f16x2", "bf16x2", "f32"]
            .iter()
            .any(|ty| instr.has(ty));
        instr.require(
            is_float
                && matches!(space, Space::Global | Space::Generic)
                && count as u32 * ty.bytes() <= 16,
        )?;
        let (d, address, b) = match &instr.operands[..] {
            [address, b] if instr.opcode[0] == "red" => (None, address, b),
            [d, address, b] if instr.opcode[0] == "atom" => (Some(d), address, b),
            _ => return Err(instr.wrong_count()),
        };
        let Operand::Address(base, offset) = address else {
            return Err(instr.wrong("needs an address in brackets"));
        };
        if b.elements().len() != count || d.is_some_and(|d| d.elements().len() != count) {
            return Err(instr.wrong(format!("needs {count} registers in braces")));
        }
        // The old value of an element is written before the next one is read.
        let is_overwritten =
            |d: &Operand| d.elements().iter().any(|one| b.elements().contains(one));
        instr.require(!d.is_some_and(is_overwritten))?;
        let mut one = instr.clone();
        one.opcode
            .retain(|part| !matches!(part.as_str(), "v2" | "v4" | "v8"));
        for (i, b) in b.elements().iter().enumerate() {
            let offset = offset.wrapping_add(i as i64 * i64::from(ty.bytes()));
            let address = Operand::Address(base.clone(), offset);
            let found = d.map(|d| &d.elements()[i]);
            one.operands = found
                .into_iter()
                .cloned()
                .chain([address, b.clone()])
                .collect();
            self.atomic(&one, space)?;
        }
        Ok(())
    }

    fn atomic(&mut self, instr: &Instr, space: Space) -> Result<()> {
        instr.require(!matches!(space, Space::Local | Space::Const | Space::Param))?;
        for (suffix, count) in [("v2", 2), ("v4", 4), ("v8", 8)] {
            if instr.has(suffix) {
                return self.atomic_vector(instr, count, space);
            }
        }
        let ty = instr.last_type()?;
        instr.require(!instr.has("ftz") && matches!(ty.bits, 16 | 32 | 64))?;
        let f = scalar::atomic(instr, ty).ok_or_else(|| instr.unsupported())?;
        let (d, rest) = match &instr.operands[..] {
            rest if instr.opcode[0] == "red" => (None, rest),
            [Operand::Sink, rest @ ..] => (None, rest),
            [d, rest @ ..] => (Some(self.dest(instr, d)?), rest),
            [] => return Err(instr.unsupported()),
        };
        let class = class_of(ty);
        let (address, b, c) = match rest {
            [address, b] => (address, b, b),
            [address, b, c] if instr.has("cas") => (address, b, c),
            _ => return Err(instr.wrong_count()),
        };
        if let Some(d) = d {
            self.check_class(instr, d, class)?;
        }
        let address = self.address(instr, address)?;
        let [b, c] = self.sources(instr, [b, c], class)?;
        self.communicates |= matches!(space, Space::Global | Space::Generic);
        self.note_grain(space, ty);
        let on_global = scalar::atomic_on_global(ty).filter(|_| instr.has("add"));
        // The default scope is `.gpu`, and the default order `.relaxed` (PTX ISA, "atom").
        let order = Order {
            strong: Some(scope(instr).unwrap_or(Scope::Gpu)),
            ..order(instr)
        };
        let access = Atomic {
            space,
            order,
            address,
            bytes: ty.bytes(),
            f,
            on_global: on_global.unwrap_or(f),
            d,
            b,
            c,
            slot: self.slot(),
        };
        self.push(LaneOp::Atomic(Box::new(access)));
        Ok(())
    }
}
