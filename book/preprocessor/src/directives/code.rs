//! `{{#code FILE#NAME}}`: a file, or a part of it.
use std::path::Path;

use anyhow::Result;

use super::{Directive, Shown, parts};
use crate::fence::fenced;
use crate::world::World;

/// A file, and the name of its part.
pub struct Code {
    file: String,
    part: Option<String>,
}

impl Code {
    pub fn read(words: &str) -> Result<Self> {
        let (file, part) = match words.split_once('#') {
            Some((file, part)) => (file, Some(part.trim().to_owned())),
            None => (words, None),
        };
        anyhow::ensure!(!file.trim().is_empty(), "`{{{{#code FILE}}}}` takes a file");
        Ok(Self {
            file: file.trim().to_owned(),
            part,
        })
    }
}

impl Directive for Code {
    fn show(&self, world: &World, _: &str) -> Result<Shown> {
        let text = world.read(&self.file)?;
        let (text, line) = match &self.part {
            Some(name) => parts::find(&text, name)
                .map_err(|error| error.context(format!("{}#{name}", self.file)))?,
            None => (parts::without_anchors(&text), 1),
        };
        let place = match line {
            1 => self.file.clone(),
            _ => format!("{}:{line}", self.file),
        };
        let listing = match language(&self.file) {
            // Prose is quoted, not listed: it has no lines of its own.
            "markdown" => quoted(&text),
            language => fenced(language, &text),
        };
        Ok(Shown::Block(format!(
            "<div class=\"listing\">\n<p class=\"where\">{place}</p>\n\n{listing}\n</div>\n"
        )))
    }
}

/// As a quotation in Markdown.
fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
    lines.join("\n") + "\n"
}

/// How mdBook highlights a file.
fn language(file: &str) -> &'static str {
    match Path::new(file)
        .extension()
        .and_then(|ending| ending.to_str())
    {
        Some("cu" | "cuh" | "h" | "cpp") => "cpp",
        Some("rs") => "rust",
        Some("toml") => "toml",
        Some("js") => "js",
        Some("css") => "css",
        Some("json") => "json",
        Some("sh") => "bash",
        Some("md") => "markdown",
        Some("patch" | "diff") => "diff",
        _ => "text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_quoted_and_keeps_its_numbers() {
        assert_eq!(language("results/attempts.md"), "markdown");
        assert_eq!(
            quoted("6. **Six.**\n   More."),
            "> 6. **Six.**\n>    More.\n"
        );
    }
}
