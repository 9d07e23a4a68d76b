//! PTX text to tokens. A word keeps its dots, so that `ld.shared.v4.f32` and `%tid.x` are one token.
use super::PtxError;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// Identifier, directive or dotted opcode.
    Word(&'a str),
    /// A number as written: `12`, `0x1F`, `0f3F800000`.
    Number(&'a str),
    Text(&'a str),
    Punct(char),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Spanned<'a> {
    pub token: Token<'a>,
    pub line: u32,
    /// Byte offset of the token in the text, and of its end.
    pub start: usize,
    pub end: usize,
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'%' | b'.')
}

pub(crate) fn lex(text: &str) -> Result<Vec<Spanned<'_>>, PtxError> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::with_capacity(bytes.len() / 4);
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let start = at;
        let first = bytes[at];
        let token = match first {
            b'\n' => {
                line += 1;
                at += 1;
                continue;
            }
            c if c.is_ascii_whitespace() || c == 0 => {
                at += 1;
                continue;
            }
            b'/' if bytes[at..].starts_with(b"//") => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                continue;
            }
            b'/' if bytes[at..].starts_with(b"/*") => {
                let len = text[at..].find("*/").ok_or_else(|| {
                    PtxError::new(line, "a comment that starts with /* never ends")
                })?;
                line += count_lines(&bytes[at..at + len]);
                at += len + 2;
                continue;
            }
            b'"' => {
                let len = text[at + 1..]
                    .find('"')
                    .ok_or_else(|| PtxError::new(line, "a string never ends"))?;
                at += len + 2;
                let inside = &text[start + 1..at - 1];
                let token = Token::Text(inside);
                tokens.push(Spanned {
                    token,
                    line,
                    start,
                    end: at,
                });
                line += count_lines(inside.as_bytes());
                continue;
            }
            c if c.is_ascii_digit() => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.') {
                    at += 1;
                }
                Token::Number(&text[start..at])
            }
            // Directives may follow each other without a space, as in `.reg.b32`; a dotted opcode is one word.
            b'.' => {
                at += 1;
                while at < bytes.len()
                    && bytes[at] != b'.'
                    && (is_word(bytes[at]) || bytes[at..].starts_with(b"::"))
                {
                    at += if bytes[at] == b':' { 2 } else { 1 };
                }
                Token::Word(&text[start..at])
            }
            c if is_word(c) => {
                while at < bytes.len() && (is_word(bytes[at]) || bytes[at..].starts_with(b"::")) {
                    at += if bytes[at] == b':' { 2 } else { 1 };
                }
                Token::Word(&text[start..at])
            }
            c if c.is_ascii() => {
                at += 1;
                Token::Punct(char::from(c))
            }
            _ => return Err(PtxError::new(line, "PTX is ASCII text, and this is not")),
        };
        tokens.push(Spanned {
            token,
            line,
            start,
            end: at,
        });
    }
    Ok(tokens)
}

fn count_lines(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&b| b == b'\n').count() as u32
}
