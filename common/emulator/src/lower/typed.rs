//! Whether registers have the type that an instruction names, as ptxas requires (PTX ISA, "Type Information for Instructions and
//! Operands"): as wide, and of bits or of the same kind. Conversions take wider registers, too.
use super::{Lowering, Result};
use crate::ptx::{Instr, Operand, Type, TypeKind};

/// Instructions whose operands all have its type, and how many these are. A predicate after them, and the count of a shift, are others.
const OPERANDS: [(&str, usize); 22] = [
    ("mov", 2),
    ("add", 3),
    ("sub", 3),
    ("mul", 3),
    ("mad", 4),
    ("fma", 4),
    ("div", 3),
    ("rem", 3),
    ("min", 3),
    ("max", 3),
    ("neg", 2),
    ("abs", 2),
    ("and", 3),
    ("or", 3),
    ("xor", 3),
    ("not", 2),
    ("lop3", 4),
    ("selp", 3),
    ("shl", 2),
    ("shr", 2),
    ("rcp", 2),
    ("sqrt", 2),
];

impl Lowering<'_> {
    /// Refuses registers of another type.
    pub(super) fn check_types(&self, instr: &Instr) -> Result<()> {
        let opcode = instr.opcode[0].as_str();
        let types = instr.types();
        let fits = |operand: Option<&Operand>, fits: &dyn Fn(Type) -> bool| match operand {
            Some(&Operand::Register(id)) => fits(self.type_of(id)),
            _ => true,
        };
        let all_fit = match (opcode, &types[..]) {
            ("cvt", &[to, from]) => [to, from]
                .iter()
                .zip(&instr.operands)
                .all(|(ty, operand)| fits(Some(operand), &|register| converts(register, *ty))),
            // The sum of `mad.wide` and the product are wider than the factors; other types differ from operand to operand.
            (_, &[ty]) if !instr.has("wide") => {
                let known = OPERANDS.iter().find(|(name, _)| *name == opcode);
                let count = known.map_or(0, |(_, count)| *count);
                let operands = instr.operands.iter().take(count);
                operands
                    .map(Some)
                    .all(|one| fits(one, &|register| holds(register, ty)))
            }
            _ => true,
        };
        match all_fit {
            true => Ok(()),
            false => Err(instr.wrong("has an operand of another type, or of another size")),
        }
    }
}

/// Whether a register of this type holds operands of an instruction of type `of`.
fn holds(register: Type, of: Type) -> bool {
    register.bits == of.bits && is_of_kind(register, of)
}

/// Whether a register of this type holds an operand of type `of` of a conversion: only a float has to be as wide.
fn converts(register: Type, of: Type) -> bool {
    let is_float = |ty: Type| kind(ty) == TypeKind::Float;
    match is_float(register) || register.bits < of.bits {
        true => holds(register, of),
        false => is_of_kind(register, of),
    }
}

fn is_of_kind(register: Type, of: Type) -> bool {
    [kind(register), kind(of)].contains(&TypeKind::Bits) || kind(register) == kind(of)
}

/// Signed and unsigned integers are alike, and two numbers in a register are like an integer.
fn kind(ty: Type) -> TypeKind {
    match ty.kind {
        TypeKind::Signed => TypeKind::Unsigned,
        TypeKind::Float | TypeKind::Brain if ty.pair => TypeKind::Unsigned,
        other => other,
    }
}
