//! A lane's address as a formula that a student evaluates by hand. The `layout` crate parses its text, and the emulator
//! runs PTX generated from it, so that neither can hide a mistake of the other.
use std::fmt::{self, Display, Formatter};
use std::ops::{Add, BitAnd, BitXor, Div, Mul, Rem, Shr};

/// A formula of non-negative integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    Number(u32),
    /// A variable; in PTX, a register with this name.
    Variable(&'static str),
    Binary(Operator, Box<[Formula; 2]>),
}

/// An operator in C and in PTX.
type Operator = [&'static str; 2];

pub const LANE: Formula = Formula::Variable("lane");
pub const ROW: Formula = Formula::Variable("row");
pub const COL: Formula = Formula::Variable("col");

impl From<u32> for Formula {
    fn from(number: u32) -> Self {
        Self::Number(number)
    }
}

macro_rules! operator {
    ($trait:ident, $function:ident, $c:literal, $ptx:literal) => {
        impl<T: Into<Formula>> $trait<T> for Formula {
            type Output = Formula;
            fn $function(self, right: T) -> Formula {
                Formula::Binary([$c, $ptx], Box::new([self, right.into()]))
            }
        }
    };
}
operator!(Add, add, "+", "add.u32");
operator!(Mul, mul, "*", "mul.lo.u32");
operator!(Div, div, "/", "div.u32");
operator!(Rem, rem, "%", "rem.u32");
operator!(BitAnd, bitand, "&", "and.b32");
operator!(BitXor, bitxor, "^", "xor.b32");
operator!(Shr, shr, ">>", "shr.u32");

impl Formula {
    /// Adds a byte offset, unless it is 0.
    pub fn plus(self, bytes: u32) -> Self {
        if bytes == 0 { self } else { self + bytes }
    }

    /// PTX that computes the value into `%{into}`; every variable is a register. Auxiliary registers begin with
    /// `%{into}_` and are declared.
    pub fn ptx(&self, into: &str) -> String {
        match self {
            Self::Number(number) => format!("mov.u32 %{into}, {number};\n"),
            Self::Variable(name) => format!("mov.u32 %{into}, %{name};\n"),
            Self::Binary([_, instruction], sides) => {
                let [left, right] = &**sides;
                let [a, b] = ["a", "b"].map(|side| format!("{into}_{side}"));
                let sides = left.ptx(&a) + &right.ptx(&b);
                format!(".reg .b32 %{a}, %{b};\n{sides}{instruction} %{into}, %{a}, %{b};\n")
            }
        }
    }
}

impl Display for Formula {
    /// C syntax, with more parentheses than necessary, so that a reader need not know the precedence of `&`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Variable(name) => f.write_str(name),
            Self::Binary([symbol, _], sides) => {
                let side = |side: &Formula, bare: &[&str]| match side {
                    Self::Binary([inner, _], _) if *symbol != "+" || !bare.contains(inner) => {
                        format!("({side})")
                    }
                    _ => side.to_string(),
                };
                let [left, right] = &**sides;
                let (left, right) = (side(left, &["*", "+"]), side(right, &["*"]));
                write!(f, "{left} {symbol} {right}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_ptx() {
        let formula = ROW * 256 + (COL ^ ((ROW >> 3) & 7)) * 16;
        assert_eq!(
            formula.to_string(),
            "row * 256 + (col ^ ((row >> 3) & 7)) * 16"
        );
        assert_eq!((ROW * 2 + COL * 4 + 6).to_string(), "row * 2 + col * 4 + 6");
        assert_eq!(((LANE / 4) * 2 % 8).to_string(), "((lane / 4) * 2) % 8");
        assert_eq!(
            (LANE / 4).ptx("row"),
            ".reg .b32 %row_a, %row_b;\nmov.u32 %row_a, %lane;\nmov.u32 %row_b, 4;\ndiv.u32 %row, %row_a, %row_b;\n"
        );
    }
}
