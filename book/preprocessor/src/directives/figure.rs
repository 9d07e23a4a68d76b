//! `{{#figure …}}`: a picture within the page, drawn by `cargo ladder layout` or by hand in book/figures/.
use anyhow::{Context, Result, bail};
use html_escape::encode_double_quoted_attribute as escape;
use transcript::CommandLine;

use super::{Directive, Shown, options};
use crate::svg;
use crate::world::World;

/// Where the hand-drawn ones lie.
const DRAWN: &str = "book/figures";

/// Understands the words.
pub fn read(words: &str) -> Result<Box<dyn Directive>> {
    let (what, alt) = options::split(words);
    let Some(alt) = alt.map(str::trim).filter(|alt| !alt.is_empty()) else {
        bail!(
            "a figure needs a text for those who do not see it: `{{{{#figure … | what it shows}}}}`"
        );
    };
    let source = match what.strip_prefix("layout ") {
        Some(words) => {
            Source::Command(format!("cargo ladder layout {words} --format svg").parse()?)
        }
        None => Source::File(format!("{DRAWN}/{what}")),
    };
    Ok(Box::new(Figure {
        source,
        alt: alt.into(),
    }))
}

struct Figure {
    source: Source,
    alt: String,
}

enum Source {
    Command(CommandLine),
    File(String),
}

impl Directive for Figure {
    fn commands(&self, _: &World) -> Vec<CommandLine> {
        match &self.source {
            Source::Command(line) => vec![line.clone()],
            Source::File(_) => Vec::new(),
        }
    }

    fn show(&self, world: &World, id: &str) -> Result<Shown> {
        let (text, class, how) = match &self.source {
            Source::Command(line) => {
                let output = world.output(line)?;
                // A mapping that is not sound is drawn too, and then the command ends with 1.
                if output.code != Some(0) && !output.text.starts_with("<svg") {
                    crate::world::exit_code(line, output, 0)?;
                }
                let command = line.text.trim_end_matches(" --format svg");
                let caption = format!(
                    "<figcaption><code>{}</code></figcaption>\n",
                    escape(command)
                );
                (output.text.clone(), "picture", caption)
            }
            Source::File(file) => (world.read(file)?, "picture drawn", String::new()),
        };
        let picture = svg::inline(&text, &self.alt, id).with_context(|| match &self.source {
            Source::Command(line) => line.text.clone(),
            Source::File(file) => file.clone(),
        })?;
        Ok(Shown::Block(format!(
            "<figure class=\"{class}\">\n{picture}{how}</figure>\n"
        )))
    }
}
