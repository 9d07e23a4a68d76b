//! `cargo ladder export-course DIR`: a repository for students, and what Gradescope grades with.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `files` | which files of the workspace travel? |
//! | `assignments` | what of an assignment does a student see? |
//! | `manifest` | what is in the students' Cargo.toml? |
//! | `links` | where do links into the book lead? |
//! | `tree` | how do files get to the disk? |
//! | `program` | does this executable run on Gradescope? |
//! | `gradescope` | what is in the autograder's zip? |
//! | [`autograder`] | what does it do with a submission? |
//!
//! `templates/` are the files that are only there.
mod assignments;
pub mod autograder;
mod files;
mod gradescope;
mod links;
mod manifest;
mod program;
mod tree;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use owo_colors::OwoColorize;

use crate::rungs;
pub use links::Book;
pub use tree::{File, Tree};

/// What the command was asked for.
#[derive(clap::Args)]
#[command(
    after_help = "Solutions, and files that git ignores, stay here. Grades that count come from your own run:\n\
    students can edit their workflow."
)]
pub struct Arguments {
    /// A folder that does not exist yet, or is empty
    #[arg(value_name = "DIR")]
    out: PathBuf,
    /// The book's address, for links; without it the built book in book/book travels too
    #[arg(long, value_name = "ADDRESS")]
    book: Option<String>,
    /// Also write Gradescope's autograders, a zip for each assignment, into this folder
    #[arg(long, value_name = "FOLDER")]
    gradescope: Option<PathBuf>,
    /// The teacher's secret, into the zips: they are not for students then
    #[arg(long, value_name = "FILE", requires = "gradescope")]
    secret: Option<PathBuf>,
    /// The Linux x86-64 `ladder` for the zips, where this one is another
    #[arg(long, value_name = "FILE", requires = "gradescope")]
    ladder: Option<PathBuf>,
}

/// The command.
///
/// # Errors
/// If there is no workspace here, no book and no address of one, or DIR is in use.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let root = rungs::root().context("there is no workspace here: run this in it")?;
    tree::must_be_empty(&arguments.out)?;
    if let Some(zips) = &arguments.gradescope {
        tree::must_be_empty(zips)?;
        let [zips, out] = [zips, &arguments.out].map(std::path::absolute);
        ensure!(
            !zips?.starts_with(out?),
            "the zips are the teacher's: name a folder for --gradescope that is not in the students' repository"
        );
    }
    let book = Book::find(&root, arguments.book.as_deref())?;
    let students = course(&root, &book)?;
    let zips = match &arguments.gradescope {
        None => Vec::new(),
        Some(_) => gradescope::zips(
            &root,
            &book,
            arguments.ladder.as_deref(),
            arguments.secret.as_deref(),
        )?,
    };
    students.write(&arguments.out)?;
    if !manifest::shorten_lock(&arguments.out) {
        anstream::println!(
            "Cargo.lock still names what only this workspace needs; the first build in {} takes it out: commit after that",
            arguments.out.display()
        );
    }
    anstream::println!(
        "{} {}: {} files for students, without a solution; commit all of it",
        "wrote".green(),
        arguments.out.display(),
        students.files().count()
    );
    anstream::println!("links into the book lead to {}", book.place());
    if let Some(folder) = &arguments.gradescope {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        for zip in &zips {
            let path = folder.join(&zip.name);
            std::fs::write(&path, &zip.bytes)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        anstream::println!(
            "{} {}: {} autograders for Gradescope{}",
            "wrote".green(),
            folder.display(),
            zips.len(),
            if arguments.secret.is_some() {
                ", which hold your secret: give them to nobody"
            } else {
                "; without --secret their hidden sizes can be found out"
            }
        );
        if let Some(zip) = zips.first() {
            anstream::println!(
                "their `ladder` needs glibc {} or later: choose a base image that has it",
                zip.glibc
            );
        }
    }
    Ok(true)
}

/// The students' repository, as files in memory: the same for the same workspace, on every machine.
///
/// # Errors
/// If a file that has to travel cannot be read, or is not what it should be.
pub fn course(root: &Path, book: &Book) -> Result<Tree> {
    let mut tree = Tree::default();
    let assignments = assignments::all(root)?;
    files::workspace(root, &mut tree)?;
    tree.text(
        "Cargo.toml",
        &manifest::students(&files::text(root, "Cargo.toml")?)?,
    );
    tree.text("Cargo.lock", &files::text(root, "Cargo.lock")?);
    for assignment in &assignments {
        assignment.add(book, &mut tree)?;
    }
    if book.travels() {
        files::book(root, &mut tree)?;
    }
    assignments::templates(&assignments, book, &mut tree);
    Ok(tree)
}
