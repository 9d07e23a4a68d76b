//! The book uses the field's terms: no page has a word of book/words.toml, and each term of the glossary occurs on the
//! pages that its entry links to.
use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use book::check;
use book::fence::Fences;
use regex::Regex;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    word: Vec<Word>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    not: String,
    but: String,
    #[serde(default)]
    on: Vec<String>,
}

impl Word {
    fn pattern(&self) -> Regex {
        Regex::new(&format!("(?i){}", self.not)).expect("a pattern of book/words.toml")
    }
}

/// All pages by name.
fn pages() -> BTreeMap<String, String> {
    let folder = check::root().expect("a repository").join("book/src");
    let entries = fs::read_dir(&folder).expect("the book's pages");
    let entries = entries.map(|entry| entry.expect("readable").path());
    let pages = entries.filter(|path| path.extension().is_some_and(|end| end == "md"));
    pages
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into();
            (name, fs::read_to_string(&path).expect("a page"))
        })
        .collect()
}

/// A page without listings, code spans, link targets and one-line directives.
fn prose(page: &str) -> String {
    let mut fences = Fences::default();
    let outside = page.lines().map(|line| match fences.inside(line) {
        true => "",
        false => line,
    });
    let text = outside.collect::<Vec<_>>().join("\n");
    static HIDDEN: LazyLock<Regex> = LazyLock::new(|| {
        let directives = r"\{\{#(?:budget|code|diff|figure|number|result|run|table) [^{}]*\}\}";
        let rest = r"`[^`\n]*`|\]\([^)]*\)|regex = '[^'\n]*'";
        Regex::new(&format!("{directives}|{rest}")).expect("a pattern")
    });
    // Keep the line numbers.
    let blank = |found: &regex::Captures| found[0].replace(|c| c != '\n', " ");
    HIDDEN.replace_all(&text, blank).into_owned()
}

/// All occurrences of forbidden words on these pages.
fn found<'a>(words: &[Word], pages: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let patterns: Vec<Regex> = words.iter().map(Word::pattern).collect();
    let mut places = Vec::new();
    for (name, page) in pages {
        let prose = prose(page);
        let all = words.iter().zip(&patterns);
        for (word, pattern) in all.filter(|(word, _)| !word.on.iter().any(|on| on == name)) {
            let lines = prose.lines().zip(1..);
            places.extend(lines.filter_map(|(line, number)| {
                let found = pattern.find(line)?.as_str();
                Some(format!("{name}:{number}: `{found}`; rather: {}", word.but))
            }));
        }
    }
    places
}

fn words() -> Vec<Word> {
    let root = check::root().expect("a repository");
    let text = fs::read_to_string(root.join("book/words.toml")).expect("the words");
    toml::from_str::<Words>(&text).expect("words as TOML").word
}

#[test]
fn no_page_has_a_word_that_is_not_the_fields() {
    let pages = pages();
    let pages = pages
        .iter()
        .map(|(name, page)| (name.as_str(), page.as_str()));
    let wrong = found(&words(), pages);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn such_a_word_is_found_outside_of_code_only() {
    let page = "Each Multiprocessor\n`multiprocessor` {{#number x | regex anew}}\n```text\nanew\n```\nis computed anew\n";
    assert_eq!(
        found(&words(), [("a.md", page), ("memory.md", page)]),
        [
            "a.md:1: `Multiprocessor`; rather: SM",
            "a.md:6: `anew`; rather: again; interleaved; the number",
            "memory.md:6: `anew`; rather: again; interleaved; the number"
        ]
    );
}

#[test]
fn every_page_that_may_have_a_word_has_it() {
    let pages = pages();
    for word in words() {
        let pattern = word.pattern();
        for on in &word.on {
            let page = pages.get(on).unwrap_or_else(|| panic!("no page {on}"));
            assert!(
                pattern.is_match(&prose(page)),
                "{on} has nothing of {:?}",
                word.not
            );
        }
    }
}

/// The terms of an entry, `**a and b (of c)**: …`, and the pages that it links to.
fn entry(line: &str) -> Option<(Vec<String>, Vec<String>)> {
    static LINK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\]\(([a-z0-9_]+\.md)").expect("a pattern"));
    let (head, rest) = line.strip_prefix("**")?.split_once("**")?;
    let (head, _) = head.split_once(" (").unwrap_or((head, ""));
    let head = head.replace('`', "").to_lowercase();
    // The commas of Swizzle<B,M,S> have no space after them.
    let terms = head.split(", ").flat_map(|part| part.split(" and "));
    let pages = LINK.captures_iter(rest).map(|found| found[1].to_owned());
    Some((terms.map(str::to_owned).collect(), pages.collect()))
}

#[test]
fn every_term_of_the_glossary_is_on_its_pages() {
    let pages = pages();
    let lower = |name: &str| {
        let page = pages.get(name).map(|page| page.to_lowercase());
        let page = page.unwrap_or_default().replace(['`', '*'], "");
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let entries: Vec<_> = pages["glossary.md"].lines().filter_map(entry).collect();
    assert!(entries.len() > 80, "{} entries", entries.len());
    let mut wrong = Vec::new();
    for (terms, on) in entries {
        for term in terms {
            if !on.iter().any(|page| lower(page).contains(&term)) {
                wrong.push(format!("`{term}` is on none of {}", on.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_glossary_is_in_order() {
    let pages = pages();
    let heads = pages["glossary.md"].lines().filter_map(|line| {
        let (head, _) = line.strip_prefix("**")?.split_once("**")?;
        Some(head.trim_start_matches('`').to_lowercase())
    });
    let heads: Vec<String> = heads.collect();
    let wrong = heads.windows(2).find(|pair| pair[0] > pair[1]);
    assert_eq!(wrong, None);
}
