//! A mapping that the reader types, such as `col ^ (row & 7)`: parsed once, evaluated often.
//!
//! Operators are C's, loosest first: `|`, `^`, `&`, `<< >>`, `+ -`, `* / %`, then unary `-` and parentheses.
//! Numbers are decimal, `0x` or `0b`; the variables are `row` and `col`. Length and depth are bounded.
//! Evaluation is exact or an error: nothing wraps, nothing panics.

use crate::cursor::{Cursor, caret};

/// Most characters of an expression.
const MAX_LENGTH: usize = 1000;
/// Most nested parentheses and signs.
const MAX_DEPTH: u32 = 50;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Number(i64),
    Row,
    Column,
    Negative(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Or,
    Xor,
    And,
    Left,
    Right,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Operators by precedence, loosest first.
const LEVELS: [&[(&str, Operator)]; 6] = [
    &[("|", Operator::Or)],
    &[("^", Operator::Xor)],
    &[("&", Operator::And)],
    &[("<<", Operator::Left), (">>", Operator::Right)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[
        ("*", Operator::Multiply),
        ("/", Operator::Divide),
        ("%", Operator::Remainder),
    ],
];

/// Why an expression cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Another symbol was expected.
    #[error("{text}\n{} expected {expected}, found {found}", caret(*column))]
    Unexpected {
        /// The expression.
        text: String,
        /// The column of the error, from 1.
        column: usize,
        /// What the parser expected.
        expected: &'static str,
        /// What the text has instead.
        found: String,
    },
    /// A number beyond 63 bits.
    #[error("{text}\n{} this number is too large", caret(*column))]
    Number {
        /// The expression.
        text: String,
        /// The column of the error, from 1.
        column: usize,
    },
    /// Too long or too deep.
    #[error(
        "an expression may have {MAX_LENGTH} characters and {MAX_DEPTH} nested \
         parentheses or signs"
    )]
    TooLarge,
}

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// Division or remainder by zero.
    #[error("divides by zero")]
    DivisionByZero,
    /// A result beyond 63 bits.
    #[error("grows beyond 63 bits")]
    Overflow,
    /// A shift by a negative number, or by 63 or more.
    #[error("shifts by {0} places; 0 to 62 are possible")]
    Shift(i64),
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// If the text is not an expression; the error shows where.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.len() > MAX_LENGTH {
            return Err(ParseError::TooLarge);
        }
        let cursor = Cursor::new(text);
        let mut parser = Parser { cursor, depth: 0 };
        let root = parser.binary(0)?;
        if !parser.cursor.rest().is_empty() {
            return Err(parser.unexpected("an operator or the end"));
        }
        let text = text.trim().to_string();
        Ok(Self { text, root })
    }

    /// The value at a row and column.
    ///
    /// # Errors
    /// If it divides by zero, overflows or shifts too far.
    pub fn value(&self, row: u32, column: u32) -> Result<i64, EvalError> {
        self.root.value(row, column)
    }
}

impl std::fmt::Display for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Node {
    fn value(&self, row: u32, column: u32) -> Result<i64, EvalError> {
        match self {
            Node::Number(number) => Ok(*number),
            Node::Row => Ok(row.into()),
            Node::Column => Ok(column.into()),
            Node::Negative(inner) => {
                let value = inner.value(row, column)?;
                value.checked_neg().ok_or(EvalError::Overflow)
            }
            Node::Binary(operator, a, b) => {
                operator.apply(a.value(row, column)?, b.value(row, column)?)
            }
        }
    }
}

