//! A repository for students, and Gradescope's autograders.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `files` | which files of the workspace are exported? |
//! | `assignments` | which parts of an assignment do students see? |
//! | `manifest` | what is in the students' Cargo.toml? |
//! | `links` | where do links into the book point? |
//! | `tree` | how are files written to disk? |
//! | `gradescope` | what is in the autograder's zip? |
//! | `program` | does this executable run on Gradescope? |
//!
//! `templates/` contains the files that only the export has.
pub(crate) mod assignments;
mod files;
pub(crate) mod gradescope;
mod links;
mod manifest;
mod program;
mod tree;

use std::path::Path;

use anyhow::{Context, Result};

pub use links::Book;
pub use manifest::shorten_lock;
pub use tree::{ExportedFile, FileTree, must_be_empty};

/// The students' repository, as files in memory. The same workspace gives the same files on every machine.
///
/// # Errors
/// If a file to export cannot be read or is not what it should be.
pub fn course(root: &Path, book: &Book) -> Result<FileTree> {
    let mut tree = FileTree::default();
    let assignments = assignments::all(root)?;
    files::workspace(root, &mut tree)?;
    for (path, edited) in [
        (
            "Cargo.toml",
            manifest::workspace as fn(&str) -> Result<String>,
        ),
        ("common/ladder/Cargo.toml", manifest::ladder),
    ] {
        tree.text(path, &edited(&files::text(root, path)?).context(path)?);
    }
    tree.text("Cargo.lock", &files::text(root, "Cargo.lock")?);
    tree.text(assignments::ORDER, &files::text(root, assignments::ORDER)?);
    for assignment in &assignments {
        assignment.add(book, &mut tree)?;
    }
    tree.text(
        "course/grader/src/grade/reasons.toml",
        &assignments::encrypted_reasons(&assignments)?,
    );
    if book.travels() {
        files::book(root, &mut tree)?;
    }
    assignments::templates(&assignments, book, &mut tree);
    Ok(tree)
}
