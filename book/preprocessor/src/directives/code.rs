//! `{{#code FILE#NAME}}`: a file, or a part of it.
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Directive, parts};
use crate::fence::fenced;

/// A file, and perhaps the name of its part.
pub fn read(words: &str) -> Result<Directive> {
    let (file, part) = match words.split_once('#') {
        Some((file, part)) => (file, Some(part.trim().to_owned())),
        None => (words, None),
    };
    let file = file.trim().to_owned();
    ensure!(!file.is_empty(), "`{{{{#code FILE}}}}` takes a file");
    Ok(Directive::block(move |world, _| {
        let text = world.read(&file)?;
        let (text, line) = match &part {
            Some(name) => parts::find(&text, name).with_context(|| format!("{file}#{name}"))?,
            None => (parts::without_anchors(&text), 1),
        };
        let place = match line {
            1 => file.clone(),
            _ => format!("{file}:{line}"),
        };
        let listing = match language(&file) {
            // Prose is quoted, not listed: it has no lines of its own.
            "markdown" => quoted(&text),
            language => fenced(language, &text),
        };
        Ok(listed(&place, &listing))
    }))
}

/// A listing below the line that says where it comes from.
pub fn listed(place: &str, listing: &str) -> String {
    format!("<div class=\"listing\">\n<p class=\"where\">{place}</p>\n\n{listing}\n</div>\n")
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
