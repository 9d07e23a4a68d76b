//! A page: its text and its directives.
use std::fmt;
use std::path::Path;

use anyhow::Result;
use transcript::CommandLine;

use crate::directives::{self, Directive, Shown, minutes};
use crate::fence::Fences;
use crate::sentence::{Piece, pieces};
use crate::world::World;

/// An error and its position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    page: String,
    line: usize,
    message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.page, self.line, self.message)
    }
}

/// A page whose directives have been parsed.
pub struct Page {
    name: String,
    parts: Vec<Part>,
}

/// A piece of a page.
enum Part {
    Text(String),
    Directive {
        line: usize,
        /// The indentation, if only blanks precede it on its line.
        indent: Option<String>,
        directive: Directive,
    },
}

impl Page {
    /// Finds the directives. The name is the file's, for messages.
    pub fn read(name: String, text: &str) -> (Self, Vec<Problem>) {
        let parts = Vec::new();
        let mut reader = Reader {
            page: Self { name, parts },
            problems: Vec::new(),
        };
        reader.read(text);
        (reader.page, reader.problems)
    }

    fn problem(&self, line: usize, message: String) -> Problem {
        let page = self.name.clone();
        Problem {
            page,
            line,
            message,
        }
    }

    /// All commands whose output is shown, as far as known: see [`Directive::commands`].
    pub fn commands(&self, world: &World) -> impl Iterator<Item = CommandLine> {
        let directives = self.parts.iter().filter_map(|part| match part {
            Part::Directive { directive, .. } => Some(directive.commands(world)),
            Part::Text(_) => None,
        });
        directives.flatten()
    }

    /// The page as the reader sees it, or its errors.
    pub fn show(&self, world: &World) -> (String, Vec<Problem>) {
        let mut out = String::new();
        let mut minutes_at = Vec::new();
        let mut problems = Vec::new();
        let stem = Path::new(&self.name).file_stem().unwrap_or_default();
        for (number, part) in self.parts.iter().enumerate() {
            let (line, indent, directive) = match part {
                Part::Text(text) => {
                    out += text;
                    continue;
                }
                Part::Directive {
                    line,
                    indent,
                    directive,
                } => (*line, indent, directive),
            };
            let id = format!("{}-{number}", stem.to_string_lossy());
            let mut wrong = |message| problems.push(self.problem(line, message));
            match (directive.show(world, &id), indent) {
                (Ok(Shown::Inline(text)), _) => out += &text,
                (Ok(Shown::Block(text)), Some(indent)) => out += &block(&text, indent),
                (Ok(Shown::Minutes), Some(_)) => minutes_at.push(out.len()),
                (Ok(_), None) => wrong("this directive stands alone on its line".into()),
                (Err(error), _) => wrong(format!("{error:#}")),
            }
        }
        for at in minutes_at.into_iter().rev() {
            let minutes = minutes::of(&out);
            out.insert_str(at, &minutes::sentence(minutes));
        }
        (out, problems)
    }
}

/// Adds a blank line before and after, so that Markdown recognizes it.
fn block(text: &str, indent: &str) -> String {
    let lines = text.lines().map(|line| match line.is_empty() {
        true => "\n".into(),
        false => format!("{indent}{line}\n"),
    });
    format!("\n{}\n", lines.collect::<String>())
}

/// Reads a page line by line.
struct Reader {
    page: Page,
    problems: Vec<Problem>,
}

impl Reader {
    fn read(&mut self, text: &str) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut fences = Fences::default();
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            at += 1;
            let trimmed = line.trim();
            if fences.inside(line) {
                self.text(line);
            } else if trimmed.starts_with("{{#predict") && !trimmed.ends_with("}}") {
                let body = &lines[at..];
                let Some(length) = body.iter().position(|line| line.trim() == "}}") else {
                    return self
                        .problem(at, "what starts here never ends with `}}` alone on a line");
                };
                let words = trimmed.trim_start_matches("{{#");
                let found = directives::read(words, Some(&body[..length].concat()));
                self.directive(at, Some(indent(line)), found);
                at += length + 1;
            } else {
                self.inline(line, at);
            }
        }
    }

    /// A line outside of listings, with any number of directives.
    fn inline(&mut self, line: &str, number: usize) {
        let alone = line.trim().strip_prefix("{{#");
        let alone = alone.and_then(|words| words.strip_suffix("}}"));
        if let Some(words) = alone.filter(|words| !words.contains("{{#")) {
            let words = words.trim_end_matches("}}");
            self.directive(number, Some(indent(line)), directives::read(words, None));
            self.text("\n");
            return;
        }
        for piece in pieces(line) {
            match piece {
                Piece::Text(text) => self.text(text),
                Piece::Directive(found) => self.directive(number, None, found),
            }
        }
    }

    fn directive(&mut self, line: usize, indent: Option<String>, found: Result<Directive>) {
        match found {
            Ok(directive) => self.page.parts.push(Part::Directive {
                line,
                indent,
                directive,
            }),
            Err(error) => self.problem(line, &format!("{error:#}")),
        }
    }

    fn problem(&mut self, line: usize, message: &str) {
        let problem = self.page.problem(line, message.into());
        self.problems.push(problem);
    }

    fn text(&mut self, text: &str) {
        match self.page.parts.last_mut() {
            Some(Part::Text(before)) => *before += text,
            _ => self.page.parts.push(Part::Text(text.into())),
        }
    }
}

fn indent(line: &str) -> String {
    line[..line.len() - line.trim_start().len()].to_owned()
}
