//! `rubric.toml`: what an assignment asks, and for how many points.
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use harness::Size;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::exam::access::{Count, Op};
use crate::exam::predicted::LARGEST;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rubric {
    /// Of the assignment.
    pub name: String,
    /// Points that pass.
    pub pass: f64,
    pub points: Points,
    pub geometry: Geometry,
    pub sizes: Sizes,
    pub degree: Vec<Degree>,
    #[serde(default)]
    pub required: Vec<Required>,
    #[serde(default)]
    pub forbidden: Vec<Forbidden>,
    #[serde(default)]
    pub prediction: Vec<Prediction>,
    /// Of an assignment that is made of questions.
    pub exam: Option<Exam>,
    pub after: After,
    /// SHA-256 of the file, in 64 digits.
    #[serde(skip)]
    pub hash: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Points {
    pub prediction: f64,
    pub values: f64,
    pub mechanism: f64,
    pub sanitizer: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Rows and columns of C that a block computes, and its step along K.
    pub tile: [u32; 3],
    /// The most bytes of shared memory that a block may have.
    pub shared_bytes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    pub public: Vec<String>,
    pub hidden: u32,
}

/// What a number of wavefronts over the ideal is worth.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Degree {
    pub at_most: f64,
    /// Part of the mechanism's points, 0 to 1.
    pub credit: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Required {
    /// How its name may begin.
    pub any_of: Vec<String>,
    /// Warp-level executions for each `mma.sync` that the product takes.
    pub per_mma: f64,
    pub hint: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forbidden {
    /// How its name begins.
    pub instruction: String,
    pub hint: String,
}

/// Questions that a generator makes, see [`crate::exam`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exam {
    /// Of the questions that everybody can see; with a secret, everybody has others.
    pub seed: u64,
    pub questions: u32,
}

/// A question about one access of a warp.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    pub key: String,
    pub question: String,
    pub access: Op,
    /// That each lane asks for.
    pub bytes: u32,
    /// Byte offsets, a lane each; lanes behind the last take no part.
    pub offsets: Vec<u32>,
    /// What is asked.
    #[serde(default)]
    pub count: Count,
    pub reason: String,
}

impl Prediction {
    /// Whether there is such an access.
    fn check(&self) -> Result<()> {
        let Self {
            key,
            access,
            bytes,
            offsets,
            count,
            ..
        } = self;
        ensure!(
            matches!(bytes, 1 | 2 | 4 | 8 | 16),
            "the prediction {key}: an access has 1, 2, 4, 8 or 16 bytes a lane, not {bytes}"
        );
        match access {
            Op::Matrix => ensure!(
                matches!(offsets.len(), 8 | 16 | 32) && *bytes == 16,
                "the prediction {key}: ldmatrix reads 8, 16 or 32 rows of 16 bytes"
            ),
            _ => ensure!(
                (1..=32).contains(&offsets.len()),
                "the prediction {key}: a warp has 1 to 32 lanes, not {}",
                offsets.len()
            ),
        }
        for offset in offsets {
            ensure!(
                offset.is_multiple_of(*bytes) && *offset < LARGEST,
                "the prediction {key}: {offset} is no multiple of {bytes} below {LARGEST}"
            );
        }
        ensure!(
            access.counts().contains(count),
            "the prediction {key}: {} cannot be asked of this access; sectors are global memory's, wavefronts and \
             conflicts shared memory's",
            count.name()
        );
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// Why it worked.
    pub passed: String,
}

impl Rubric {
    /// Reads that of an assignment's folder.
    pub fn read(assignment: &Path) -> Result<Self> {
        let path = assignment.join("rubric.toml");
        let text = std::fs::read_to_string(&path).with_context(|| {
            format!(
                "cannot read {}; name the folder of an assignment, such as assignments/05_swizzle",
                path.display()
            )
        })?;
        Self::parse(&text).with_context(|| format!("{} is no rubric", path.display()))
    }

    /// Its text; line ends do not matter, for the hash either.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.replace("\r\n", "\n");
        let mut rubric: Self = toml::from_str(&text)?;
        rubric.hash = super::hidden::hex(&Sha256::digest(&text));
        ensure!(
            !rubric.sizes.public.is_empty(),
            "it has no public size: add one to [sizes]"
        );
        ensure!(
            rubric.geometry.tile.iter().all(|side| *side > 0),
            "a side of the tile is 0"
        );
        ensure!(rubric.sizes.hidden <= 16, "at most 16 hidden sizes");
        rubric.public_sizes()?;
        rubric.prediction.iter().try_for_each(Prediction::check)?;
        Ok(rubric)
    }

    pub fn public_sizes(&self) -> Result<Vec<Size>> {
        let read = |text: &String| match text.parse() {
            Ok(size) => Ok(size),
            Err(why) => bail!("the size {text:?}: {why}"),
        };
        self.sizes.public.iter().map(read).collect()
    }

    /// The part of the mechanism's points that this quotient of wavefronts and ideal has.
    pub fn credit(&self, degree: f64) -> f64 {
        let reached = self.degree.iter().filter(|one| degree <= one.at_most);
        reached.map(|one| one.credit).fold(0.0, f64::max)
    }
}
