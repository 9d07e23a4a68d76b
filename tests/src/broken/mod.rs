//! Broken kernels: each is a rung's kernel with one mistake inserted.
mod basics;
mod hopper;
mod pipeline;
pub mod shown;

use std::path::Path;

pub use hopper::{A_TILE_IN_TWO_PIECES, SEVERAL_TILES_A_BLOCK, TWO_TILES_IN_FOUR_PIECES};

use crate::workspace::{read, root};

/// One mistake.
#[derive(Clone, Copy, Debug)]
pub struct Broken {
    /// What is wrong; the file's name without `.cu`.
    pub name: &'static str,
    /// The folder of the rung it is made from.
    pub rung: &'static str,
    /// The arguments that select the rung's kernel.
    pub arguments: &'static [&'static str],
    /// M, N and K for which `sanitize` or verification detects the mistake.
    pub size: &'static str,
    /// Pieces of that kernel's text, or of the header that it includes, and their replacements.
    pub edits: &'static [(&'static str, &'static str)],
    /// The check that must detect the mistake.
    pub caught: Caught,
}

/// The check that detects a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// Verification: C is wrong at every size.
    Values,
    /// Verification, at this size: C is right if each CTA computes one tile.
    ValuesAtSize,
    /// `sanitize`, by a finding that contains these words and names a line of the kernel with this text.
    Sanitizer {
        /// Part of the finding's text.
        says: &'static str,
        /// Part of the line that it must name.
        at: &'static str,
    },
    /// A rule that can be checked without a run.
    Refused {
        /// Part of the error.
        says: &'static str,
    },
}

/// The file of a rung that a broken kernel is made from.
const KERNEL: &str = "kernel.cu";

/// The common fields.
const BASE: Broken = Broken {
    name: "",
    rung: "",
    arguments: &[],
    size: "128x128x64",
    edits: &[],
    caught: Caught::Values,
};

/// All broken kernels.
pub fn all() -> impl Iterator<Item = &'static Broken> {
    let lists = [basics::ALL, pipeline::ALL].into_iter();
    lists.chain(hopper::ALL).flatten()
}

impl Broken {
    /// The changed text.
    ///
    /// # Panics
    /// If the rung's text no longer contains what the edits replace.
    pub fn source(&self) -> String {
        let rungs = root().join("rungs");
        let path = rungs.join(self.rung).join(KERNEL);
        self.edits.iter().fold(read(&path), |mut text, (from, to)| {
            if !text.contains(from) {
                let header = read(&rungs.join("hopper.cuh")).replace("#pragma once\n", "");
                text = text.replace("#include \"hopper.cuh\"\n", &header);
            }
            assert!(
                text.contains(from),
                "{}: {from:?} is not in {}",
                self.name,
                path.display()
            );
            text.replace(from, to)
        })
    }

    /// Writes it into a folder; returns the file's path.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<std::path::PathBuf> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.cu", self.name));
        std::fs::write(&path, self.source())?;
        Ok(path)
    }
}
