//! Fundamental types of PTX (PTX ISA, "Fundamental Types").

/// What an instruction's type suffix says of its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Bits,
    Unsigned,
    Signed,
    Float,
    Brain,
    Predicate,
}

/// A scalar or packed type: kind, width in bits, and whether it packs two of them (`.f16x2`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Type {
    pub kind: Kind,
    pub bits: u32,
    pub pair: bool,
}

impl Type {
    const fn new(kind: Kind, bits: u32) -> Self {
        Self {
            kind,
            bits,
            pair: false,
        }
    }
    const fn pair(kind: Kind) -> Self {
        Self {
            kind,
            bits: 32,
            pair: true,
        }
    }
    pub const B32: Type = Type::new(Kind::Bits, 32);
    pub const B64: Type = Type::new(Kind::Bits, 64);
    pub const PRED: Type = Type::new(Kind::Predicate, 1);

    /// The type of a suffix without its dot, such as `f32`.
    pub fn parse(suffix: &str) -> Option<Type> {
        Some(match suffix {
            "pred" => Type::PRED,
            "b8" => Type::new(Kind::Bits, 8),
            "b16" => Type::new(Kind::Bits, 16),
            "b32" => Type::B32,
            "b64" => Type::B64,
            "b128" => Type::new(Kind::Bits, 128),
            "u8" => Type::new(Kind::Unsigned, 8),
            "u16" => Type::new(Kind::Unsigned, 16),
            "u32" => Type::new(Kind::Unsigned, 32),
            "u64" => Type::new(Kind::Unsigned, 64),
            "s8" => Type::new(Kind::Signed, 8),
            "s16" => Type::new(Kind::Signed, 16),
            "s32" => Type::new(Kind::Signed, 32),
            "s64" => Type::new(Kind::Signed, 64),
            "f16" => Type::new(Kind::Float, 16),
            "f32" => Type::new(Kind::Float, 32),
            "f64" => Type::new(Kind::Float, 64),
            "bf16" => Type::new(Kind::Brain, 16),
            "f16x2" => Type::pair(Kind::Float),
            "bf16x2" => Type::pair(Kind::Brain),
            _ => return None,
        })
    }

    pub fn bytes(self) -> u32 {
        self.bits.div_ceil(8)
    }
    pub fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }
    pub fn is_float(self) -> bool {
        matches!(self.kind, Kind::Float | Kind::Brain)
    }
}
