//! Checks of the whole book, beyond what its directives check themselves.
mod anchors;
mod coverage;
mod links;
mod listings;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use regex::Regex;

use crate::book::show;
use crate::directives::minutes;

/// The folder of the pages.
const SOURCES: &str = "book/src";

/// Parts of SUMMARY.md whose pages are not chapters.
const ASIDE: [&str; 2] = ["Try it here", "Appendices"];

/// The most minutes for a chapter.
pub const LENGTH: std::ops::RangeInclusive<usize> = 10..=30;

/// All pages of the book, as readers see them.
pub struct Site {
    pages: BTreeMap<String, Sheet>,
}

/// One page.
struct Sheet {
    /// Whether it is read from start to end, unlike reference pages.
    chapter: bool,
    /// As its author wrote it.
    source: String,
    /// With the directives' output: Markdown with HTML.
    shown: String,
    /// The targets for links.
    anchors: BTreeSet<String>,
}

impl Site {
    /// Processes the directives of all pages in SUMMARY.md.
    ///
    /// # Errors
    /// The errors of directives, one per line, with page and line.
    pub fn read(root: &Path) -> Result<Self> {
        let folder = root.join(SOURCES);
        let read = |file: &str| {
            let path = folder.join(file);
            fs::read_to_string(&path).with_context(|| format!("cannot read {SOURCES}/{file}"))
        };
        let link = Regex::new(r"\]\(([^)]+\.md)\)").context("a pattern")?;
        let mut sources = Vec::new();
        let mut aside = BTreeSet::new();
        let mut part = String::new();
        for line in read("SUMMARY.md")?.lines() {
            if let Some(title) = line.strip_prefix("# ") {
                part = title.to_owned();
            }
            if let Some(found) = link.captures(line) {
                let file = PathBuf::from(&found[1]);
                if ASIDE.contains(&part.as_str()) {
                    aside.insert(file.clone());
                }
                sources.push((file, read(&found[1])?));
            }
        }
        let mut shown = show(root, Path::new(SOURCES), &sources)?;
        let mut pages = BTreeMap::new();
        for (file, source) in sources {
            let shown = shown.remove(&file).unwrap_or_default();
            let sheet = Sheet {
                chapter: !aside.contains(&file),
                source,
                anchors: anchors::of(&shown),
                shown,
            };
            pages.insert(file.display().to_string(), sheet);
        }
        Ok(Self { pages })
    }

    /// Broken links within the book.
    pub fn broken_links(&self) -> Vec<String> {
        let of = |(name, sheet): (&String, &Sheet)| {
            let wrong = links::of(&sheet.shown).into_iter().filter_map(|link| {
                let why = self.leads_nowhere(name, &link)?;
                let lines = sheet.source.lines().zip(1..);
                let line = lines.into_iter().find(|(line, _)| line.contains(&link));
                let line = line.map_or(String::new(), |(_, number)| format!("{number}:"));
                Some(format!("{SOURCES}/{name}:{line} {why}"))
            });
            wrong.collect::<Vec<_>>()
        };
        self.pages.iter().flat_map(of).collect()
    }

    /// Why this link of this page is broken; none if it is not, or leads out of the book.
    fn leads_nowhere(&self, from: &str, link: &str) -> Option<String> {
        if link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let (page, anchor) = link.split_once('#').unwrap_or((link, ""));
        let page = page.trim_start_matches("./");
        let Some(sheet) = self.pages.get(if page.is_empty() { from } else { page }) else {
            return Some(format!("`{link}` leads to no page of the book"));
        };
        // A fragment with `=` is the state of a figure, which the browser tests open.
        let state = anchor.contains('=') && sheet.shown.contains("data-interactive=");
        let there = anchor.is_empty() || state || sheet.anchors.contains(anchor);
        (!there).then(|| format!("`{link}` leads to no anchor of that page"))
    }

    /// The errors in book/coverage.toml; none if the file does not exist.
    ///
    /// # Errors
    /// If the file exists but cannot be read.
    pub fn coverage(&self, root: &Path) -> Result<Option<Vec<String>>> {
        let path = root.join("book/coverage.toml");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let leads_nowhere = |place: &str| self.leads_nowhere("", place);
        let shows = |place: &str, what: &str| self.shows(place, what);
        Ok(Some(coverage::wrong(&text, leads_nowhere, shows)))
    }

    /// Whether the section at this place contains this.
    fn shows(&self, place: &str, what: &str) -> bool {
        let (page, anchor) = place.split_once('#').unwrap_or((place, ""));
        let shown = self.pages.get(page).map(|sheet| sheet.shown.as_str());
        shown.is_some_and(|shown| coverage::section(shown, anchor).contains(what))
    }

