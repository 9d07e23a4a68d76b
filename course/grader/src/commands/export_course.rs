//! `cargo ladder export-course DIR`: a repository for students, and Gradescope's autograders.
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use harness::rungs;
use owo_colors::OwoColorize;

use crate::export::{self, Book, gradescope};

#[derive(clap::Args)]
#[command(
    after_help = "Solutions and files that git ignores are not exported. Only grades from your own run count:\n\
    students can edit their workflow."
)]
pub struct Arguments {
    /// A folder that is new or empty
    #[arg(value_name = "DIR")]
    out: PathBuf,
    /// The book's address, for links; without it, the built book in book/book is exported too
    #[arg(long, value_name = "ADDRESS", env = "GEMM_BOOK")]
    book: Option<String>,
    /// Also write Gradescope's autograders, one zip per assignment, to this folder
    #[arg(long, value_name = "FOLDER")]
    gradescope: Option<PathBuf>,
    /// Put the teacher's secret into the zips, which then must not be given to students
    #[arg(long, value_name = "FILE", requires = "gradescope")]
    secret: Option<PathBuf>,
    /// A `ladder` for Linux on x86-64 to put into the zips, if this one is for another platform
    #[arg(long, value_name = "FILE", requires = "gradescope")]
    ladder: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let out = &arguments.out;
    let root = rungs::root().context("this is not the workspace: run the command there")?;
    export::must_be_empty(out)?;
    if let Some(zips) = &arguments.gradescope {
        export::must_be_empty(zips)?;
        let [zips, out] = [zips, out].map(std::path::absolute);
        ensure!(
            !zips?.starts_with(out?),
            "the zips are the teacher's: name a folder for --gradescope that is not in the students' repository"
        );
    }
    let book = Book::find(&root, arguments.book.as_deref())
        .context("`--book` takes the address of a book")?;
    let students = export::course(&root, &book)?;
    let secret = super::secret(arguments.secret.as_deref())?;
    let zips = || {
        let program = gradescope::Program::find(arguments.ladder.as_deref())
            .context("`--ladder` takes a `ladder` built on Linux x86-64")?;
        gradescope::zips(&root, &book, program, secret.as_deref())
    };
    let zips = match &arguments.gradescope {
        Some(folder) => Some((folder, zips()?)),
        None => None,
    };
    students.write(out)?;
    if !export::shorten_lock(out) {
        harness::println!(
            "Cargo.lock still lists packages that only this workspace needs; the first build in {} removes them: commit after that",
            out.display()
        );
    }
    harness::println!(
        "{} {}: {} files for students, without solutions; commit all of them",
        "wrote".green(),
        out.display(),
        students.files().count()
    );
    harness::println!("links into the book point to {}", book.place());
    let Some((folder, zips)) = zips else {
        return Ok(true);
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    zips.files.write(folder)?;
    for assignment in &zips.left_out {
        harness::println!(
            "no autograder for {assignment}: without --secret FILE all students have the same questions, and anyone can print the answers"
        );
    }
    harness::println!(
        "{} {}: {} autograders for Gradescope{}",
        "wrote".green(),
        folder.display(),
        zips.files.files().count(),
        match secret {
            Some(_) => ", which contain your secret: do not share them",
            None => "; without --secret students can find out the hidden sizes",
        }
    );
    harness::println!(
        "their `ladder` needs glibc {} or later: choose a base image that has it",
        zips.glibc
    );
    Ok(true)
}
