//! The link targets of a page.
use std::collections::BTreeSet;
use std::sync::LazyLock;

use mdbook_markdown::pulldown_cmark::{Event, Tag, TagEnd};
use mdbook_markdown::{MarkdownOptions, new_cmark_parser};
use regex::Regex;

/// The ids on a page: of its headings, as mdBook 0.5 creates them (`mdbook-html`, `id_from_content`), and those in
/// HTML.
pub fn of(text: &str) -> BTreeSet<String> {
    static ID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"\s(?:id|name)="([^"]+)""#).expect("a pattern that stands here")
    });
    let mut ids = BTreeSet::new();
    let mut made = BTreeSet::new();
    let mut heading: Option<(Option<String>, String)> = None;
    for event in new_cmark_parser(text, &MarkdownOptions::default()) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { id, .. }), _) => {
                heading = Some((id.map(|id| id.to_string()), String::new()));
            }
            (Event::Start(Tag::DefinitionListTitle), _) => heading = Some((None, String::new())),
            (Event::Text(text) | Event::Code(text), Some((_, title))) => *title += &text,
            (Event::End(TagEnd::Heading(_) | TagEnd::DefinitionListTitle), Some((id, title))) => {
                ids.insert(id.take().unwrap_or_else(|| unique(id_of(title), &mut made)));
                heading = None;
            }
            (Event::Html(html) | Event::InlineHtml(html), _) => {
                ids.extend(ID.captures_iter(&html).map(|found| found[1].to_owned()));
            }
            _ => {}
        }
    }
    ids
}

fn id_of(title: &str) -> String {
    let letter = |c: char| match c {
        '_' | '-' => Some(c),
        _ if c.is_alphanumeric() => Some(c),
        _ if c.is_whitespace() => Some('-'),
        _ => None,
    };
    let title = title.trim().to_lowercase();
    title.chars().filter_map(letter).collect()
}

/// A repeated title gets a number.
fn unique(id: String, made: &mut BTreeSet<String>) -> String {
    let mut free = id.clone();
    for number in 1.. {
        if made.insert(free.clone()) {
            break;
        }
        free = format!("{id}-{number}");
    }
    free
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn headings_terms_and_html_have_ids() {
        let text = "# A `b` C, d\n\n## Same\n\n## Same\n\n## Other {#mine}\n\nText <a id=\"here\"></a>.\n\n\
                    <div id=\"box\">\n</div>\n\n```text\n# no heading\n<a id=\"no\">\n```\n\nTerm\n: what it is\n";
        let found: Vec<String> = of(text).into_iter().collect();
        assert_eq!(
            found,
            ["a-b-c-d", "box", "here", "mine", "same", "same-1", "term"]
        );
    }
}
