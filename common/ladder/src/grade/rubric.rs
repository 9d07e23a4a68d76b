//! `rubric.toml`: what an assignment asks, and for how many points.
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use harness::Size;
use serde::Deserialize;
use sha2::{Digest, Sha256};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rubric {
    /// Of the assignment.
    pub name: String,
    #[serde(default)]
    pub task: Task,
    /// What the kernel is compiled for.
    #[serde(default = "sm_80")]
    pub arch: String,
    /// Points that pass.
    pub pass: f64,
    pub points: Points,
    /// The public one, then its variants: a hidden launch takes one of all.
    #[serde(default)]
    pub tile: Vec<Tile>,
    #[serde(default)]
    pub sizes: Sizes,
    /// What the kernel's file is compiled for and graded as, once for each; at least one after reading.
    #[serde(default)]
    pub part: Vec<Part>,
    /// What the mechanism is; the least of their credits counts.
    #[serde(default)]
    pub measure: Vec<Measure>,
    /// Of the only part, where there is but one.
    #[serde(default)]
    required: Vec<Required>,
    #[serde(default)]
    forbidden: Vec<Forbidden>,
    #[serde(default)]
    pub wrong: Wrong,
    #[serde(default)]
    pub prediction: Vec<Prediction>,
    pub after: After,
    /// SHA-256 of the file, in 64 digits.
    #[serde(skip)]
    pub hash: String,
}

fn sm_80() -> String {
    "sm_80".into()
}

/// What is handed in.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// A kernel that multiplies matrices.
    #[default]
    Gemm,
    /// A kernel that transposes one.
    Transpose,
    /// Answers.
    Predict,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Points {
    #[serde(default)]
    pub prediction: f64,
    #[serde(default)]
    pub values: f64,
    #[serde(default)]
    pub mechanism: f64,
    #[serde(default)]
    pub sanitizer: f64,
}

/// What a block computes at a time: the kernel finds it in the macros TILE_M, TILE_N and TILE_K.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tile {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Of K.
    pub k: u32,
    /// The most bytes of shared memory that a block may have.
    pub shared_bytes: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    pub public: Vec<String>,
    pub hidden: u32,
}

/// One way to compile the kernel's file, and what must be in it then.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Empty for the only one.
    pub name: String,
    /// A macro that is defined for it.
    pub define: Option<String>,
    /// Part of the points for values, mechanism and sanitizer.
    pub share: f64,
    #[serde(default)]
    pub required: Vec<Required>,
    #[serde(default)]
    pub forbidden: Vec<Forbidden>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    pub what: What,
    pub degree: Vec<Degree>,
    /// Never the answer.
    pub hint: String,
}

/// What is measured; the worst of all launches counts.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Wavefronts of an instruction over its ideal.
    SharedWavefronts,
    /// Sectors of an instruction over the fewest that could hold the distinct bytes of its accesses.
    GlobalSectors,
    /// All sectors over those that the tiles hold: A's and B's at each step, and C's.
    GlobalTraffic,
    /// How early copies are issued: the warp instructions of a block from the issue of a tile's last copy to the wait
    /// that lands it, over those that the block executes for one step along K.
    CopiesAhead,
}

/// What a number is worth: at most so much, or at least.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Degree {
    pub at_most: Option<f64>,
    pub at_least: Option<f64>,
    /// Part of the mechanism's points, 0 to 1.
    pub credit: f64,
}

/// So often must one of these be executed, or the mechanism is another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Required {
    /// Operations, see [`super::instruction::is`].
    pub any_of: Vec<String>,
    /// Warp-level executions for each `mma.sync.m16n8k16` that the product takes.
    #[serde(default)]
    pub per_mma: f64,
    /// Warp-level executions for each step of a block along K.
    #[serde(default)]
    pub per_step: f64,
    pub hint: String,
}

/// What may not be in the kernel, or not be executed more often than this.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forbidden {
    /// An operation, see [`super::instruction::is`].
    pub instruction: String,
    /// As in [`Required`].
    #[serde(default)]
    pub per_mma: f64,
    /// As in [`Required`].
    #[serde(default)]
    pub per_step: f64,
    pub hint: String,
}

/// What wrong values are mostly a sign of here.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    /// Never the answer.
    pub hint: String,
    /// An anchor of the book's page of mistakes.
    pub mistake: String,
}

impl Default for Wrong {
    fn default() -> Self {
        Self {
            hint:
                "which thread writes the first wrong element, and from which elements of A and B?"
                    .into(),
            mistake: "none-of-these".into(),
        }
    }
}

/// A question about one 8x8 matrix, read by `ldmatrix`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    pub key: String,
    pub question: String,
    /// Byte offsets of its rows.
    pub offsets: [u32; 8],
    pub reason: String,
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
        if rubric.task != Task::Predict {
            rubric.of_a_kernel()?;
        }
        Ok(rubric)
    }

    fn of_a_kernel(&mut self) -> Result<()> {
        ensure!(
            !self.sizes.public.is_empty(),
            "it has no public size: add one to [sizes]"
        );
        ensure!(!self.tile.is_empty(), "it has no tile: add a [[tile]]");
        for tile in &self.tile {
            ensure!(
                [tile.m, tile.n, tile.k]
                    .into_iter()
                    .all(|side| (1..=1024).contains(&side)),
                "a side of a tile is 0 or more than 1024"
            );
        }
        ensure!(self.sizes.hidden <= 16, "at most 16 hidden sizes");
        for degree in self.measure.iter().flat_map(|measure| &measure.degree) {
            ensure!(
                degree.at_most.is_some() != degree.at_least.is_some(),
                "a degree has one of at_most and at_least"
            );
        }
        self.public_sizes()?;
        if self.part.is_empty() {
            self.part.push(Part {
                name: String::new(),
                define: None,
                share: 1.0,
                required: std::mem::take(&mut self.required),
                forbidden: std::mem::take(&mut self.forbidden),
            });
        }
        ensure!(
            self.required.is_empty() && self.forbidden.is_empty(),
            "with parts, what is required and forbidden stands in these: [[part.required]]"
        );
        let shares: f64 = self.part.iter().map(|part| part.share).sum();
        ensure!(
            (shares - 1.0).abs() < 1e-9,
            "the parts' shares are {shares} together, not 1"
        );
        Ok(())
    }

    pub fn public_sizes(&self) -> Result<Vec<Size>> {
        let read = |text: &String| match text.parse() {
            Ok(size) => Ok(size),
            Err(why) => bail!("the size {text:?}: {why}"),
        };
        self.sizes.public.iter().map(read).collect()
    }
}

impl Measure {
    /// The part of the mechanism's points that this number has.
    pub fn credit(&self, number: f64) -> f64 {
        let reached = self.degree.iter().filter(|one| {
            one.at_most.is_none_or(|most| number <= most)
                && one.at_least.is_none_or(|least| number >= least)
        });
        reached.map(|one| one.credit).fold(0.0, f64::max)
    }
}
