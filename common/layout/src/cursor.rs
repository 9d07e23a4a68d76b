//! A position in a text that is parsed: shared by the two parsers, of expressions and of axis layouts.

/// A text, read from left to right.
pub struct Cursor<'a> {
    pub text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The rest of the text, from its first character that is not a blank.
    pub fn rest(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    /// Skips `bytes` bytes.
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Skips a symbol, if it is next.
    pub fn take(&mut self, symbol: &str) -> bool {
        let is_next = self.rest().starts_with(symbol);
        self.skip(if is_next { symbol.len() } else { 0 });
        is_next
    }

    /// The next name or number; empty if there is none.
    pub fn word(&mut self) -> &'a str {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let rest = self.rest();
        rest.split(|c| !is_part(c)).next().unwrap_or_default()
    }

    /// The position in characters, from 1.
    pub fn column(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or_default();
        before.chars().count() + 1
    }
}

/// A caret under a column, counted from 1.
pub fn caret(column: usize) -> String {
    format!("{:>column$}", "^")
}
