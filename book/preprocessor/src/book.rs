//! All pages, as mdBook hands them over.
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use mdbook_preprocessor::book::Book;
use mdbook_preprocessor::errors::{Error, Result};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};
use rayon::prelude::*;

use crate::page::{Page, Problem};
use crate::world::World;

/// The preprocessor, also for a program with mdBook inside.
pub struct Directives;

impl Preprocessor for Directives {
    fn name(&self) -> &str {
        "book" // as in book.toml
    }

    fn run(&self, context: &PreprocessorContext, mut book: Book) -> Result<Book> {
        let root = context.root.parent().unwrap_or(Path::new("."));
        let folder = context.root.join(&context.config.book.src);
        let folder = folder.strip_prefix(root).unwrap_or(&folder);
        let texts: Vec<(PathBuf, String)> = book
            .chapters()
            .filter_map(|chapter| Some((chapter.source_path.clone()?, chapter.content.clone())))
            .collect();
        let mut shown = show(root, folder, &texts)?;
        book.for_each_chapter_mut(|chapter| {
            let text = chapter
                .source_path
                .as_ref()
                .and_then(|file| shown.remove(file));
            if let Some(text) = text {
                chapter.content = text;
            }
        });
        Ok(book)
    }
}

/// What readers see of each page, or all that is wrong with any.
pub fn show(
    root: &Path,
    folder: &Path,
    texts: &[(PathBuf, String)],
) -> Result<HashMap<PathBuf, String>> {
    let mut problems = Vec::new();
    let mut pages = Vec::new();
    for (file, text) in texts {
        let (page, found) = Page::read(folder.join(file).display().to_string(), text);
        pages.push((file.clone(), page));
        problems.extend(found);
    }
    let world = World::of(
        root,
        &pages.iter().map(|(_, page)| page).collect::<Vec<_>>(),
    );
    let shown: Vec<(PathBuf, String, Vec<Problem>)> = pages
        .into_par_iter()
        .map(|(file, page)| {
            let (text, found) = page.show(&world);
            (file, text, found)
        })
        .collect();
    let mut texts = HashMap::new();
    for (file, text, found) in shown {
        texts.insert(file, text);
        problems.extend(found);
    }
    problems.sort();
    match problems.is_empty() {
        true => Ok(texts),
        false => {
            let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
            Err(Error::msg(lines.join("\n")))
        }
    }
}
