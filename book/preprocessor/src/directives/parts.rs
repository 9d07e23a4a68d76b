//! Parts of a source file by name: an anchor, an item, or a section.
use std::sync::LazyLock;

use anyhow::{Result, bail};
use regex::Regex;

/// A part of a file.
pub struct Part {
    /// The lines, without their common indentation.
    pub text: String,
    /// The number of its first line.
    pub line: usize,
    /// Whether its end is determined by indentation or a blank line only, so that adding a blank line would change it.
    pub section: bool,
}

/// The part with this name.
pub fn find(text: &str, name: &str) -> Result<Part> {
    let lines: Vec<&str> = text.lines().collect();
    for (section, candidates) in [
        (false, anchors(&lines, name)?),
        (false, items(&lines, name)),
        (true, sections(&lines, name)),
    ] {
        match candidates[..] {
            [] => {}
            [(first, end)] => {
                return Ok(Part {
                    text: shown(&lines[first..end]),
                    line: first + 1,
                    section,
                });
            }
            _ => {
                let at = candidates.iter().map(|(first, _)| (first + 1).to_string());
                let at = at.collect::<Vec<_>>().join(", ");
                bail!("there is more than one `{name}`, at lines {at}");
            }
        }
    }
    bail!("there is no anchor, no item and no section `{name}`")
}

/// The whole text without the lines that only mark anchors.
pub fn without_anchors(text: &str) -> String {
    shown(&text.lines().collect::<Vec<_>>())
}

fn shown(lines: &[&str]) -> String {
    let lines = lines.iter().filter(|line| anchor(line).is_none());
    let filled = lines.clone().filter(|line| !line.trim().is_empty());
    let left = filled.map(|line| depth(line)).min().unwrap_or(0);
    let lines = lines.map(|line| line.get(left..).unwrap_or("").trim_end());
    let text = lines.collect::<Vec<_>>().join("\n");
    text.trim_matches('\n').to_owned()
}

/// The indentation of a line.
fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Parses `ANCHOR: name` or `ANCHOR_END: name`: whether an anchor starts, and its name.
fn anchor(line: &str) -> Option<(bool, &str)> {
    static MARK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\bANCHOR(_END)?:\s*([\w-]+)").expect("a pattern that stands here")
    });
    let found = MARK.captures(line)?;
    Some((found.get(1).is_none(), found.get(2)?.as_str()))
}

fn anchors(lines: &[&str], name: &str) -> Result<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    let mut open = None;
    for (at, line) in lines.iter().enumerate() {
        match anchor(line) {
            Some((true, other)) if other == name => open = Some(at),
            Some((false, other)) if other == name => match open.take() {
                Some(start) => found.push((start, at)),
                None => bail!("anchor `{name}` ends at line {} without a start", at + 1),
            },
            _ => {}
        }
    }
    match open {
        Some(start) => bail!("anchor `{name}` of line {} never ends", start + 1),
        None => Ok(found),
    }
}

/// Functions, structs and constants of this name, at the top level or in a module.
fn items(lines: &[&str], name: &str) -> Vec<(usize, usize)> {
    let name = regex::escape(name);
    // Rust names the kind of an item; C++ has a type before the name, and a list or a value after it.
    let Ok(is_item) = Regex::new(&format!(
        r"^\s*(?:(?:pub(?:\([a-z]+\))?|const|async|unsafe|extern|default)\s+)*(?:fn|struct|enum|union|trait|mod|type|const|static|macro_rules!)\s+{name}\b|^(?:[\w:<>*&]+[\s*&]+)*{name}\s*\(|^(?:[\w:]+\s+)+(?:\w+ = [^;]*, )?{name}(?:\[\w*\])*\s*="
    )) else {
        return Vec::new();
    };
    let mut depth = 0;
    let mut found = Vec::new();
    let mut in_comment = false;
    let mut at = 0;
    while at < lines.len() {
        let code = code(lines[at], &mut in_comment);
        let starts = lines[at].trim_start().starts_with(char::is_alphabetic);
        let inside_function = depth > 0 && !starts;
        if !inside_function && is_item.is_match(&code) && (depth == 0 || rust_item(&code)) {
            let start = start_of(lines, at);
            if let Some(end) = end_of(lines, at) {
                found.push((start, end));
                // Nested items are not searched.
                for line in &lines[at + 1..end] {
                    self::code(line, &mut in_comment);
                }
                at = end;
                continue;
            }
        }
        depth += balance(&code);
        at += 1;
    }
    found
}

