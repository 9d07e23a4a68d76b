//! book/coverage.toml: what the articles that the book grew out of teach, and where the book does.
use std::collections::BTreeMap;

use serde::Deserialize;

/// A fact, formula, table or figure of an article.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    fact: String,
    /// `page.md#anchor`, or several.
    taught: Option<Places>,
    /// Why it is not taught.
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

/// What is wrong with the list. `leads_nowhere` says why a place is none.
pub fn wrong(text: &str, leads_nowhere: impl Fn(&str) -> Option<String>) -> Vec<String> {
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
        let with = |entry: &str| wrong(&format!("[[article_000]]\n{entry}\n{all}"), nowhere);
        assert_eq!(
            with("fact = \"f\"\ntaught = \"a.md#b\""),
            Vec::<String>::new()
        );
        assert_eq!(
            with("fact = \"f\"\ntaught = [\"a.md#b\"]"),
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
        ] {
            let found = with(entry);
            assert!(
                found.len() == 1 && found[0].contains(why),
                "{entry}: {found:?}"
            );
        }
        let found = wrong(&all, nowhere);
        assert_eq!(found, ["nothing is listed for article_000"]);
        let found = wrong(
            &format!(
                "{all}[[article_000]]\nfact = \"f\"\nleft_out = \"r\"\n[[article_005]]\nfact = \"f\"\nleft_out = \"r\"\n"
            ),
            nowhere,
        );
        assert_eq!(found, ["there is no article `article_005`"]);
    }
}
