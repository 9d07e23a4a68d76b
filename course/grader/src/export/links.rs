//! The targets of links into the book, whose sources are not exported.
use std::path::Path;

use anyhow::{Result, ensure};

/// The folder that `cargo book build` writes to.
pub const BUILT: &str = "book/book";

/// The prefix of links to pages in an assignment's README.
const SOURCE: &str = "../../../book/src/";

/// The book that students read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Book {
    /// Exported, in [`BUILT`].
    Here,
    /// At this address, which does not end in a slash.
    At(String),
}

impl Book {
    /// The book at the address, if one is given; otherwise the built one.
    ///
    /// # Errors
    /// If there is neither.
    pub fn find(root: &Path, address: Option<&str>) -> Result<Self> {
        if let Some(address) = address {
            ensure!(
                address.starts_with("https://") || address.starts_with("http://"),
                "{address} is not the address of a book, such as https://example.org/book"
            );
            ensure!(
                !address.contains(|c: char| c.is_whitespace()
                    || c.is_control()
                    || "\"'\\()<>".contains(c)),
                "{address:?} has characters that are not allowed in an address"
            );
            return Ok(Self::At(address.trim_end_matches('/').into()));
        }
        ensure!(
            root.join(BUILT).join("index.html").is_file(),
            "there is no built book in {BUILT}: `cargo book build` makes it; or give the address of one"
        );
        Ok(Self::Here)
    }

    /// Whether it is exported.
    pub fn travels(&self) -> bool {
        *self == Self::Here
    }

    /// Its location, relative to the students' root.
    pub fn place(&self) -> &str {
        match self {
            Self::Here => BUILT,
            Self::At(address) => address,
        }
    }

    /// An assignment's README with links to the book's pages in place of their sources.
    pub fn linked(&self, readme: &str) -> String {
        let to = match self {
            Self::Here => format!("../../../{BUILT}"),
            Self::At(address) => address.clone(),
        };
        let mut parts = readme.split(SOURCE);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out += &format!("{to}/");
            out += &part.replacen(".md", ".html", 1);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_take_the_place_of_their_sources() {
        let readme =
            "See [a](../../../book/src/a.md), [b](../../../book/src/b.md#c) and README.md.";
        assert_eq!(
            Book::Here.linked(readme),
            "See [a](../../../book/book/a.html), [b](../../../book/book/b.html#c) and README.md."
        );
        assert_eq!(
            Book::At("https://x.example/y".into()).linked(readme),
            "See [a](https://x.example/y/a.html), [b](https://x.example/y/b.html#c) and README.md."
        );
    }

    #[test]
    fn a_book_is_built_or_has_an_address() {
        let empty = tempfile::tempdir().expect("a folder");
        let find = |address| Book::find(empty.path(), address);
        assert!(find(None).is_err_and(|error| error.to_string().contains("cargo book build")));
        assert!(find(Some("book")).is_err());
        assert!(find(Some("https://x.example/\"; rm")).is_err());
        assert_eq!(
            find(Some("https://x.example/y/")).expect("an address"),
            Book::At("https://x.example/y".into())
        );
    }
}
