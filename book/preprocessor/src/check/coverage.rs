//! book/coverage.toml: what the articles that inspired the book teach, and where the book teaches it.
use std::collections::BTreeMap;

use serde::Deserialize;

/// A fact, formula, table or figure of an article.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    fact: String,
    /// `page.md#anchor`, one or several.
    taught: Option<Places>,
    /// Why the book omits it.
    left_out: Option<String>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`taught` is `page.md#anchor`, or a list of such"
)]
enum Places {
    One(String),
    Several(Vec<String>),
}

/// The articles, each a list of entries `[[article_000]]`.
const ARTICLES: [&str; 5] = [
    "article_000",
    "article_001",
    "article_002",
    "article_003",
    "article_004",
];

/// The beginning of such a fact: one of its places must have a picture or a replacement for one.
const FIGURE: &str = "Figure:";

/// What can represent a figure on a page: a word of the fact, and what its section then has to contain.
const SHOWN_AS: [(&str, &str); 3] = [
    ("printed here", "```"),
    ("a table here", "| ---"),
    ("", "<svg"),
];

/// The section below the heading with this id, down to the next heading of its level. If no heading has the id, the
/// whole page.
pub fn section<'a>(shown: &'a str, id: &str) -> &'a str {
    let level = |line: &str| line.bytes().take_while(|&byte| byte == b'#').count();
    let mark = format!("{{#{id}}}");
    let mut at = 0;
    let (mut from, mut depth) = (None, 0);
    for line in shown.split_inclusive('\n') {
        let found = level(line);
        match from {
            None if found > 0 && line.contains(&mark) => (from, depth) = (Some(at), found),
            Some(from) if (1..=depth).contains(&found) && line[found..].starts_with(' ') => {
                return &shown[from..at];
            }
            _ => {}
        }
        at += line.len();
    }
    &shown[from.unwrap_or(0)..]
}

/// Errors in the list. `leads_nowhere` explains why a place does not exist, `shows` tests whether its section contains
/// something.
pub fn wrong(
    text: &str,
    leads_nowhere: impl Fn(&str) -> Option<String>,
    shows: impl Fn(&str, &str) -> bool,
) -> Vec<String> {
    let list: BTreeMap<String, Vec<Entry>> = match toml::from_str(text) {
        Ok(list) => list,
        Err(error) => return vec![format!("book/coverage.toml: {error}")],
    };
    let mut wrong = Vec::new();
    let missing = ARTICLES.iter().filter(|name| !list.contains_key(**name));
    wrong.extend(missing.map(|article| format!("nothing is listed for {article}")));
    let mut unknown: Vec<&str> = list.keys().map(String::as_str).collect();
    unknown.retain(|name| !ARTICLES.contains(name));
    wrong.extend(
        unknown
            .iter()
            .map(|name| format!("there is no article `{name}`")),
    );
    for (article, entries) in &list {
        for Entry {
            fact,
            taught,
            left_out,
        } in entries
        {
            let mut add = |why: String| wrong.push(format!("{article}: \"{fact}\": {why}"));
            if fact.trim().is_empty() {
                add("no fact".into());
            }
            let places = match taught {
                None => &[][..],
                Some(Places::One(place)) => std::slice::from_ref(place),
                Some(Places::Several(places)) => places,
            };
            match (places, left_out.as_deref().map(str::trim)) {
                ([], Some("")) => add("left out for no reason".into()),
                ([], Some(_)) => {}
                ([], None) => add("neither `taught` nor `left_out`".into()),
                (_, Some(_)) => add("both `taught` and `left_out`".into()),
                (places, None) => {
                    let as_what = SHOWN_AS.iter().find(|(words, _)| fact.contains(words));
                    let what = as_what.map_or("<svg", |(_, what)| what);
                    if fact.starts_with(FIGURE) && !places.iter().any(|place| shows(place, what)) {
                        add(format!("a figure, and no {what} where it is taught"));
                    }
                    for place in places {
                        match place.contains(".md#") {
                            true => leads_nowhere(place).into_iter().for_each(&mut add),
                            false => add(format!("`{place}` is not `page.md#anchor`")),
                        }
                    }
                }
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_has_its_place_or_a_reason() {
        let nowhere = |place: &str| (place != "a.md#b").then(|| format!("`{place}` leads nowhere"));
        let all: String = ARTICLES[1..]
            .iter()
            .map(|article| format!("[[{article}]]\nfact = \"f\"\nleft_out = \"r\"\n"))
            .collect();
        let picture = |_: &str, what: &str| what == "```";
        let with = |entry: &str| {
            wrong(
                &format!("[[article_000]]\n{entry}\n{all}"),
                nowhere,
                picture,
            )
        };
        assert_eq!(
            with("fact = \"f\"\ntaught = \"a.md#b\""),
            Vec::<String>::new()
        );
        assert_eq!(
            with("fact = \"f\"\ntaught = [\"a.md#b\"]"),
            Vec::<String>::new()
        );
        assert_eq!(
            with("fact = \"Figure: f (printed here)\"\ntaught = [\"a.md#b\"]"),
            Vec::<String>::new()
        );
        for (entry, why) in [
            ("fact = \"f\"", "neither"),
            ("fact = \"\"\nleft_out = \"r\"", "no fact"),
            ("fact = \"f\"\nleft_out = \" \"", "no reason"),
            ("fact = \"f\"\ntaught = \"a.md\"", "not `page.md#anchor`"),
            (
                "fact = \"f\"\ntaught = [\"a.md#b\", \"a.md#c\"]",
                "`a.md#c` leads nowhere",
            ),
            (
                "fact = \"f\"\ntaught = \"a.md#b\"\nleft_out = \"r\"",
                "both",
            ),
            ("fact = \"f\"\ntought = \"a.md#b\"", "unknown field"),
            ("fact = \"f\"\ntaught = 3", "or a list of such"),
            ("fact = \"Figure: f\"\ntaught = \"a.md#b\"", "no <svg"),
        ] {
            let found = with(entry);
            assert!(
                found.len() == 1 && found[0].contains(why),
                "{entry}: {found:?}"
            );
        }
        let found = wrong(&all, nowhere, picture);
        assert_eq!(found, ["nothing is listed for article_000"]);
        let found = wrong(
            &format!(
                "{all}[[article_000]]\nfact = \"f\"\nleft_out = \"r\"\n[[article_005]]\nfact = \"f\"\nleft_out = \"r\"\n"
            ),
            nowhere,
            picture,
        );
        assert_eq!(found, ["there is no article `article_005`"]);
    }

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let page = "# Page\n## One {#one}\na\n### Deeper {#deeper}\nb\n## Two {#two}\nc\n";
        assert_eq!(
            section(page, "one"),
            "## One {#one}\na\n### Deeper {#deeper}\nb\n"
        );
        assert_eq!(section(page, "deeper"), "### Deeper {#deeper}\nb\n");
        assert_eq!(section(page, "two"), "## Two {#two}\nc\n");
        assert_eq!(section(page, "page"), page);
    }
}
