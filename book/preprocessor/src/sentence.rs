//! Text with directives in its sentences: a line of a page, a question.
use anyhow::{Result, bail};
use transcript::CommandLine;

use crate::directives::{self, Directive, Shown};
use crate::world::World;

/// A piece of such a text.
pub enum Piece<'a> {
    Text(&'a str),
    /// A directive, or the error in it.
    Directive(Result<Directive>),
}

/// The pieces of a line. Code spans are plain text.
pub fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some(start) = outside_code(rest) {
        let (before, from) = rest.split_at(start);
        pieces.push(Piece::Text(before));
        let Some(end) = from.find("}}") else {
            let wrong = anyhow::anyhow!("this directive never ends with `}}}}`");
            pieces.push(Piece::Directive(Err(wrong)));
            return pieces;
        };
        pieces.push(Piece::Directive(directives::read(&from[3..end], None)));
        rest = &from[end + 2..];
    }
    pieces.push(Piece::Text(rest));
    pieces
}

/// A text whose directives have been parsed.
pub struct Sentence(Vec<Part>);

enum Part {
    Text(String),
    Directive(Directive),
}

impl Sentence {
    /// Parses the directives in a text.
    ///
    /// # Errors
    /// The first error.
    pub fn read(text: &str) -> Result<Self> {
        let parts = pieces(text).into_iter().map(|piece| match piece {
            Piece::Text(text) => Ok(Part::Text(text.to_owned())),
            Piece::Directive(directive) => directive.map(Part::Directive),
        });
        Ok(Self(parts.collect::<Result<_>>()?))
    }

    /// The commands whose output it shows.
    pub fn commands(&self, world: &World) -> Vec<CommandLine> {
        let of = |part: &Part| match part {
            Part::Text(_) => Vec::new(),
            Part::Directive(directive) => directive.commands(world),
        };
        self.0.iter().flat_map(of).collect()
    }

    /// The text with the directives' output.
    ///
    /// # Errors
    /// If a directive does not find what it names, or shows more than part of a sentence.
    pub fn show(&self, world: &World, id: &str) -> Result<String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(part) => text += part,
                Part::Directive(directive) => match directive.show(world, id)? {
                    Shown::Inline(shown) => text += &shown,
                    Shown::Block(_) | Shown::Minutes => {
                        bail!(
                            "only a directive that yields a number or a word can be used within a sentence"
                        )
                    }
                },
            }
        }
        Ok(text)
    }
}

/// The start of the first directive of a line outside of code spans.
fn outside_code(line: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = &line[at..];
        let directive = rest.find("{{#")?;
        let Some(tick) = rest.find('`').filter(|&tick| tick < directive) else {
            return Some(at + directive);
        };
        // A code span ends at a run of backticks as long as the one that it starts with.
        let ticks = rest[tick..]
            .bytes()
            .take_while(|&byte| byte == b'`')
            .count();
        let inside = &rest[tick + ticks..];
        let close = "`".repeat(ticks);
        at += match inside.find(&close) {
            Some(end) => tick + ticks + end + ticks,
            None => tick + ticks,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Outputs;

    #[test]
    fn only_parts_of_a_sentence_are_shown_in_one() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        std::fs::create_dir(folder.path().join("f")).expect("writable");
        std::fs::write(folder.path().join("f/a.csv"), "x,y\n1,2000\n").expect("writable");
        let world = World::new(folder.path(), Outputs::new());
        let shown = |text: &str| {
            let sentence = Sentence::read(text).map_err(|error| format!("{error:#}"))?;
            let shown = sentence.show(&world, "id");
            shown.map_err(|error| format!("{error:#}"))
        };
        assert_eq!(
            shown("a {{#number f/a.csv | row 1 | column y}} b `{{#x}}`"),
            Ok("a 2,000 b `{{#x}}`".into())
        );
        for (text, why) in [
            (
                "{{#table f/a.csv}}",
                "only a directive that yields a number or a word",
            ),
            ("{{#numbre x}}", "no directive `numbre`"),
            ("a {{#number x", "never ends"),
        ] {
            assert!(
                shown(text).is_err_and(|error| error.contains(why)),
                "{text}"
            );
        }
    }
}
