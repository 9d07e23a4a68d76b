//! Gradescope's autograder (its documentation, "Autograder Specifications"): a zip for each assignment, which holds what
//! grades it and nothing that answers it.
use std::io::{Cursor, Write};
use std::path::Path;

use anyhow::{Context, Result};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::assignments::{self, Assignment};
use super::autograder;
use super::links::Book;
use super::program;
use crate::grade;
use crate::grade::rubric::{Rubric, Task};

/// A zip.
pub struct Zip {
    /// Such as `05_swizzle.zip`.
    pub name: String,
    pub bytes: Vec<u8>,
    /// What its executable asks for.
    pub glibc: String,
}

/// One for each assignment.
pub fn zips(
    root: &Path,
    book: &Book,
    ladder: Option<&Path>,
    secret: Option<&Path>,
) -> Result<Vec<Zip>> {
    let program = program::find(ladder)?;
    let secret = secret.map(grade::secret).transpose()?;
    // Compressed once: it is nearly all that there is in each of them.
    let mut alone = ZipWriter::new(Cursor::new(Vec::new()));
    put(&mut alone, "ladder", &program.bytes, true)?;
    let mut alone = alone.finish_into_readable()?;
    let mut all = Vec::new();
    for assignment in assignments::all(root)? {
        if secret.is_none() && only_questions(&assignment)? {
            anstream::println!(
                "no autograder for {}: without --secret FILE everybody has the questions whose answers anybody can print",
                assignment.name
            );
        } else {
            all.push(assignment);
        }
    }
    all.iter()
        .map(|assignment| {
            let bytes = zip(assignment, book, &mut alone, secret.as_deref())
                .with_context(|| format!("the zip of {}", assignment.name))?;
            Ok(Zip {
                name: format!("{}.zip", assignment.name),
                bytes,
                glibc: program.glibc.clone(),
            })
        })
        .collect()
}

/// Whether its points are for answers alone, which a secret has to tell apart.
fn only_questions(assignment: &Assignment) -> Result<bool> {
    let rubric = assignment.file("rubric.toml").unwrap_or_default();
    Ok(Rubric::parse(rubric)?.task == Task::Predict)
}

type Memory = Cursor<Vec<u8>>;

fn zip(
    assignment: &Assignment,
    book: &Book,
    ladder: &mut ZipArchive<Memory>,
    secret: Option<&[u8]>,
) -> Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.merge_archive(ladder.clone())?;
    for (name, text) in [
        ("setup.sh", include_str!("templates/setup.sh")),
        ("run_autograder", include_str!("templates/run_autograder")),
    ] {
        put(&mut zip, name, text.replace("\r\n", "\n").as_bytes(), true)?;
    }
    let rubric = assignment.file("rubric.toml").unwrap_or_default();
    let rubric = rubric.replace("\r\n", "\n");
    put(
        &mut zip,
        &format!("{}/rubric.toml", assignment.name),
        rubric.as_bytes(),
        false,
    )?;
    let task = autograder::Task {
        assignment: assignment.name.clone(),
        handed_in: assignment.handed_in().into(),
        book: book.place().into(),
    };
    let unfinished = autograder::unfinished();
    put(&mut zip, "unfinished.json", unfinished.as_bytes(), false)?;
    let task = toml::to_string(&task)?;
    put(&mut zip, "autograder.toml", task.as_bytes(), false)?;
    if let Some(secret) = secret {
        put(&mut zip, "secret", secret, false)?;
    }
    Ok(zip.finish()?.into_inner())
}

/// Always at the same time and with the same rights, so that the same workspace gives the same bytes.
fn put(zip: &mut ZipWriter<Memory>, name: &str, bytes: &[u8], executable: bool) -> Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(if executable { 0o755 } else { 0o644 });
    zip.start_file(name, options)?;
    zip.write_all(bytes)?;
    Ok(())
}
