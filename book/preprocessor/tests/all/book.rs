//! The book itself: every directive, link and anchor, and the lengths of its chapters. This runs the commands on its
//! pages, unless target/book-cache has their outputs.
use std::sync::LazyLock;

use book::check::{self, LENGTH, Site};

static SITE: LazyLock<Result<Site, String>> = LazyLock::new(|| {
    let site = check::root().and_then(|root| Site::read(&root));
    site.map_err(|error| format!("{error:#}"))
});

fn site() -> &'static Site {
    SITE.as_ref().unwrap_or_else(|why| panic!("{why}"))
}

fn none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_directive_shows_what_it_names() {
    site();
}

#[test]
fn every_link_leads_somewhere() {
    none(site().broken_links());
}

#[test]
fn no_word_is_repeated() {
    none(site().doubled_words());
}

#[test]
fn every_fact_of_the_articles_has_its_anchor() {
    let root = check::root().expect("a repository");
    let wrong = site().coverage(&root).expect("book/coverage.toml is read");
    none(wrong.expect("book/coverage.toml"));
}

#[test]
fn every_chapter_takes_ten_to_thirty_minutes() {
    let minutes = site().minutes();
    let wrong = minutes
        .into_iter()
        .filter(|(_, minutes)| !LENGTH.contains(minutes));
    none(
        wrong
            .map(|(page, minutes)| format!("{page} takes {minutes} minutes"))
            .collect(),
    );
}

/// The chapters together show every line of the last kernel.
#[test]
fn every_line_of_the_last_kernel_is_shown() {
    let root = check::root().expect("a repository");
    for file in ["rungs/hopper.cuh", "rungs/17_narrow_tiles/kernel.cu"] {
        none(site().not_shown(&root, file).expect("it is read"));
    }
}

/// CI builds the book as mdBook does, except for this command.
#[test]
fn mdbook_starts_this_package() {
    let root = check::root().expect("a repository");
    let text = std::fs::read_to_string(root.join("book/book.toml")).expect("book.toml");
    let settings: toml::Table = text.parse().expect("TOML");
    let command = settings["preprocessor"]["book"]["command"].as_str();
    let ours = concat!("cargo run --quiet --package ", env!("CARGO_PKG_NAME"));
    assert_eq!(command, Some(ours));
}
