//! The links and the prose of a page.
use mdbook_markdown::pulldown_cmark::{Event, Tag, TagEnd};
use mdbook_markdown::{MarkdownOptions, new_cmark_parser};

/// The targets of a page's links and pictures.
pub fn of(text: &str) -> Vec<String> {
    let events = new_cmark_parser(text, &MarkdownOptions::default());
    let links = events.filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.to_string())
        }
        _ => None,
    });
    links.collect()
}

/// The words of a page, without listings, code, HTML and directives.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut in_listing = false;
    for event in new_cmark_parser(text, &MarkdownOptions::default()) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_listing = true,
            Event::End(TagEnd::CodeBlock) => in_listing = false,
            Event::Text(text) if !in_listing && !text.contains("{{#") => {
                out += &text;
                out.push(' ');
            }
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item) => out.push('\n'),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_listings() {
        let text = "[a](b.md#c) ![d](e.svg)\n\n```text\n[f](g)\n```\n\n[h]\n\n[h]: i.md\n";
        assert_eq!(of(text), ["b.md#c", "e.svg", "i.md"]);
    }

    #[test]
    fn prose_has_no_code() {
        let text = "# One `two`\n\nthree **four**\n\n```text\nfive\n```\n\n{{#run six}}\n";
        let words: Vec<String> = prose(text).split_whitespace().map(str::to_owned).collect();
        assert_eq!(words, ["One", "three", "four"]);
    }
}
