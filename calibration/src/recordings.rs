//! The recordings of a card: the files of a folder, or those of an H100 and an H200 that are built into this program.
use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result};
use include_dir::{Dir, include_dir};

use crate::{instructions, kernels};

static H100: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/h100");
static H200: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/h200");

/// What can be recorded on its own; the variants are documented in the command line's help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Accesses of a warp, one in each kernel; ncu
    Patterns,
    /// Matrix products
    Tensor,
    /// Results of instructions, and where TMA and wgmma find their data
    Layouts,
    /// All inputs of approximate instructions in f32 and f64; takes minutes, compared only if named
    Approximate,
    /// Every rung's bits, and its accesses by line; ncu
    Rungs,
    /// The stall reasons of every rung's warps at 4096, and its time; ncu
    Stalls,
}

impl Part {
    /// The part that a recording of single instructions belongs to.
    pub fn of(name: &str) -> Self {
        match name.split('_').next().unwrap_or_default() {
            "shared" | "global" => Self::Patterns,
            "mma" => Self::Tensor,
            _ if name == instructions::APPROXIMATE_ALL => Self::Approximate,
            _ if name.starts_with("tensor") || name.starts_with("wgmma_m64") => Self::Tensor,
            _ => Self::Layouts,
        }
    }
}

/// Files by name, sorted.
pub struct Recordings(pub Vec<(String, Cow<'static, [u8]>)>);

impl Recordings {
    /// Recordings of single instructions, and of the rungs whose kernels have not changed since.
    pub fn of_h100() -> Self {
        Self::shipped(&H100)
    }

    /// Recordings of all rungs.
    pub fn of_h200() -> Self {
        Self::shipped(&H200)
    }

    fn shipped(folder: &'static Dir<'static>) -> Self {
        let files = folder.files().filter_map(|file| {
            let name = file.path().to_str()?;
            Some((name.to_owned(), Cow::Borrowed(file.contents())))
        });
        Self::sorted(files.collect())
    }

    /// The files of a folder; files that are not recordings are read as empty.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_folder(folder: &Path) -> Result<Self> {
        let unreadable = || format!("cannot read {}", folder.display());
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).with_context(unreadable)? {
            let path = entry.with_context(unreadable)?.path();
            if path.is_dir() {
                continue;
            }
            let name = path.file_name().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            let bytes = if instructions::is_known(&name) || kernels::is_known(&name) {
                std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?
            } else {
                Vec::new()
            };
            files.push((name, Cow::Owned(bytes)));
        }
        Ok(Self::sorted(files))
    }

    /// These recordings, with planned files in place of files of the same names.
    pub fn with(mut self, planned: Vec<(&str, String)>) -> Self {
        self.0
            .retain(|(name, _)| !planned.iter().any(|(new, _)| new == name));
        let planned = planned.into_iter();
        self.0
            .extend(planned.map(|(name, text)| (name.to_owned(), text.into_bytes().into())));
        Self::sorted(self.0)
    }

    /// A file's bytes.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let found = self.0.iter().find(|(found, _)| found == name);
        found.map(|(_, bytes)| bytes.as_ref())
    }

    fn sorted(mut files: Vec<(String, Cow<'static, [u8]>)>) -> Self {
        files.sort();
        Self(files)
    }
}
