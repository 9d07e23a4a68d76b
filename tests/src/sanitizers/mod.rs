//! Compares the emulator's `sanitize` with NVIDIA's compute-sanitizer: every broken kernel, and the correct ones that
//! they are made from, run on a GPU under each of its four tools.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `watch` | what does each tool print? Processes with a time limit, since some of these kernels never end |
//! | `verdict` | what did it find, in one line? |
//! | `table` | which tool finds what? |
mod table;
mod verdict;
mod watch;

pub use table::{Row, table};
pub use verdict::Verdict;
pub use watch::{Limits, record};

use crate::broken::{Broken, SEVERAL_TILES_A_BLOCK, all};

/// The table's file.
pub const TABLE: &str = "sanitizers.csv";
/// The recording's provenance.
pub const PROVENANCE: &str = "provenance_sanitizers.json";
/// The name of a rung's own kernel in the table.
pub const SOUND: &str = calibration::SOUND[0];

/// The tool that checks a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checker {
    /// None: the result of the hardware alone.
    Hardware,
    /// compute-sanitizer with this tool.
    Tool(&'static str),
}

impl Checker {
    /// No tool, and compute-sanitizer's tools.
    pub const ALL: [Self; 5] = [
        Self::Hardware,
        Self::Tool("memcheck"),
        Self::Tool("racecheck"),
        Self::Tool("initcheck"),
        Self::Tool("synccheck"),
    ];

    /// The name in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hardware => "alone",
            Self::Tool(tool) => tool,
        }
    }
}

/// The broken kernels, preceded by the kernels that they are made from: a finding in those as well does not detect
/// the mistake.
pub fn subjects() -> Vec<Broken> {
    let mut subjects: Vec<Broken> = Vec::new();
    for broken in all() {
        let sound = Broken {
            name: SOUND,
            edits: &[],
            ..*broken
        };
        let is_known = |known: &Broken| variant(known) == variant(&sound);
        if !subjects.iter().any(is_known) {
            subjects.push(sound);
        }
    }
    subjects.push(Broken {
        arguments: &["--tile", "128x256"],
        size: "256x1024x256",
        ..SEVERAL_TILES_A_BLOCK
    });
    subjects.extend(all());
    subjects
}

/// A rung's kernel, with the arguments that select it.
fn variant(of: &Broken) -> (&'static str, &'static [&'static str]) {
    (of.rung, of.arguments)
}

/// The name of a subject's files: correct kernels have no name of their own.
fn stem(of: &Broken) -> String {
    let mut words = vec![of.name];
    if of.name == SOUND {
        words.push(of.rung);
        words.extend(of.arguments.iter().filter(|word| !word.starts_with('-')));
    }
    words.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_broken_kernel_is_a_subject_with_files_of_its_own() {
        let subjects = subjects();
        let mut stems: Vec<String> = subjects.iter().map(stem).collect();
        stems.sort();
        assert!(stems.windows(2).all(|pair| pair[0] != pair[1]), "{stems:?}");
        for broken in all() {
            assert!(stems.iter().any(|stem| stem == broken.name));
            let sound = |of: &&Broken| of.name == SOUND && variant(of) == variant(broken);
            assert_eq!(subjects.iter().filter(sound).count(), 1, "{}", broken.name);
        }
    }

    /// The ladder counts all other names as broken.
    #[test]
    fn what_is_not_broken_has_a_name_that_the_ladder_knows() {
        let subjects = subjects().into_iter().map(|subject| subject.name);
        let mut sound: Vec<_> = subjects
            .filter(|name| all().all(|broken| broken.name != *name))
            .collect();
        sound.dedup();
        assert_eq!(sound, calibration::SOUND);
    }
}
