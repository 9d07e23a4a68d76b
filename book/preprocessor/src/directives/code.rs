//! `{{#code FILE#NAME | to TEXT}}`: a file, or a part of it with an expected last line.
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Directive, options, parts};
use crate::fence::fenced;

/// A file, and optionally the name of a part.
pub fn read(words: &str) -> Result<Directive> {
    // A part's name may contain an apostrophe.
    let (words, rest) = match words.split_once(" | ") {
        Some((words, rest)) => (words, Some(rest)),
        None => (words, None),
    };
    let rest = options::named(rest, &["to"])?;
    let to = options::value(&rest, "to").map(str::to_owned);
    let (file, part) = match words.split_once('#') {
        Some((file, part)) => (file, Some(part.trim().to_owned())),
        None => (words, None),
    };
    let file = file.trim().to_owned();
    ensure!(!file.is_empty(), "`{{{{#code FILE}}}}` takes a file");
    Ok(Directive::block(move |world, _| {
        let text = world.read(&file)?;
        let (text, line) = match &part {
            Some(name) => {
                let part = parts::find(&text, name).with_context(|| format!("{file}#{name}"))?;
                ends_as_promised(&part, to.as_deref()).with_context(|| format!("{file}#{name}"))?;
                (part.text, part.line)
            }
            None => (parts::without_anchors(&text), 1),
        };
        let place = match line {
            1 => file.clone(),
            _ => format!("{file}:{line}"),
        };
        let listing = match language(&file) {
            // Prose is quoted, not listed: it has no line numbers.
            "markdown" => quoted(&text),
            language => fenced(language, &text),
        };
        Ok(listed(&place, &listing))
    }))
}

/// A section ends at a blank line, so the page states the expected last line, apart from brackets.
fn ends_as_promised(part: &parts::Part, to: Option<&str>) -> Result<()> {
    let says = |line: &&str| line.contains(char::is_alphanumeric);
    let last = part.text.lines().rfind(says).unwrap_or_default().trim();
    match to {
        Some(to) => ensure!(last.contains(to), "it does not end with `{to}`: `{last}`"),
        None => ensure!(
            !part.section,
            "say how its last line ends, `| to TEXT`; it is `{last}`"
        ),
    }
    Ok(())
}

/// A listing with a line above it that states its origin.
pub fn listed(place: &str, listing: &str) -> String {
    format!("<div class=\"listing\">\n<p class=\"where\">{place}</p>\n\n{listing}\n</div>\n")
}

/// Formats it as a quotation in Markdown.
fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
    lines.join("\n") + "\n"
}

/// The language for mdBook's syntax highlighting.
fn language(file: &str) -> &'static str {
    match Path::new(file)
        .extension()
        .and_then(|ending| ending.to_str())
    {
        Some("cu" | "cuh" | "h" | "cpp") => "cpp",
        Some("rs") => "rust",
        Some("toml") => "toml",
        Some("py") => "python",
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
    fn a_section_ends_as_its_page_says() {
        let source = "void f()\n{\n    // Load.\n    a();\n    b();\n\n    c();\n}\n";
        let section = parts::find(source, "Load").expect("a section");
        assert!(ends_as_promised(&section, Some("b();")).is_ok());
        let error = |to| {
            ends_as_promised(&section, to)
                .expect_err("shorter")
                .to_string()
        };
        assert_eq!(error(Some("c();")), "it does not end with `c();`: `b();`");
        assert_eq!(
            error(None),
            "say how its last line ends, `| to TEXT`; it is `b();`"
        );
        let whole = parts::find(source, "f").expect("a function");
        assert!(ends_as_promised(&whole, None).is_ok());
    }

    #[test]
    fn prose_is_quoted_and_keeps_its_numbers() {
        assert_eq!(language("results/attempts.md"), "markdown");
        assert_eq!(
            quoted("6. **Six.**\n   More."),
            "> 6. **Six.**\n>    More.\n"
        );
    }
}
