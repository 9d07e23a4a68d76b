//! A place in a text that is parsed: what the two notations, expressions and axis layouts, have in common.

/// A text, read from the left.
pub struct Cursor<'a> {
    pub text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// What is left, from its first character that is no blank.
    pub fn rest(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    /// Passes over so many bytes.
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Passes over a symbol, if it is next.
    pub fn take(&mut self, symbol: &str) -> bool {
        let is_next = self.rest().starts_with(symbol);
        self.skip(if is_next { symbol.len() } else { 0 });
        is_next
    }

    /// The name or number that is next; empty if there is none.
    pub fn word(&mut self) -> &'a str {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let rest = self.rest();
        rest.split(|c| !is_part(c)).next().unwrap_or_default()
    }

    /// Where it is, in characters from 1.
    pub fn column(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or_default();
        before.chars().count() + 1
    }
}

/// A caret under a column, counted from 1.
pub fn caret(column: usize) -> String {
    format!("{:>column$}", "^")
}