/// Whether a line names a Rust item, which may be nested.
fn rust_item(code: &str) -> bool {
    let mut words = code.split_whitespace();
    words.any(|word| matches!(word, "fn" | "struct" | "enum" | "trait" | "mod" | "impl"))
}

/// The line without comments and quoted text.
fn code(line: &str, in_comment: &mut bool) -> String {
    let mut out = String::new();
    let mut rest = line.chars().peekable();
    let mut quoted = false;
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        match c {
            '*' if *in_comment && next == Some('/') => {
                *in_comment = false;
                rest.next();
            }
            _ if *in_comment => {}
            '\\' if quoted => {
                rest.next();
            }
            '"' => quoted = !quoted,
            _ if quoted => {}
            '/' if next == Some('/') => break,
            '/' if next == Some('*') => *in_comment = true,
            '\'' => {
                // A character such as '{'; a lifetime has no second quotation mark.
                let ahead: String = rest.clone().take(3).collect();
                if let Some(end) = ahead.find('\'').filter(|&end| end > 0) {
                    (0..ahead[..=end].chars().count()).for_each(|_| {
                        rest.next();
                    });
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// How many more brackets of any kind it opens than it closes.
fn balance(code: &str) -> i32 {
    let step = |c| match c {
        '{' | '(' | '[' => 1,
        '}' | ')' | ']' => -1,
        _ => 0,
    };
    code.chars().map(step).sum()
}

/// The start of the item's statement, including the comment and attributes right above it.
fn start_of(lines: &[&str], at: usize) -> usize {
    let belongs = |line: &str| {
        let line = line.trim();
        let comment = line.starts_with("//") || line.starts_with('*') || line.starts_with("/*");
        let ends = code(line, &mut false).trim_end().ends_with([';', '}', '{'])
            || line.starts_with("#include")
            || line.starts_with("#define");
        !line.is_empty() && anchor(line).is_none() && (comment || !ends)
    };
    (0..at)
        .rev()
        .take_while(|&above| belongs(lines[above]))
        .last()
        .unwrap_or(at)
}

/// The line after the item: where its brackets are closed and it ends with `;` or `}`.
fn end_of(lines: &[&str], at: usize) -> Option<usize> {
    let mut depth = 0;
    let mut in_comment = false;
    for (number, line) in lines.iter().enumerate().skip(at) {
        let code = code(line, &mut in_comment);
        depth += balance(&code);
        if depth <= 0 && code.trim_end().ends_with([';', '}']) {
            return Some(number + 1);
        }
    }
    None
}

/// Sections: a comment that begins with the name, and the following lines, up to a blank line after which no line is
/// indented more than the comment.
fn sections(lines: &[&str], name: &str) -> Vec<(usize, usize)> {
    let begins = |line: &&str| {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            return false;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        comment
            .strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let end = |start: usize| {
        let own = depth(lines[start]);
        (start + 1..lines.len())
            .find(|&at| {
                let line = lines[at];
                let below = lines[at..].iter().find(|line| !line.trim().is_empty());
                match line.trim().is_empty() {
                    true => below.is_none_or(|below| depth(below) <= own),
                    false => depth(line) < own,
                }
            })
            .unwrap_or(lines.len())
    };
    let starts = (0..lines.len()).filter(|&at| begins(&lines[at]));
    starts.map(|start| (start, end(start))).collect()
}
