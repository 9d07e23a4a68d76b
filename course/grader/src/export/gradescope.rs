//! Gradescope's autograders (see its documentation, "Autograder Specifications"): for each assignment a zip that has
//! everything needed for grading, but no solution.
use std::io::{Cursor, Write};
use std::path::Path;

use anyhow::{Context, Result};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::assignments;
use super::links::Book;
pub use super::program::Program;
use super::tree::FileTree;
use crate::autograder;
use crate::grade::BROKEN;
use crate::grade::rubric::{AssignmentKind, Rubric};

/// The zips, and what the user should know about them.
pub struct Zips {
    /// The zips by name, such as `05_swizzle.zip`.
    pub files: FileTree,
    /// Assignments without a zip: without a secret all students would have the same questions.
    pub left_out: Vec<String>,
    /// The glibc that their executable requires.
    pub glibc: String,
}

/// Builds a zip for each assignment.
///
/// # Errors
/// If an assignment cannot be read.
pub fn zips(root: &Path, book: &Book, program: Program, secret: Option<&[u8]>) -> Result<Zips> {
    // Compressed only once, since it is most of each zip.
    let mut ladder = ZipWriter::new(Cursor::new(Vec::new()));
    put(&mut ladder, "ladder", &program.bytes, true)?;
    let ladder = ladder.finish_into_readable()?;
    let mut all = Zips {
        files: FileTree::default(),
        left_out: Vec::new(),
        glibc: program.glibc,
    };
    for assignment in assignments::all(root)? {
        let name = &assignment.name;
        let rubric = assignment.file("rubric.toml").unwrap_or_default();
        let task = Rubric::parse(rubric)?.task;
        if secret.is_none() && task == AssignmentKind::Predict {
            all.left_out.push(name.clone());
            continue;
        }
        let config = autograder::Config {
            assignment: name.clone(),
            handed_in: task.handed_in().into(),
            book: book.place().into(),
        };
        let broken = assignment.file(BROKEN);
        let bytes = zip(
            &config,
            [rubric, broken.unwrap_or_default()],
            ladder.clone(),
            secret,
        );
        let bytes = bytes.with_context(|| format!("the zip of {name}"))?;
        all.files.bytes(&format!("{name}.zip"), bytes);
    }
    Ok(all)
}

type Memory = Cursor<Vec<u8>>;

fn zip(
    config: &autograder::Config,
    [rubric, broken]: [&str; 2],
    ladder: ZipArchive<Memory>,
    secret: Option<&[u8]>,
) -> Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.merge_archive(ladder)?;
    let setup = include_str!("templates/setup.sh");
    let run = include_str!("templates/run_autograder");
    for (name, text, executable) in [
        ("setup.sh", setup, true),
        ("run_autograder", run, true),
        (
            &*format!("{}/rubric.toml", config.assignment),
            rubric,
            false,
        ),
        ("unfinished.json", &autograder::unfinished(), false),
        ("autograder.toml", &toml::to_string(config)?, false),
    ] {
        let text = text.replace("\r\n", "\n");
        put(&mut zip, name, text.as_bytes(), executable)?;
    }
    if !broken.is_empty() {
        let name = format!("{}/{BROKEN}", config.assignment);
        put(&mut zip, &name, broken.as_bytes(), false)?;
    }
    if let Some(secret) = secret {
        put(&mut zip, "secret", secret, false)?;
    }
    Ok(zip.finish()?.into_inner())
}

/// Fixed times and permissions, so that the same workspace gives the same bytes.
fn put(zip: &mut ZipWriter<Memory>, name: &str, bytes: &[u8], executable: bool) -> Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(if executable { 0o755 } else { 0o644 });
    zip.start_file(name, options)?;
    zip.write_all(bytes)?;
    Ok(())
}
