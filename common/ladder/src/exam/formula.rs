//! A lane's address as a formula that a student works out by hand. Two read it: the `layout` crate its text, and the
//! emulator the PTX made of it, so that neither can hide a mistake of the other.
use std::fmt::{self, Display, Formatter};
use std::ops::{Add, BitAnd, BitXor, Div, Mul, Rem, Shr};

/// Of whole numbers that are never negative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    Number(u32),
    Name(Name),
    Binary(Operator, Box<[Formula; 2]>),
}

/// What a formula may speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    Lane,
    Row,
    Col,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Multiply,
    Divide,
    Remainder,
    And,
    Xor,
    Right,
}

pub const LANE: Formula = Formula::Name(Name::Lane);
pub const ROW: Formula = Formula::Name(Name::Row);
pub const COL: Formula = Formula::Name(Name::Col);

impl From<u32> for Formula {
    fn from(number: u32) -> Self {
        Self::Number(number)
    }
}

macro_rules! operator {
    ($trait:ident, $function:ident, $operator:ident) => {
        impl<T: Into<Formula>> $trait<T> for Formula {
            type Output = Formula;
            fn $function(self, right: T) -> Formula {
                Formula::Binary(Operator::$operator, Box::new([self, right.into()]))
            }
        }
    };
}
operator!(Add, add, Add);
operator!(Mul, mul, Multiply);
operator!(Div, div, Divide);
operator!(Rem, rem, Remainder);
operator!(BitAnd, bitand, And);
operator!(BitXor, bitxor, Xor);
operator!(Shr, shr, Right);

impl Name {
    /// As it is written; in PTX behind a `%`.
    pub fn text(self) -> &'static str {
        match self {
            Self::Lane => "lane",
            Self::Row => "row",
            Self::Col => "col",
        }
    }
}

impl Operator {
    fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::And => "&",
            Self::Xor => "^",
            Self::Right => ">>",
        }
    }

    fn instruction(self) -> &'static str {
        match self {
            Self::Add => "add.u32",
            Self::Multiply => "mul.lo.u32",
            Self::Divide => "div.u32",
            Self::Remainder => "rem.u32",
            Self::And => "and.b32",
            Self::Xor => "xor.b32",
            Self::Right => "shr.u32",
        }
    }
}

impl Formula {
    /// Instructions that put its value into `%{into}`; every name is a register behind a `%`. All registers that they
    /// need beside these begin with `%{into}_`, and are declared.
    pub fn ptx(&self, into: &str) -> String {
        match self {
            Self::Number(number) => format!("mov.u32 %{into}, {number};\n"),
            Self::Name(name) => format!("mov.u32 %{into}, %{};\n", name.text()),
            Self::Binary(operator, sides) => {
                let [left, right] = &**sides;
                let [a, b] = ["a", "b"].map(|side| format!("{into}_{side}"));
                format!(
                    ".reg .b32 %{a}, %{b};\n{}{}{} %{into}, %{a}, %{b};\n",
                    left.ptx(&a),
                    right.ptx(&b),
                    operator.instruction()
                )
            }
        }
    }
}

impl Display for Formula {
    /// As in C, with more parentheses than C needs: who reads it need not know how tightly `&` binds.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name.text()),
            Self::Binary(operator, sides) => {
                let side = |side: &Formula, bare: &[Operator]| match side {
                    Self::Binary(inner, _)
                        if *operator != Operator::Add || !bare.contains(inner) =>
                    {
                        format!("({side})")
                    }
                    _ => side.to_string(),
                };
                let [left, right] = &**sides;
                let left = side(left, &[Operator::Multiply, Operator::Add]);
                let right = side(right, &[Operator::Multiply]);
                write!(f, "{left} {} {right}", operator.symbol())
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