    /// The minutes of each chapter that states them.
    pub fn minutes(&self) -> Vec<(&str, usize)> {
        let says = |sheet: &Sheet| sheet.chapter && sheet.source.contains("\n{{#minutes}}");
        let says = self.pages.iter().filter(|(_, sheet)| says(sheet));
        says.map(|(name, sheet)| (name.as_str(), minutes::of(&sheet.shown)))
            .collect()
    }

    /// Lines of code of this file that no listing of chapters 06 and up shows, with their numbers.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn not_shown(&self, root: &Path, file: &str) -> Result<Vec<String>> {
        let text =
            fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        let number = |name: &str| name.get(..2).and_then(|first| first.parse::<u32>().ok());
        let chapters = self.pages.iter().filter(|(name, _)| {
            let number = number(name);
            number.is_some_and(|number| number >= 6)
        });
        let shown: BTreeSet<String> = chapters
            .flat_map(|(_, sheet)| listings::lines(&sheet.shown))
            .collect();
        let lines = text.lines().zip(1..);
        let missing = lines.filter(|(line, _)| {
            let code = listings::code(line);
            !code.is_empty() && !shown.contains(code)
        });
        Ok(missing
            .map(|(line, number)| format!("{file}:{number}: {}", line.trim()))
            .collect())
    }

    /// Words that are repeated by mistake.
    pub fn doubled_words(&self) -> Vec<String> {
        let may = ["had", "that"];
        let of = |(name, sheet): (&String, &Sheet)| {
            let prose = links::prose(&sheet.source);
            let pairs = prose.lines().flat_map(|line| {
                let words = line.split_whitespace();
                words.clone().zip(words.skip(1))
            });
            let wrong = pairs.filter(|(word, next)| {
                word == next && word.chars().all(char::is_alphabetic) && !may.contains(word)
            });
            let wrong = wrong.map(|(word, _)| format!("{SOURCES}/{name}: `{word} {word}`"));
            wrong.collect::<Vec<_>>()
        };
        self.pages.iter().flat_map(of).collect()
    }
}

/// The repository that contains this package.
///
/// # Errors
/// If there is none.
pub fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    match here.ancestors().nth(2) {
        Some(root) if root.join(SOURCES).is_dir() => Ok(root.to_owned()),
        _ => bail!("{} is not in a repository with a book", here.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(pages: &[(&str, &str)]) -> Site {
        let sheet = |text: &str| Sheet {
            chapter: true,
            source: text.into(),
            shown: text.into(),
            anchors: anchors::of(text),
        };
        let pages = pages
            .iter()
            .map(|(name, text)| ((*name).to_owned(), sheet(text)));
        Site {
            pages: pages.collect(),
        }
    }

    #[test]
    fn links_lead_to_pages_and_their_anchors() {
        let good =
            "# One\n\n[a](b.md) [b](b.md#two) [c](#one) [d](https://example.org/x) [e](./b.md)\n";
        let wrong = "# Two\n\n[a](c.md)\n[b](a.md#two)\n[c](#one) ![d](x.svg)\n";
        let site = site(&[("a.md", good), ("b.md", wrong)]);
        assert_eq!(
            site.broken_links(),
            [
                "book/src/b.md:3: `c.md` leads to no page of the book",
                "book/src/b.md:4: `a.md#two` leads to no anchor of that page",
                "book/src/b.md:5: `#one` leads to no anchor of that page",
                "book/src/b.md:5: `x.svg` leads to no page of the book",
            ]
        );
    }

    #[test]
    fn a_coverage_that_cannot_be_read_is_not_none() {
        let root = tempfile::tempdir().expect("a folder for temporary files");
        let site = site(&[]);
        assert_eq!(site.coverage(root.path()).expect("no file"), None);
        // A folder with that name is not a file.
        fs::create_dir_all(root.path().join("book/coverage.toml")).expect("writable");
        let why = site.coverage(root.path()).expect_err("no file");
        assert!(why.to_string().contains("cannot read"), "{why}");
    }

    #[test]
    fn words_that_are_repeated() {
        let site = site(&[(
            "a.md",
            "the the cat\nhad had\nwhat that that is\n\n```text\nno no\n```\n",
        )]);
        assert_eq!(site.doubled_words(), ["book/src/a.md: `the the`"]);
    }

    #[test]
    fn pages_that_say_how_long_they_take() {
        let long = format!("# A\n\n{{{{#minutes}}}}\n\n{}", "word ".repeat(3000));
        let site = site(&[("a.md", &long), ("b.md", "# B\n")]);
        assert_eq!(site.minutes(), [("a.md", 19)]);
    }
}
