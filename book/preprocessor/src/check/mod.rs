//! What must hold for the book as a whole, apart from what its directives check themselves.
mod anchors;
mod coverage;
mod links;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use regex::Regex;

use crate::book::show;
use crate::directives::minutes;

/// Where the pages lie.
const SOURCES: &str = "book/src";

/// Minutes that a chapter may take.
pub const LENGTH: std::ops::RangeInclusive<usize> = 10..=20;

/// All pages of the book, as readers see them.
pub struct Site {
    pages: BTreeMap<String, Sheet>,
}

/// One page.
struct Sheet {
    /// As its author wrote it.
    source: String,
    /// With its directives carried out: Markdown with HTML in it.
    shown: String,
    /// What links can lead to.
    anchors: BTreeSet<String>,
}

impl Site {
    /// Carries out all directives of the pages that SUMMARY.md lists.
    ///
    /// # Errors
    /// What is wrong with any directive, a line each, with page and line.
    pub fn read(root: &Path) -> Result<Self> {
        let folder = root.join(SOURCES);
        let read = |file: &str| {
            let path = folder.join(file);
            fs::read_to_string(&path).with_context(|| format!("cannot read {SOURCES}/{file}"))
        };
        let link = Regex::new(r"\]\(([^)]+\.md)\)").context("a pattern")?;
        let mut sources = Vec::new();
        for found in link.captures_iter(&read("SUMMARY.md")?) {
            sources.push((PathBuf::from(&found[1]), read(&found[1])?));
        }
        let mut shown = show(root, Path::new(SOURCES), &sources)?;
        let pages = sources.into_iter().map(|(file, source)| {
            let shown = shown.remove(&file).unwrap_or_default();
            let anchors = anchors::of(&shown);
            let sheet = Sheet {
                source,
                shown,
                anchors,
            };
            (file.display().to_string(), sheet)
        });
        Ok(Self {
            pages: pages.collect(),
        })
    }

    /// Links within the book that lead nowhere.
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

    /// Why this link of this page leads nowhere; none if it leads somewhere, or out of the book.
    fn leads_nowhere(&self, from: &str, link: &str) -> Option<String> {
        if link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let (page, anchor) = link.split_once('#').unwrap_or((link, ""));
        let page = page.trim_start_matches("./");
        let Some(sheet) = self.pages.get(if page.is_empty() { from } else { page }) else {
            return Some(format!("`{link}` leads to no page of the book"));
        };
        let there = anchor.is_empty() || sheet.anchors.contains(anchor);
        (!there).then(|| format!("`{link}` leads to no anchor of that page"))
    }

    /// What is wrong with book/coverage.toml; none if there is no such file.
    pub fn coverage(&self, root: &Path) -> Option<Vec<String>> {
        let text = fs::read_to_string(root.join("book/coverage.toml")).ok()?;
        Some(coverage::wrong(&text, |place| {
            self.leads_nowhere("", place)
        }))
    }

    /// How many minutes each page takes that says so.
    pub fn minutes(&self) -> Vec<(&str, usize)> {
        let says = self
            .pages
            .iter()
            .filter(|(_, sheet)| sheet.source.contains("\n{{#minutes}}"));
        says.map(|(name, sheet)| (name.as_str(), minutes::of(&sheet.shown)))
            .collect()
    }

    /// The prose of each page: what its author wrote, without listings, code and directives.
    pub fn prose(&self) -> impl Iterator<Item = (&str, String)> {
        let pages = self.pages.iter();
        pages.map(|(name, sheet)| (name.as_str(), links::prose(&sheet.source)))
    }
}

/// The repository that this package lies in.
///
/// # Errors
/// If it lies in none.
pub fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    match here.ancestors().nth(2) {
        Some(root) if root.join(SOURCES).is_dir() => Ok(root.to_owned()),
        _ => bail!("{} lies in no repository with a book", here.display()),
    }
}
