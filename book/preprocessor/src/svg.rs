//! Pictures that become part of a page.
use std::sync::LazyLock;

use anyhow::{Context, Result, bail};
use html_escape::encode_double_quoted_attribute as escape;
use regex::Regex;

/// The prolog that may precede the picture.
static PROLOGUE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)^\s*(?:<\?xml.*?\?>\s*|<!--.*?-->\s*|<!DOCTYPE[^>]*>\s*)*"));
/// Its first tag.
static OPENING: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)^<svg\b[^>]*>"));
/// Attributes of that tag for its name and its size.
static NAME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"\s(?:role|aria-[a-z]+|style|width|height)="[^"]*""#));
/// Ids and references to them.
static IDS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r##"(\bid="|\burl\(#|\b(?:xlink:)?href="#)([^")]+)"##));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// The picture as HTML: with a description for readers who do not see it, with unique ids, in the page's colors, and
/// without blank lines, which would end HTML in Markdown.
pub fn inline(text: &str, alt: &str, id: &str) -> Result<String> {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    let parsed = roxmltree::Document::parse_with_options(text, options).context("not an SVG")?;
    let root = parsed.root_element();
    let view = root.attribute("viewBox").unwrap_or_default();
    let numbers = view.split([' ', ',']);
    let view: Vec<f64> = numbers.filter_map(|number| number.parse().ok()).collect();
    let ("svg", &[_, _, width, _]) = (root.tag_name().name(), &view[..]) else {
        bail!("not an SVG with a viewBox, without which it cannot shrink on a phone");
    };
    let foreign = |node: &roxmltree::Node| {
        matches!(node.tag_name().name(), "script" | "image" | "foreignObject")
    };
    if let Some(node) = parsed.descendants().find(foreign) {
        bail!("<{}> has no place in a picture", node.tag_name().name());
    }
    let text = PROLOGUE.replace(text, "");
    let head = OPENING.find(&text).context("not an SVG")?.as_str();
    let own_name = format!(
        " style=\"--width:{width}px\" role=\"img\" aria-labelledby=\"{id}-title\">\n<title id=\"{id}-title\">{}</title>",
        escape(alt)
    );
    let named = NAME.replace_all(head, "").trim_end_matches('>').to_owned();
    let body = without_first_title(&text[head.len()..]);
    let body = IDS.replace_all(&body, |found: &regex::Captures<'_>| {
        format!("{}{id}-{}", &found[1], &found[2])
    });
    // Dark mode follows the page's theme, not the system's; printed pages are white.
    let body = body.replace(
        "@media (prefers-color-scheme:dark){",
        "@media screen{:is(.coal,.navy,.ayu){",
    );
    let body = match body.contains("@media screen{:is") {
        true => body.replace("}</style>", "}}</style>"),
        false => body,
    };
    let lines = format!("{named}{own_name}{body}");
    let lines = lines.lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    Ok(lines.join("\n") + "\n")
}

/// The page's description replaces the picture's own title.
fn without_first_title(body: &str) -> String {
    match (body.find("<title"), body.find("</title>")) {
        (Some(start), Some(end)) if start < end => {
            format!("{}{}", &body[..start], &body[end + "</title>".len()..])
        }
        _ => body.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_named_and_its_ids_are_its_own() {
        let text = "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1 1\" role=\"img\" \
                    aria-label=\"x\">\n<title>x</title>\n\n<defs><marker id=\"tip\"/></defs>\n<g id=\"g\" fill=\"url(#tip)\"/>\n</svg>\n";
        insta::assert_snapshot!(inline(text, "a < b", "start-3").expect("an SVG"));
        for (wrong, word) in [
            ("<svg", "not an SVG"),
            ("<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "viewBox"),
            ("<svg viewBox=\"0 0 1 1\"><script/></svg>", "script"),
        ] {
            let error = inline(wrong, "x", "y").expect_err("an error");
            assert!(format!("{error:#}").contains(word), "{error:#}");
        }
    }
}
