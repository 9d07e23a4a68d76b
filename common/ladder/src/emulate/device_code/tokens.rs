//! Tokenizes CUDA C++, as finely as is needed to recognize declarations. Never fails: an unterminated string ends at
//! the end of its line, and an unterminated comment at the end of the text.
use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or a keyword.
    Word,
    /// A number, a string or a character.
    Literal,
    /// A single character, or `::`.
    Punct,
    /// A line that begins with `#`, including its continuation lines.
    Directive,
}

/// A token and its range in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub range: Range<usize>,
}

impl Token {
    pub fn text<'a>(&self, source: &'a str) -> &'a str {
        source.get(self.range.clone()).unwrap_or_default()
    }
}

/// The tokens of a text, without comments.
pub fn tokens(source: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        bytes: source.as_bytes(),
        at: 0,
    };
    let mut tokens = Vec::new();
    // Whether only blanks have occurred since the line began.
    let mut fresh = true;
    while let Some(&byte) = lexer.bytes.get(lexer.at) {
        let start = lexer.at;
        let kind = match byte {
            b'\n' => {
                fresh = true;
                lexer.at += 1;
                continue;
            }
            b'/' if lexer.comment() => continue,
            b'\\' => {
                lexer.at += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                lexer.at += 1;
                continue;
            }
            b'#' if fresh => {
                lexer.directive();
                Kind::Directive
            }
            b'"' => {
                lexer.quoted(b'"');
                Kind::Literal
            }
            b'\'' => {
                lexer.quoted(b'\'');
                Kind::Literal
            }
            _ if byte.is_ascii_digit() => {
                lexer.number();
                Kind::Literal
            }
            _ if is_word(byte) => lexer.word(),
            b':' if lexer.bytes[lexer.at..].starts_with(b"::") => {
                lexer.at += 2;
                Kind::Punct
            }
            _ => {
                lexer.at += 1;
                Kind::Punct
            }
        };
        fresh = kind == Kind::Directive;
        let range = start..lexer.at;
        tokens.push(Token { kind, range });
    }
    tokens
}

/// Non-ASCII letters belong to words.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Skips a comment, if one begins here.
    fn comment(&mut self) -> bool {
        if self.rest().starts_with(b"//") {
            self.line();
            return true;
        }
        if !self.rest().starts_with(b"/*") {
            return false;
        }
        let inside = &self.rest()[2..];
        let length = inside.windows(2).position(|pair| pair == b"*/");
        self.at += length.map_or(inside.len() + 2, |length| length + 4);
        true
    }

    /// Up to the end of the line, including continuation lines.
    fn line(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => return,
                b'\\' => self.at += self.splice().max(1),
                _ => self.at += 1,
            }
        }
    }

    /// The length of a `\` at the end of a line, including the line end.
    fn splice(&self) -> usize {
        let rest = self.rest();
        match () {
            () if rest.starts_with(b"\\\n") => 2,
            () if rest.starts_with(b"\\\r\n") => 3,
            () => 0,
        }
    }

    /// As [`Self::line`], except that a comment may continue past its end, and strings contain no comments.
    fn directive(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => return,
                b'\\' => self.at += self.splice().max(1),
                b'/' if self.comment() => {}
                b'"' | b'\'' => self.quoted(byte),
                _ => self.at += 1,
            }
        }
    }

    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => return,
                b'\\' => self.at = (self.at + self.splice().max(2)).min(self.bytes.len()),
                _ if byte == quote => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    /// `1'000`, `0x1p-3f`, `1.5e+3`.
    fn number(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            let before = self.bytes[self.at.saturating_sub(1)];
            let next = self.bytes.get(self.at + 1);
            let sign = matches!(byte, b'+' | b'-') && matches!(before, b'e' | b'E' | b'p' | b'P');
            let quote = byte == b'\'' && next.is_some_and(u8::is_ascii_alphanumeric);
            if !(is_word(byte) || byte == b'.' || sign || quote) {
                return;
            }
            self.at += 1;
        }
    }

    /// A word, or a literal with a prefix: `R"(…)"`, `L'x'`.
    fn word(&mut self) -> Kind {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|&byte| is_word(byte)) {
            self.at += 1;
        }
        let word = &self.bytes[start..self.at];
        let quote = self.bytes.get(self.at).copied();
        match (word, quote) {
            (b"R" | b"u8R" | b"uR" | b"UR" | b"LR", Some(b'"')) => {
                self.raw();
                Kind::Literal
            }
            (b"u8" | b"u" | b"U" | b"L", Some(quote @ (b'"' | b'\''))) => {
                self.quoted(quote);
                Kind::Literal
            }
            _ => Kind::Word,
        }
    }

    /// `"delimiter(…)delimiter"`
    fn raw(&mut self) {
        let rest = &self.rest()[1..];
        let Some(open) = rest.iter().take(17).position(|&byte| byte == b'(') else {
            return self.quoted(b'"');
        };
        let end = [b")", &rest[..open], b"\""].concat();
        let length = rest.windows(end.len()).position(|window| window == end);
        self.at += 1 + length.map_or(rest.len(), |length| length + end.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        tokens(source)
            .iter()
            .map(|token| token.text(source))
            .collect()
    }

    #[test]
    fn words_numbers_and_signs() {
        assert_eq!(
            texts("int a::b = 1'000 + 0x1p-3f; // no\nk<<<1, 2>>>(x /* no */);"),
            [
                "int", "a", "::", "b", "=", "1'000", "+", "0x1p-3f", ";", "k", "<", "<", "<", "1",
                ",", "2", ">", ">", ">", "(", "x", ")", ";"
            ]
        );
    }

    #[test]
    fn literals_hold_anything() {
        assert_eq!(
            texts(r##"a("}\"//", '\'', R"x({ )" )x", L"{", u8'{', R"(never"##),
            [
                "a",
                "(",
                r#""}\"//""#,
                ",",
                r"'\''",
                ",",
                r#"R"x({ )" )x""#,
                ",",
                "L\"{\"",
                ",",
                "u8'{'",
                ",",
                "R\"(never"
            ]
        );
        assert_eq!(texts("\"open\nint"), ["\"open", "int"]);
    }

    #[test]
    fn a_directive_is_one_token_with_its_continuations() {
        let source =
            "#define A(x) \\\n  { x } /* two\nlines */ }\nint b; # not\n  #if 1 // {\nc \\\n d\n";
        assert_eq!(
            texts(source),
            [
                "#define A(x) \\\n  { x } /* two\nlines */ }",
                "int",
                "b",
                ";",
                "#",
                "not",
                "#if 1 // {",
                "c",
                "d"
            ]
        );
    }
}
