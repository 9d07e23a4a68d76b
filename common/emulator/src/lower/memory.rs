//! Loads, stores and atomics.
use super::layout::Place;
use super::{Lowering, Result, class_of, moves, scalar};
use crate::op::{Access, AtomicAccess, Class, Code, Reg, Space};
use crate::program::Fixed;
use crate::ptx::{Instr, Operand, Type};

type Guard = Option<(u32, bool)>;

impl Lowering<'_> {
    pub(super) fn memory(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let mut space = self.space(instr)?;
        // Arguments and results of an inlined call are local variables.
        let local = |operand: &Operand| {
            matches!(operand, Operand::Address(base, _) if matches!(&**base, Operand::Symbol(name, _)
                if matches!(self.places.get(name.as_str()), Some(Place::Local(_)))))
        };
        if space == Space::Param && instr.operands.iter().any(local) {
            space = Space::Local;
        }
        match instr.opcode[0].as_str() {
            "atom" | "red" => self.atomic(instr, guard, space),
            "st" => self.store(instr, guard, space),
            _ if space == Space::Param => self.load_param(instr, guard),
            _ => self.load(instr, guard, space),
        }
    }

    fn space(&self, instr: &Instr) -> Result<Space> {
        for part in &instr.opcode[1..] {
            match part.as_str() {
                "global" => return Ok(Space::Global),
                "shared" | "shared::cta" => return Ok(Space::Shared),
                "local" => return Ok(Space::Local),
                "const" => return Ok(Space::Const),
                "param" | "param::entry" | "param::func" => return Ok(Space::Param),
                "shared::cluster" => return Ok(Space::Cluster),
                _ => {}
            }
        }
        Ok(Space::Generic)
    }

    /// The type, the number of elements, and whether another block may have a say in the value.
    fn shape(&mut self, instr: &Instr, space: Space) -> Result<(Type, u32)> {
        let mut count = 1;
        let known = [
            "weak",
            "relaxed",
            "acquire",
            "release",
            "volatile",
            "cta",
            "cluster",
            "gpu",
            "sys",
            "ca",
            "cg",
            "cs",
            "lu",
            "cv",
            "wb",
            "wt",
            "nc",
            "global",
            "shared",
            "shared::cta",
            "shared::cluster",
            "local",
            "const",
            "param",
            "param::entry",
            "param::func",
        ];
        for part in &instr.opcode[1..] {
            match part.as_str() {
                "v2" => count = 2,
                "v4" => count = 4,
                part if known.contains(&part) || Type::parse(part).is_some() => {}
                // Where a line may stay in a cache; no bits and no counter here depend on it.
                part if part.starts_with("L1::")
                    || (part.starts_with("L2::") && part != "L2::cache_hint") => {}
                _ => return Err(instr.unsupported()),
            }
        }
        let ordered = ["volatile", "relaxed", "acquire", "release", "cv"]
            .iter()
            .any(|s| instr.has(s));
        if ordered && matches!(space, Space::Global | Space::Generic) {
            self.talks = true;
        }
        let Some(&ty) = instr.types().last() else {
            return Err(instr.unsupported());
        };
        if ty == Type::PRED || ty.bits > 64 || ty.bytes() * count > 16 {
            return Err(instr.unsupported());
        }
        if matches!(space, Space::Shared | Space::Cluster | Space::Generic) {
            self.grain = self.grain.min(ty.bytes());
        }
        Ok((ty, count))
    }

    pub(super) fn address(&mut self, instr: &Instr, operand: &Operand) -> Result<(Reg, i64)> {
        let Operand::Address(base, offset) = operand else {
            return Err(instr.error(format!("`{}` needs an address in brackets", instr.text)));
        };
        match &**base {
            Operand::Register(id) => {
                let reg = self.reg(*id);
                if reg.class == Class::Predicate {
                    return Err(instr.error("a predicate is not an address"));
                }
                Ok((reg, *offset))
            }
            base => Ok((self.source(instr, base, Class::Double)?, *offset)),
        }
    }

    pub(super) fn slot(&mut self) -> u32 {
        self.memory_slots += 1;
        self.memory_slots - 1
    }

    /// The registers of a load or store, all of one class.
    fn elements(
        &mut self,
        instr: &Instr,
        operand: &Operand,
        ty: Type,
        count: u32,
        write: bool,
    ) -> Result<(Class, [u32; 4])> {
        let list = match operand {
            Operand::Vector(list) => &list[..],
            one => std::slice::from_ref(one),
        };
        if list.len() != count as usize {
            return Err(instr.error(format!(
                "`{}` names {} registers, not {count}",
                instr.text,
                list.len()
            )));
        }
        let class = list
            .iter()
            .find_map(|element| match element {
                Operand::Register(id) => Some(self.reg(*id).class),
                _ => None,
            })
            .unwrap_or(class_of(ty));
        if class == Class::Predicate || (class == Class::Word && ty.bits > 32) {
            return Err(instr.error(format!(
                "the registers of `{}` have the wrong width",
                instr.text
            )));
        }
        let mut regs = [0; 4];
        for (reg, element) in regs.iter_mut().zip(list) {
            let found = match element {
                Operand::Sink => self.temp(class),
                element if write => self.dest(instr, element)?,
                element => self.source(instr, element, class)?,
            };
            if found.class != class {
                return Err(
                    instr.error(format!("the registers of `{}` differ in width", instr.text))
                );
            }
            *reg = found.index;
        }
        Ok((class, regs))
    }

    fn load(&mut self, instr: &Instr, guard: Guard, space: Space) -> Result<()> {
        let (ty, count) = self.shape(instr, space)?;
        let [d, address] = self.operands::<2>(instr)?;
        let (base, offset) = self.address(instr, address)?;
        let (class, regs) = self.elements(instr, d, ty, count, true)?;
        let slot = self.slot();
        let access = Access {
            space,
            base,
            offset,
            bytes: ty.bytes(),
            count,
            signed: ty.is_signed(),
            class,
            regs,
            slot,
        };
        self.push(guard, Code::Load(Box::new(access)));
        self.clear_upper(instr, guard, d, ty);
        Ok(())
    }

    fn store(&mut self, instr: &Instr, guard: Guard, space: Space) -> Result<()> {
        if matches!(space, Space::Const | Space::Param) {
            return Err(instr.error(format!(
                "`{}` writes to memory that is read-only",
                instr.text
            )));
        }
        let (ty, count) = self.shape(instr, space)?;
        let [address, a] = self.operands::<2>(instr)?;
        let (base, offset) = self.address(instr, address)?;
        let (class, regs) = self.elements(instr, a, ty, count, false)?;
        let slot = self.slot();
        let access = Access {
            space,
            base,
            offset,
            bytes: ty.bytes(),
            count,
            signed: false,
            class,
            regs,
            slot,
        };
        self.push(guard, Code::Store(Box::new(access)));
        Ok(())
    }

    /// A parameter at a constant place is in a register from the start; others are loaded.
    fn load_param(&mut self, instr: &Instr, guard: Guard) -> Result<()> {
        let (ty, count) = self.shape(instr, Space::Param)?;
        let [d, address] = self.operands::<2>(instr)?;
        let place = match address {
            Operand::Address(base, offset) => match &**base {
                Operand::Symbol(name, _) => self
                    .params
                    .get(name.as_str())
                    .map(|(at, bytes)| (*at, *bytes, *offset)),
                _ => None,
            },
            _ => None,
        };
        let Some((at, size, offset)) = place else {
            return self.load(instr, guard, Space::Param);
        };
        let end = offset.checked_add(i64::from(ty.bytes() * count));
        if offset < 0 || end.is_none_or(|end| end > i64::from(size)) {
            return Err(instr.error(format!("`{}` reads past its parameter", instr.text)));
        }
        let (class, regs) = self.elements(instr, d, ty, count, true)?;
        for (i, &index) in regs[..count as usize].iter().enumerate() {
            let offset = at + offset as u32 + i as u32 * ty.bytes();
            let value = self.fixed(
                class,
                Fixed::Param {
                    offset,
                    bytes: ty.bytes(),
                    signed: ty.is_signed(),
                },
            );
            self.push(guard, moves::copy(Reg { class, index }, value));
        }
        self.clear_upper(instr, guard, d, ty);
        Ok(())
    }

    /// A signed byte in a 16-bit register is extended to 16 bits only.
    fn clear_upper(&mut self, instr: &Instr, guard: Guard, loaded: &Operand, ty: Type) {
        let list = match loaded {
            Operand::Vector(list) => &list[..],
            one => std::slice::from_ref(one),
        };
        for element in list {
            if ty.is_signed()
                && self.is_16(element)
                && let Ok(Reg { index, .. }) = self.dest(instr, element)
            {
                self.push_16(guard, index);
            }
        }
    }

    fn atomic(&mut self, instr: &Instr, guard: Guard, space: Space) -> Result<()> {
        if !matches!(
            space,
            Space::Global | Space::Shared | Space::Cluster | Space::Generic
        ) {
            return Err(instr.unsupported());
        }
        let Some(&ty) = instr.types().last() else {
            return Err(instr.unsupported());
        };
        if instr
            .opcode
            .iter()
            .any(|s| matches!(s.as_str(), "v2" | "v4" | "v8" | "ftz"))
            || !matches!(ty.bits, 16 | 32 | 64)
        {
            return Err(instr.unsupported());
        }
        let Some(f) = scalar::atomic(instr, ty) else {
            return Err(instr.unsupported());
        };
        let (d, rest) = if instr.opcode[0] == "red" {
            (None, &instr.operands[..])
        } else {
            let (d, rest) = instr
                .operands
                .split_first()
                .ok_or_else(|| instr.unsupported())?;
            let d = if *d == Operand::Sink {
                None
            } else {
                Some(self.dest(instr, d)?)
            };
            (d, rest)
        };
        let class = class_of(ty);
        let (address, b, c) = match rest {
            [address, b] => (address, b, b),
            [address, b, c] if instr.has("cas") => (address, b, c),
            _ => {
                return Err(
                    instr.error(format!("`{}` has the wrong number of operands", instr.text))
                );
            }
        };
        if d.is_some_and(|d| d.class != class) {
            return Err(instr.error(format!(
                "the result register of `{}` has the wrong width",
                instr.text
            )));
        }
        let (base, offset) = self.address(instr, address)?;
        let (b, c) = (self.source(instr, b, class)?, self.source(instr, c, class)?);
        if matches!(space, Space::Global | Space::Generic) {
            self.talks = true;
        }
        if matches!(space, Space::Shared | Space::Cluster | Space::Generic) {
            self.grain = self.grain.min(ty.bytes());
        }
        let slot = self.slot();
        let access = AtomicAccess {
            space,
            base,
            offset,
            bytes: ty.bytes(),
            f,
            on_global: scalar::atomic_on_global(ty)
                .filter(|_| instr.has("add"))
                .unwrap_or(f),
            d,
            b,
            c,
            slot,
        };
        self.push(guard, Code::Atomic(Box::new(access)));
        Ok(())
    }
}
