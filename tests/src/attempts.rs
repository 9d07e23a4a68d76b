//! The patches in `results/attempts/`: each turns a rung's kernel into an attempt of `results/attempts.md`. Rungs change
//! when an attempt is kept; a patch that was measured before begins with `On OTHER.patch:`, which restores the rung as it was.
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::{files, root};

/// One patch, applied.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The patch's file name without `.patch`.
    pub name: String,
    /// The folder of the rung whose kernel it changes, and whose program runs the result.
    pub rung: String,
    /// The changed kernel.
    pub source: String,
}

/// All attempts, sorted by name.
///
/// # Errors
/// If a patch cannot be read, or does not apply to the kernel that it names.
pub fn all() -> Result<Vec<Attempt>> {
    let patches = files(&root().join("results/attempts"), ".patch");
    let applied = |path: &PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Attempt::new(&name, &fs::read_to_string(path)?)
            .with_context(|| format!("results/attempts/{name}.patch"))
    };
    patches.iter().map(applied).collect()
}

impl Attempt {
    fn new(name: &str, text: &str) -> Result<Self> {
        let patch = parse(text)?;
        let file = patch.original().and_then(|file| file.strip_prefix("a/"));
        let file = file.context("`--- a/rungs/NN_name/kernel.cu` is missing")?;
        let rung = file
            .strip_prefix("rungs/")
            .and_then(|file| file.strip_suffix("/kernel.cu"))
            .with_context(|| format!("{file} is not the kernel of a rung"))?;
        let mut kernel = fs::read_to_string(root().join(file)).with_context(|| file.to_owned())?;
        let base = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("On "));
        if let Some(base) = base.and_then(|line| line.strip_suffix(':')) {
            let path = root().join("results/attempts").join(base);
            let text = fs::read_to_string(path).with_context(|| base.to_owned())?;
            kernel = diffy::apply(&kernel, &parse(&text)?).with_context(|| base.to_owned())?;
        }
        Ok(Self {
            name: name.into(),
            rung: rung.into(),
            source: diffy::apply(&kernel, &patch)?,
        })
    }

    /// Writes the kernel to `RUNG/NAME.cu` in a folder; returns the file's path.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<PathBuf> {
        let folder = folder.join(&self.rung);
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{}.cu", self.name));
        fs::write(&path, &self.source)?;
        Ok(path)
    }
}

/// The patch behind its first line, if that is text.
fn parse(text: &str) -> Result<diffy::Patch<'_, str>> {
    let start = text.find("--- a/").context("it has no `--- a/` line")?;
    Ok(diffy::Patch::from_str(&text[start..])?)
}
