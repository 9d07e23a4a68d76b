//! Common misspellings, in pages and pictures of the book and in the repository's own pages.
use std::fs;
use std::path::{Path, PathBuf};

use book::check;
use typos_dict::WORD;
use unicase::UniCase;

/// Names that are spelled as in their definition: an instruction of PTX.
const NAMES: [&str; 2] = ["ratatui", "setp"];

fn files(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let paths = entries.map(|entry| entry.expect("readable").path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == kind))
        .collect()
}

/// Each with its line and its correction. Names in code consist of words, too, so nothing is omitted.
fn misspelt(text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let words = lines.flat_map(|(at, line)| {
        let words = line.split(|c: char| !c.is_ascii_alphabetic());
        words.map(move |word| (at + 1, word))
    });
    words
        .filter_map(|(at, word)| {
            let better = WORD
                .find(&UniCase::new(word))
                .filter(|_| word.len() > 3 && !NAMES.contains(&word))?;
            Some(format!("{at}: {word}, rather {}", better.join(" or ")))
        })
        .collect()
}

#[test]
fn a_misspelling_is_found() {
    assert_eq!(
        misspelt("A shared\nmemory adress"),
        ["2: adress, rather address"]
    );
}

#[test]
fn no_page_has_a_known_misspelling() {
    let root = check::root().expect("a repository");
    let mut all = files(&root, "md");
    all.extend(files(&root.join("book/src"), "md"));
    all.extend(files(&root.join("book/figures"), "svg"));
    assert!(all.len() > 50, "only {} files were found", all.len());
    let wrong = all.iter().flat_map(|path| {
        let text =
            fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let name = path.display().to_string();
        misspelt(&text)
            .into_iter()
            .map(move |word| format!("{name}:{word}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
