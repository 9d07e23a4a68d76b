//! Which file of a folder is the one that counts: a student's in a class, and a submission to Gradescope.
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// What lies beside a kernel, and is never the answers.
pub const PREDICTIONS: &str = "prediction.toml";

/// The file of this name; else one of the same kind and another name, if there is no other.
///
/// # Errors
/// If there is none or several, or the folder cannot be read; it tells a student what to do.
pub fn find(folder: &Path, wanted: &str) -> Result<PathBuf> {
    let path = folder.join(wanted);
    // A link too: whoever reads it says what is wrong with it.
    if path.symlink_metadata().is_ok() {
        return Ok(path);
    }
    let entries = fs::read_dir(folder)
        .with_context(|| format!("the folder {} cannot be read", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // macOS puts a `._my.cu` beside each `my.cu`.
    files.retain(|file| !name(file).starts_with('.'));
    files.sort();
    let handed_in = match files.is_empty() {
        true => "nothing was handed in".into(),
        false => format!("handed in: {}", names(&files)),
    };
    let ending = Path::new(wanted).extension();
    files.retain(|file| file.extension() == ending && !file.ends_with(PREDICTIONS));
    ensure!(
        files.len() < 2,
        "There is no {wanted}, and several files might be meant ({}): call yours {wanted}.",
        names(&files)
    );
    let none = || format!("There is no {wanted} ({handed_in}): hand in that file.");
    files.pop().with_context(none)
}

fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Not all, if there are many.
fn names(files: &[PathBuf]) -> String {
    let names: Vec<_> = files.iter().take(10).map(|file| name(file)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::record;
    use super::*;

    #[test]
    fn the_file_that_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str| fs::write(folder.path().join(name), "").expect("a file");
        let found = |wanted: &str| {
            find(folder.path(), wanted)
                .map(|path| name(&path))
                .map_err(|error| error.to_string())
        };
        write("._my.cu");
        assert!(found("kernel.cu").is_err_and(|why| why.contains("nothing was handed in")));
        write(record::FILE);
        write(PREDICTIONS);
        assert!(
            found("answers.toml").is_err_and(|why| why.contains("(handed in: grade.json, pred"))
        );
        write("my_answers.toml");
        assert_eq!(found("answers.toml"), Ok("my_answers.toml".into()));
        write("my.cu");
        assert_eq!(found("kernel.cu"), Ok("my.cu".into()));
        write("old.cu");
        assert!(found("kernel.cu").is_err_and(|why| why.contains("(my.cu, old.cu)")));
        write("kernel.cu");
        assert_eq!(found("kernel.cu"), Ok("kernel.cu".into()));
        assert!(
            find(&folder.path().join("none"), "kernel.cu")
                .is_err_and(|error| error.to_string().contains("cannot be read"))
        );
    }
}