impl Operator {
    fn apply(self, a: i64, b: i64) -> Result<i64, EvalError> {
        let places = || match b {
            0..63 => Ok(b),
            _ => Err(EvalError::Shift(b)),
        };
        let value = match self {
            Operator::Or => Some(a | b),
            Operator::Xor => Some(a ^ b),
            Operator::And => Some(a & b),
            Operator::Right => Some(a >> places()?),
            Operator::Left => a.checked_mul(1 << places()?),
            Operator::Add => a.checked_add(b),
            Operator::Subtract => a.checked_sub(b),
            Operator::Multiply => a.checked_mul(b),
            Operator::Divide | Operator::Remainder if b == 0 => {
                return Err(EvalError::DivisionByZero);
            }
            Operator::Divide => a.checked_div(b),
            Operator::Remainder => a.checked_rem(b),
        };
        value.ok_or(EvalError::Overflow)
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    depth: u32,
}

impl Parser<'_> {
    fn binary(&mut self, level: usize) -> Result<Node, ParseError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        while let Some((_, operator)) = operators
            .iter()
            .find(|(symbol, _)| self.cursor.take(symbol))
        {
            left = Node::Binary(*operator, Box::new(left), Box::new(self.binary(level + 1)?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(ParseError::TooLarge);
        }
        let node = if self.cursor.take("-") {
            Node::Negative(Box::new(self.unary()?))
        } else if self.cursor.take("(") {
            let inner = self.binary(0)?;
            if !self.cursor.take(")") {
                return Err(self.unexpected("an operator or )"));
            }
            inner
        } else {
            self.word()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn word(&mut self) -> Result<Node, ParseError> {
        let word = self.cursor.word();
        let node = match word {
            "row" => Node::Row,
            // With 16-byte units, as in kernels.
            "col" | "chunk" => Node::Column,
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => Node::Number(self.number(word)?),
            _ => return Err(self.unexpected("a number, row, col or (")),
        };
        self.cursor.skip(word.len());
        Ok(node)
    }

    fn number(&mut self, word: &str) -> Result<i64, ParseError> {
        let (digits, radix) = match word.get(..2) {
            Some("0x") => (&word[2..], 16),
            Some("0b") => (&word[2..], 2),
            _ => (word, 10),
        };
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            return Err(self.unexpected("a decimal, 0x or 0b number"));
        }
        i64::from_str_radix(digits, radix).map_err(|_| ParseError::Number {
            text: self.cursor.text.to_string(),
            column: self.cursor.column(),
        })
    }

    fn unexpected(&mut self, expected: &'static str) -> ParseError {
        let found = match (self.cursor.word(), self.cursor.rest().chars().next()) {
            (_, None) => "the end".to_string(),
            ("", Some(first)) => first.to_string(),
            (word, Some(_)) => word.to_string(),
        };
        ParseError::Unexpected {
            text: self.cursor.text.to_string(),
            column: self.cursor.column(),
            expected,
            found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str, row: u32, column: u32) -> i64 {
        Expression::parse(text)
            .expect(text)
            .value(row, column)
            .expect(text)
    }

    #[test]
    fn precedence_is_that_of_c() {
        assert_eq!(value("col ^ (row & 7)", 13, 2), 2 ^ (13 & 7));
        assert_eq!(value("col ^ row & 7", 13, 9), 12, "& binds before ^");
        assert_eq!(value("1 | 2 ^ 3", 0, 0), 1, "^ binds before |");
        assert_eq!(value("col ^ ((row & 0b1100) >> 2)", 7, 3), 3 ^ 1);
        assert_eq!(
            value("1 + 2 * 3 << 1 | 0x10", 0, 0),
            (((1 + 2 * 3) << 1) | 0x10)
        );
        assert_eq!(value("10 - 4 - 3", 0, 0), 3, "from left to right");
        assert_eq!(value("-row + 8 % 5 / 2", 2, 0), -1);
    }

    #[test]
    fn errors_show_where() {
        let error = |text: &str| Expression::parse(text).expect_err(text).to_string();
        assert_eq!(
            error("col ^ rows"),
            "col ^ rows\n      ^ expected a number, row, col or (, found rows"
        );
        assert_eq!(
            error("col ^"),
            "col ^\n     ^ expected a number, row, col or (, found the end"
        );
        assert_eq!(
            error("(col"),
            "(col\n    ^ expected an operator or ), found the end"
        );
        assert_eq!(
            error("col row"),
            "col row\n    ^ expected an operator or the end, found row"
        );
        assert_eq!(
            error("0b12"),
            "0b12\n^ expected a decimal, 0x or 0b number, found 0b12"
        );
        assert!(error("99999999999999999999").contains("too large"));
        assert!(error(&"(".repeat(60)).contains("nested"));
        assert!(error(&"1+".repeat(600)).contains("1000 characters"));
        let value = |text: &str| Expression::parse(text).expect(text).value(0, 0);
        assert_eq!(value("col / row"), Err(EvalError::DivisionByZero));
        assert_eq!(value("1 << 63"), Err(EvalError::Shift(63)));
        assert_eq!(value("col >> -1"), Err(EvalError::Shift(-1)));
        assert_eq!(value("0x7fffffffffffffff + 1"), Err(EvalError::Overflow));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z0-9()+*/%&|^<> -]{0,40}|.{0,20}", row: u32, column: u32) {
            if let Ok(expression) = Expression::parse(&text) {
                let _ = expression.value(row, column);
            }
        }
    }
}
