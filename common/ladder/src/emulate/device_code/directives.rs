//! The preprocessor's part: which macros are defined, which lines are compiled, which files are included.
use std::collections::HashMap;

use super::tokens::{Kind, tokens};

/// Limits the nesting of macros and parentheses, for hostile texts.
const MOST_DEPTH: usize = 32;

/// A directive, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive<'a> {
    Define {
        name: &'a str,
        function: bool,
        body: &'a str,
    },
    Undef(&'a str),
    /// The name, and whether it is quoted.
    Include(&'a str, bool),
    /// `#if` with the condition; `#ifdef` and `#ifndef` with `defined`.
    If(Condition<'a>),
    Elif(Condition<'a>),
    Else,
    Endif,
    /// `#pragma`, `#error`, `#warning`: dropped in code that is left out.
    Message,
    Other,
}

/// The condition under which lines are compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition<'a> {
    Defined(&'a str, bool),
    Expression(&'a str),
}

impl<'a> Directive<'a> {
    /// Parses a line that begins with `#`.
    pub fn parse(line: &'a str) -> Self {
        let line = line.trim_start().trim_start_matches('#').trim_start();
        let (name, rest) = split_word(line);
        match name {
            "define" => {
                let (name, rest) = split_word(rest);
                let function = rest.starts_with('(');
                let body = match rest.split_once(')') {
                    Some((_, body)) if function => body,
                    _ => rest,
                };
                Self::Define {
                    name,
                    function,
                    body,
                }
            }
            "undef" => Self::Undef(split_word(rest).0),
            "include" | "include_next" => {
                let rest = rest.trim_start();
                let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
                let angled = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
                match (quoted, angled) {
                    (Some((name, _)), _) => Self::Include(name, true),
                    (_, Some((name, _))) => Self::Include(name, false),
                    _ => Self::Other,
                }
            }
            "if" => Self::If(Condition::Expression(rest)),
            "ifdef" => Self::If(Condition::Defined(split_word(rest).0, true)),
            "ifndef" => Self::If(Condition::Defined(split_word(rest).0, false)),
            "elif" => Self::Elif(Condition::Expression(rest)),
            "elifdef" => Self::Elif(Condition::Defined(split_word(rest).0, true)),
            "elifndef" => Self::Elif(Condition::Defined(split_word(rest).0, false)),
            "else" => Self::Else,
            "endif" => Self::Endif,
            "pragma" | "error" | "warning" => Self::Message,
            _ => Self::Other,
        }
    }
}

/// The first word of a text after blanks, and the rest.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.split_at(text.find(|c| !is_word(c)).unwrap_or(text.len()))
}

/// A macro.
#[derive(Clone, Debug)]
pub struct Macro {
    pub function: bool,
    pub body: String,
}

/// The currently defined macros, and all definitions so far.
#[derive(Clone, Debug, Default)]
pub struct Macros {
    now: HashMap<String, Macro>,
    ever: HashMap<String, Vec<Macro>>,
}

impl Macros {
    pub fn define(&mut self, name: &str, function: bool, body: &str) {
        let body = body.to_owned();
        let defined = Macro { function, body };
        self.ever
            .entry(name.to_owned())
            .or_default()
            .push(defined.clone());
        self.now.insert(name.to_owned(), defined);
    }

    pub fn undefine(&mut self, name: &str) {
        self.now.remove(name);
    }

    /// All definitions of this name.
    pub fn ever(&self, name: &str) -> &[Macro] {
        self.ever.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.ever.keys().map(String::as_str)
    }

    /// Whether lines under this condition are compiled; if the condition is not understood, they are.
    pub fn holds(&self, condition: &Condition<'_>) -> bool {
        match *condition {
            Condition::Defined(name, wanted) => self.is_defined(name) == wanted,
            Condition::Expression(text) => self.value(text, 0).is_none_or(|value| value != 0),
        }
    }

    fn is_defined(&self, name: &str) -> bool {
        self.now.contains_key(name) || built_in(name).is_some()
    }

    /// The value of a constant expression; none if it is not understood.
    fn value(&self, text: &str, depth: usize) -> Option<i64> {
        if depth > MOST_DEPTH {
            return None;
        }
        let tokens = tokens(text);
        let words = tokens.iter().map(|token| (token.kind, token.text(text)));
        let mut expression = Expression {
            macros: self,
            tokens: words.collect(),
            at: 0,
            depth,
        };
        let value = expression.binary(0)?;
        (expression.at == expression.tokens.len()).then_some(value)
    }
}

/// The macros that NVRTC predefines, for the emulator's newest architecture.
fn built_in(name: &str) -> Option<i64> {
    Some(match name {
        "__CUDACC__" | "__NVCC__" | "__CUDACC_RTC__" | "__linux__" | "__x86_64__" => 1,
        "__cplusplus" => 201_703,
        "__CUDA_ARCH__" => 900,
        "__CUDACC_VER_MAJOR__" => 13,
        "CUDART_VERSION" | "CUDA_VERSION" => 13_000,
        _ => return None,
    })
}

struct Expression<'a> {
    macros: &'a Macros,
    tokens: Vec<(Kind, &'a str)>,
    at: usize,
    depth: usize,
}

impl Expression<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", |token| token.1)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.peek() == text;
        self.at += usize::from(found);
        found
    }

    /// An operator of at least this precedence, and its number of tokens.
    fn operator(&self, least: u8) -> Option<(&'static str, u8)> {
        let one = self.peek();
        let two = self.tokens.get(self.at + 1).map_or("", |token| token.1);
        let known = [
            ("||", 1),
            ("&&", 2),
            ("==", 6),
            ("!=", 6),
            ("<=", 7),
            (">=", 7),
            ("<<", 8),
            (">>", 8),
            ("|", 3),
            ("^", 4),
            ("&", 5),
            ("<", 7),
            (">", 7),
            ("+", 9),
            ("-", 9),
            ("*", 10),
            ("/", 10),
            ("%", 10),
        ];
        let is_it = |(text, _): &(&str, u8)| match text.len() {
            2 => text
                .strip_prefix(one)
                .is_some_and(|rest| !rest.is_empty() && !one.is_empty() && rest == two),
            _ => *text == one,
        };
        known
            .into_iter()
            .find(is_it)
            .filter(|(_, precedence)| *precedence >= least)
    }

    fn binary(&mut self, least: u8) -> Option<i64> {
        let mut left = self.unary()?;
        while let Some((operator, precedence)) = self.operator(least) {
            self.at += operator.len();
            let right = self.binary(precedence + 1)?;
            left = match operator {
                "||" => i64::from(left != 0 || right != 0),
                "&&" => i64::from(left != 0 && right != 0),
                "==" => i64::from(left == right),
                "!=" => i64::from(left != right),
                "<=" => i64::from(left <= right),
                ">=" => i64::from(left >= right),
                "<" => i64::from(left < right),
                ">" => i64::from(left > right),
                "<<" => left.checked_shl(u32::try_from(right).ok()?)?,
                ">>" => left.checked_shr(u32::try_from(right).ok()?)?,
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "+" => left.wrapping_add(right),
                "-" => left.wrapping_sub(right),
                "*" => left.wrapping_mul(right),
                "/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return None;
        }
        let value = self.operand();
        self.depth -= 1;
        value
    }

    fn operand(&mut self) -> Option<i64> {
        if self.eat("!") {
            return Some(i64::from(self.unary()? == 0));
        }
        if self.eat("-") {
            return Some(self.unary()?.wrapping_neg());
        }
        if self.eat("+") {
            return self.unary();
        }
        if self.eat("(") {
            let value = self.binary(0)?;
            return self.eat(")").then_some(value);
        }
        let &(kind, word) = self.tokens.get(self.at)?;
        self.at += 1;
        match kind {
            Kind::Literal => number(word),
            Kind::Word if word == "defined" => {
                let open = self.eat("(");
                let &(_, name) = self.tokens.get(self.at)?;
                self.at += 1;
                (!open || self.eat(")")).then(|| i64::from(self.macros.is_defined(name)))
            }
            Kind::Word if self.peek() == "(" => None,
            Kind::Word => match self.macros.now.get(word) {
                Some(defined) if defined.function => None,
                Some(defined) => self.macros.value(&defined.body, self.depth + 1),
                None => Some(built_in(word).unwrap_or(0)),
            },
            Kind::Punct | Kind::Directive => None,
        }
    }
}

fn number(text: &str) -> Option<i64> {
    let plain: String = text.to_lowercase().chars().filter(|&c| c != '\'').collect();
    let plain = plain.trim_end_matches(['u', 'l']);
    match (plain.strip_prefix("0x"), plain.strip_prefix("0b")) {
        (Some(digits), _) => i64::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => i64::from_str_radix(digits, 2).ok(),
        _ => plain.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let parse = Directive::parse;
        assert_eq!(
            parse("# define A(x, y) { x }"),
            Directive::Define {
                name: "A",
                function: true,
                body: " { x }"
            }
        );
        assert_eq!(
            parse("#define A (x)"),
            Directive::Define {
                name: "A",
                function: false,
                body: " (x)"
            }
        );
        assert_eq!(
            parse("#include <a/b.h> // c"),
            Directive::Include("a/b.h", false)
        );
        assert_eq!(
            parse("#include \"a.cuh\""),
            Directive::Include("a.cuh", true)
        );
        assert_eq!(parse("#include MACRO"), Directive::Other);
        assert_eq!(parse("#"), Directive::Other);
        assert_eq!(
            parse("#define"),
            Directive::Define {
                name: "",
                function: false,
                body: ""
            }
        );
    }

    #[test]
    fn conditions_hold_or_not() {
        let mut macros = Macros::default();
        macros.define("N", false, " (3 + 1)");
        macros.define("SELF", false, "SELF");
        macros.define("F", true, "x");
        for (text, holds) in [
            ("0", false),
            ("1", true),
            ("0x10 == 16", true),
            ("N == 4 && !defined(M)", true),
            ("defined N", true),
            ("defined(N) && 0", false),
            ("M", false),
            ("__CUDA_ARCH__ >= 800", true),
            ("__CUDA_ARCH__ < 700 || N < 4", false),
            ("1 + 2 * 3 == 7", true),
            ("(1 + 2) * 3 == 7", false),
            ("-1 < 0", true),
            ("1 << 3 == 8", true),
            ("7 % 4 == 3", true),
            // Not understood, so compiled.
            ("F(0)", true),
            ("SELF", true),
            ("1 / 0", true),
            ("0 0", true),
            ("", true),
            ("(((", true),
            ("\"a\"", true),
        ] {
            assert_eq!(macros.holds(&Condition::Expression(text)), holds, "{text}");
        }
        assert!(
            macros.holds(&Condition::Defined("N", true))
                && macros.holds(&Condition::Defined("M", false))
        );
        macros.undefine("N");
        assert!(!macros.holds(&Condition::Defined("N", true)) && macros.ever("N").len() == 1);
        assert!(macros.holds(&Condition::Expression(&"(".repeat(100_000))));
        assert!(macros.holds(&Condition::Expression(&"!".repeat(100_000))));
    }
}
