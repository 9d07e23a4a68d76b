//! All pages, as mdBook passes them.
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use mdbook_preprocessor::book::Book;
use mdbook_preprocessor::errors::{Error, Result};
use mdbook_preprocessor::{Preprocessor, PreprocessorContext};
use rayon::prelude::*;

use crate::live;
use crate::page::{Page, Problem};
use crate::world::World;

/// The preprocessor; public, so that a program can link mdBook with it.
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
        live::write_bundles(root, &context.root.join(&context.config.book.src))?;
        book.for_each_chapter_mut(|chapter| {
            let file = chapter.source_path.as_ref();
            if let Some(text) = file.and_then(|file| shown.remove(file)) {
                chapter.content = text;
            }
        });
        Ok(book)
    }
}

/// The pages as readers see them, or all errors.
pub fn show(
    root: &Path,
    folder: &Path,
    texts: &[(PathBuf, String)],
) -> Result<HashMap<PathBuf, String>> {
    let read = |(file, text): &(PathBuf, String)| {
        Page::read(folder.join(file).display().to_string(), text)
    };
    let (pages, mut problems): (Vec<Page>, Vec<_>) = texts.iter().map(read).unzip();
    let world = World::of(root, &pages.iter().collect::<Vec<_>>());
    let shown = pages.par_iter().map(|page| page.show(&world));
    let (shown, found): (Vec<String>, Vec<_>) = shown.unzip();
    problems.extend(found);
    let mut problems = problems.concat();
    problems.sort();
    if !problems.is_empty() {
        let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
        return Err(Error::msg(lines.join("\n")));
    }
    let files = texts.iter().map(|(file, _)| file.clone());
    Ok(files.zip(shown).collect())
}
