//! Broken kernels: each is a rung's kernel with one mistake put in.
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
    /// What it does wrong; the file's name without `.cu`.
    pub name: &'static str,
    /// The folder of the rung it is made from.
    pub rung: &'static str,
    /// What chooses the rung's kernel on the command line.
    pub arguments: &'static [&'static str],
    /// M, N and K that suffice for `sanitize` to see it, or verification.
    pub size: &'static str,
    /// Text of that kernel, or of the header that it includes, and what replaces it everywhere.
    pub edits: &'static [(&'static str, &'static str)],
    /// How it is found out.
    pub caught: Caught,
}

/// What must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// Verification: C is wrong at every size.
    Values,
    /// Verification, at this size: C is right where each block takes one tile.
    ValuesAtSize,
    /// `sanitize`, by a finding with these words that names a line of the kernel that holds this text.
    Sanitizer {
        /// Part of the finding's text.
        says: &'static str,
        /// Part of the line that it must name.
        at: &'static str,
    },
    /// Nothing is run: it breaks a rule that can be checked before.
    Refused {
        /// Part of the error.
        says: &'static str,
    },
}

/// The rung's file that it is made from.
const KERNEL: &str = "kernel.cu";

/// What most of them have.
const BASE: Broken = Broken {
    name: "",
    rung: "",
    arguments: &[],
    size: "128x128x64",
    edits: &[],
    caught: Caught::Values,
};

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Broken> {
    let lists = [basics::ALL, pipeline::ALL].into_iter();
    lists.chain(hopper::ALL).flatten()
}

impl Broken {
    /// Its text.
    ///
    /// # Panics
    /// If the rung no longer holds what is to be edited.
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
