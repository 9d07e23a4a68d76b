//! Fundamental types of PTX (PTX ISA, "Fundamental Types").

/// How the type suffix of an instruction interprets bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TypeKind {
    Bits,
    Unsigned,
    Signed,
    Float,
    Brain,
    Predicate,
}

/// A scalar or packed type: kind, width in bits, and whether it packs two of them (`.f16x2`, `.u16x2`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Type {
    pub kind: TypeKind,
    pub bits: u32,
    pub pair: bool,
}

impl Type {
    pub const fn new(kind: TypeKind, bits: u32) -> Self {
        Self {
            kind,
            bits,
            pair: false,
        }
    }
    const fn pair(kind: TypeKind) -> Self {
        Self {
            kind,
            bits: 32,
            pair: true,
        }
    }
    pub const B32: Type = Type::new(TypeKind::Bits, 32);
    pub const B64: Type = Type::new(TypeKind::Bits, 64);
    pub const PRED: Type = Type::new(TypeKind::Predicate, 1);

    /// The type of a suffix without its dot, such as `f32`.
    pub fn parse(suffix: &str) -> Option<Type> {
        Some(match suffix {
            "pred" => Type::PRED,
            "b8" => Type::new(TypeKind::Bits, 8),
            "b16" => Type::new(TypeKind::Bits, 16),
            "b32" => Type::B32,
            "b64" => Type::B64,
            "b128" => Type::new(TypeKind::Bits, 128),
            "u8" => Type::new(TypeKind::Unsigned, 8),
            "u16" => Type::new(TypeKind::Unsigned, 16),
            "u32" => Type::new(TypeKind::Unsigned, 32),
            "u64" => Type::new(TypeKind::Unsigned, 64),
            "s8" => Type::new(TypeKind::Signed, 8),
            "s16" => Type::new(TypeKind::Signed, 16),
            "s32" => Type::new(TypeKind::Signed, 32),
            "s64" => Type::new(TypeKind::Signed, 64),
            "f16" => Type::new(TypeKind::Float, 16),
            "f32" => Type::new(TypeKind::Float, 32),
            "f64" => Type::new(TypeKind::Float, 64),
            "bf16" => Type::new(TypeKind::Brain, 16),
            "f16x2" => Type::pair(TypeKind::Float),
            "bf16x2" => Type::pair(TypeKind::Brain),
            "u16x2" => Type::pair(TypeKind::Unsigned),
            "s16x2" => Type::pair(TypeKind::Signed),
            _ => return None,
        })
    }

    pub fn bytes(self) -> u32 {
        self.bits.div_ceil(8)
    }
    pub fn is_signed(self) -> bool {
        self.kind == TypeKind::Signed
    }
    pub fn is_float(self) -> bool {
        matches!(self.kind, TypeKind::Float | TypeKind::Brain)
    }
}
