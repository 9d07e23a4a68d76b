//! `rubric.toml`: what an assignment requires, and for how many points.
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use harness::Size;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::exam::Question;
use crate::exam::access::{Count, Op};
use crate::exam::predicted::LARGEST;

use super::budget::Budget;
use super::diagnose::Bug;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rubric {
    /// Name of the assignment.
    pub name: String,
    #[serde(default)]
    pub task: AssignmentKind,
    /// Architecture that kernels are compiled for.
    #[serde(default = "sm_80")]
    pub arch: String,
    /// Points required to pass.
    pub pass: f64,
    pub points: Points,
    /// The public tile, then its variants; hidden launches use one of all.
    #[serde(default)]
    pub tile: Vec<TileVariant>,
    /// Whether kernels choose their own tile: then the rubric's tile is the unit of sizes and budgets.
    #[serde(default)]
    pub own_tile: bool,
    /// Whether A and B hold no NaN and no infinity, so that they may be converted by arithmetic.
    #[serde(default)]
    pub finite: bool,
    #[serde(default)]
    pub sizes: Sizes,
    /// The parts that the kernel's file is compiled for and graded as; at least one after reading.
    #[serde(default)]
    pub part: Vec<Part>,
    /// Measures of the mechanism; the smallest credit counts.
    #[serde(default)]
    pub measure: Vec<Measure>,
    /// Bounds on what a kernel does, in every part.
    #[serde(default)]
    pub budget: Vec<Budget>,
    #[serde(default)]
    pub wrong: Wrong,
    #[serde(default)]
    pub prediction: Vec<Prediction>,
    /// For an assignment that consists of questions.
    pub exam: Option<Exam>,
    /// For an assignment whose kernel has a bug to find.
    pub bug: Option<Bug>,
    pub after: After,
    /// SHA-256 of the file, 64 digits.
    #[serde(skip)]
    pub hash: String,
}

fn sm_80() -> String {
    "sm_80".into()
}

/// The kind of submission.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum AssignmentKind {
    /// A kernel that multiplies matrices.
    #[default]
    Gemm,
    /// A kernel that transposes a matrix.
    Transpose,
    /// Answers.
    Predict,
}

impl AssignmentKind {
    /// Whether a kernel is submitted, and not answers.
    pub fn is_kernel(self) -> bool {
        match self {
            Self::Gemm | Self::Transpose => true,
            Self::Predict => false,
        }
    }

    /// The name of the result in the kernel.
    pub fn output(self) -> &'static str {
        match self {
            Self::Gemm | Self::Predict => "C",
            Self::Transpose => "out",
        }
    }

    /// How it is launched.
    pub fn task(self) -> harness::Task {
        match self {
            Self::Transpose => harness::Task::Transpose,
            Self::Gemm | Self::Predict => harness::Task::Gemm,
        }
    }

    /// The name of the file that is graded.
    pub fn handed_in(self) -> &'static str {
        match self {
            Self::Gemm | Self::Transpose => "kernel.cu",
            Self::Predict => "answers.toml",
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Points {
    pub prediction: f64,
    /// For the diagnosis of the bug: a size that shows it, the line, the cause.
    pub diagnosis: f64,
    pub values: f64,
    pub mechanism: f64,
    pub sanitizer: f64,
}

/// The tile that a block computes; the kernel gets it in the macros TILE_M, TILE_N and TILE_K.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TileVariant {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Elements along K in a step.
    pub k: u32,
    /// The limit of a block's shared memory in bytes.
    pub shared_bytes: u64,
    /// Units of [`What::GlobalLoads`] and [`What::SharedTraffic`].
    #[serde(default = "one")]
    pub global_loads: f64,
    #[serde(default = "one")]
    pub shared_traffic: f64,
}

fn one() -> f64 {
    1.0
}

impl TileVariant {
    /// Its name in messages.
    pub fn name(&self) -> String {
        let Self { m, n, k, .. } = self;
        match k {
            1 => format!("{m}x{n}"),
            _ => format!("{m}x{n}x{k}"),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    pub public: Vec<String>,
    /// The launch whose clocks are predicted, the same for everybody.
    pub timed: Option<String>,
}

/// One way to compile the kernel's file, and what it must contain then.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Empty for the only part.
    pub name: String,
    /// A macro that is defined for this part.
    pub define: Option<String>,
    /// Its share of the points for values, mechanism and sanitizer.
    pub share: f64,
    #[serde(default)]
    pub measure: Vec<Measure>,
    #[serde(default)]
    pub budget: Vec<Budget>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    pub what: What,
    pub degree: Vec<Degree>,
    /// A question to think about; never the answer.
    pub hint: String,
}

/// A measured quantity; the worst launch counts.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Wavefronts of an instruction relative to its minimum.
    SharedWavefronts,
    /// Sectors loaded or copied relative to those of the operands' tiles over all steps, in units of the tile's
    /// `global_loads`.
    GlobalLoads,
    /// How often a warp loads each of its sectors of global memory, on average.
    LoadsPerSector,
    /// Sectors stored relative to those of the output tiles.
    GlobalStores,
    /// All wavefronts relative to those that would hold the tiles once, in units of the tile's `shared_traffic`. This
    /// detects accesses that are serialized across instructions: they avoid conflicts but take as long.
    SharedTraffic,
    /// Wavefronts of shared loads relative to those that hold what tensor cores multiply, once per warp and step, plus
    /// the tile of C.
    OperandTraffic,
    /// The same, but elements of B may take twice as many: by hand, the two of a register are loaded from two rows.
    OperandTrafficByHand,
    /// The fraction of the problem's products that tensor cores compute, derived from their operands.
    TensorProducts,
    /// How early copies are issued: the K steps that a warp multiplies between the issue of a tile's last copy and the
    /// moment when it waits for the tile or reads it.
    CopiesAhead,
    /// How often a warp that multiplies waits for other warps per tile of C, at any kind of barrier.
    BlockBarriers,
    /// The same per step along K, with storing C as one more step, in launches of many steps.
    BarriersPerStep,
    /// The fraction of copies whose issuing warp also multiplies.
    MultiplyingProducers,
    /// Warps of a block that multiply.
    MultiplyingWarps,
    /// Blocks of a launch per SM: at most 1 if blocks are persistent.
    PersistentBlocks,
    /// Bytes of a row of the narrower of A's and B's TMA boxes.
    BoxBytes,
    /// Predicted clocks of the timed launch.
    PredictedClocks,
}

/// The credit for a number: a maximum or a minimum.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Degree {
    pub at_most: Option<f64>,
    pub at_least: Option<f64>,
    /// Fraction of the mechanism's points, 0 to 1.
    pub credit: f64,
}

/// The most likely cause of wrong values in this assignment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    /// A question to think about; never the answer.
    pub hint: String,
    /// An anchor on the book's page of mistakes.
    pub mistake: String,
}

impl Default for Wrong {
    fn default() -> Self {
        let hint =
            "which thread writes the first wrong element, and from which elements of A and B?";
        Self {
            hint: hint.into(),
            mistake: super::NO_MISTAKE.into(),
        }
    }
}

/// Generated questions, see [`crate::exam`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exam {
    /// Seed of the public questions; with a secret, each student has different ones.
    pub seed: u64,
    pub questions: u32,
}

/// A question about an access of a warp.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    pub key: String,
    pub question: String,
    pub access: Op,
    /// Bytes per lane.
    pub bytes: u32,
    /// Byte offset of each lane; further lanes take no part.
    pub offsets: Vec<u32>,
    /// What the question asks for.
    #[serde(default)]
    pub count: Count,
    /// The explanation; if it is missing, it is taken from `reasons.toml`.
    #[serde(default)]
    pub reason: String,
}

impl Prediction {
    /// Looks up the explanation, unless it has one.
    fn explain(&mut self, assignment: &str) -> Result<()> {
        if self.reason.is_empty() {
            self.reason = super::reasons::of(assignment, self)?;
        }
        Ok(())
    }

    /// Checks that the access is valid.
    fn check(&self) -> Result<()> {
        let (key, bytes, lanes) = (&self.key, self.bytes, self.offsets.len());
        ensure!(
            matches!(bytes, 1 | 2 | 4 | 8 | 16),
            "the prediction {key}: an access has 1, 2, 4, 8 or 16 bytes a lane, not {bytes}"
        );
        match self.access {
            Op::Matrix => ensure!(
                matches!(lanes, 8 | 16 | 32) && bytes == 16,
                "the prediction {key}: ldmatrix reads 8, 16 or 32 rows of 16 bytes"
            ),
            Op::Load | Op::Store | Op::GlobalLoad | Op::GlobalStore => ensure!(
                (1..=32).contains(&lanes),
                "the prediction {key}: a warp has 1 to 32 lanes, not {lanes}"
            ),
        }
        for offset in &self.offsets {
            ensure!(
                offset.is_multiple_of(bytes) && *offset < LARGEST,
                "the prediction {key}: {offset} is not a multiple of {bytes} below {LARGEST}"
            );
        }
        ensure!(
            self.access.counts().contains(&self.count),
            "the prediction {key}: {} cannot be asked of this access; sectors are global memory's, wavefronts and \
             conflicts shared memory's",
            self.count.name()
        );
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// Why the kernel works, shown if it passes.
    pub passed: String,
}

impl Rubric {
    /// Reads the rubric in an assignment's folder.
    pub fn read(assignment: &Path) -> Result<Self> {
        let path = assignment.join("rubric.toml");
        let text = std::fs::read_to_string(&path).with_context(|| {
            format!(
                "cannot read {}; name the folder of an assignment, such as course/assignments/05_swizzle",
                path.display()
            )
        })?;
        let mut rubric =
            Self::parse(&text).with_context(|| format!("{} is not a rubric", path.display()))?;
        if let Some(bug) = &mut rubric.bug {
            bug.read(assignment, &rubric.name)?;
            // The launched kernel is part of the rubric.
            rubric.hash = harness::hex(&Sha256::digest(format!("{}{}", rubric.hash, bug.text)));
        }
        Ok(rubric)
    }

    /// Parses a rubric; line endings do not matter, not even for the hash.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.replace("\r\n", "\n");
        let mut rubric: Self = toml::from_str(&text)?;
        rubric.hash = harness::hex(&Sha256::digest(&text));
        match rubric.task {
            AssignmentKind::Predict => ensure!(
                rubric.exam.is_some(),
                "it has no questions: add an [exam] with `seed` and `questions`"
            ),
            AssignmentKind::Gemm | AssignmentKind::Transpose => rubric.check_kernel()?,
        }
        rubric.prediction.iter().try_for_each(Prediction::check)?;
        let name = rubric.name.clone();
        let mut predictions = rubric.prediction.iter_mut();
        predictions.try_for_each(|one| one.explain(&name))?;
        Ok(rubric)
    }

    /// The questions of an exam assignment; with a secret, those of this student.
    pub fn questions(&self, secret: Option<&[u8]>, student: &str) -> Result<Vec<Question>> {
        let none = || {
            format!(
                "{} has no [exam] in its rubric.toml, so no questions",
                self.name
            )
        };
        let exam = self.exam.as_ref().with_context(none)?;
        let of_student = |secret| super::plan::exam(&self.name, secret, student);
        let seed = secret.map_or(exam.seed, of_student);
        crate::exam::questions(seed, exam.questions)
    }

    fn check_kernel(&mut self) -> Result<()> {
        ensure!(
            !self.sizes.public.is_empty(),
            "it has no public size: add one to [sizes]"
        );
        ensure!(!self.tile.is_empty(), "it has no tile: add a [[tile]]");
        for tile in &self.tile {
            let mut sides = [tile.m, tile.n, tile.k].into_iter();
            ensure!(
                sides.all(|side| (1..=1024).contains(&side)),
                "a side of a tile is 0 or more than 1024"
            );
        }
        let of_parts = self.part.iter().flat_map(|part| &part.measure);
        let measures = self.measure.iter().chain(of_parts);
        for degree in measures.flat_map(|measure| &measure.degree) {
            ensure!(
                degree.at_most.is_some() != degree.at_least.is_some(),
                "a degree has one of at_most and at_least"
            );
        }
        self.public_sizes()?;
        ensure!(
            self.timed_size()?.is_some()
                == (self.measure.iter()).any(|one| one.what == What::PredictedClocks),
            "predicted_clocks takes a `timed` size in [sizes], and such a size takes the measure"
        );
        self.bug.iter().try_for_each(super::diagnose::check)?;
        if self.part.is_empty() {
            self.part.push(Part {
                name: String::new(),
                define: None,
                share: 1.0,
                measure: Vec::new(),
                budget: Vec::new(),
            });
        }
        for budget in self
            .part
            .iter()
            .flat_map(|part| &part.budget)
            .chain(&self.budget)
        {
            ensure!(
                budget.at_least.is_some() || budget.at_most.is_some(),
                "a budget has at_least, at_most or both"
            );
        }
        let shares: f64 = self.part.iter().map(|part| part.share).sum();
        ensure!(
            (shares - 1.0).abs() < 1e-9,
            "the parts' shares are {shares} together, not 1"
        );
        Ok(())
    }

    /// Whether its blocks compute one tile after the other.
    pub fn is_persistent(&self) -> bool {
        let mut measures = self.measure.iter();
        measures.any(|one| one.what == What::PersistentBlocks)
    }

    pub fn public_sizes(&self) -> Result<Vec<Size>> {
        self.sizes.public.iter().map(size).collect()
    }

    /// The launch whose clocks are predicted, if there is one.
    pub fn timed_size(&self) -> Result<Option<Size>> {
        self.sizes.timed.as_ref().map(size).transpose()
    }
}

fn size(text: &String) -> Result<Size> {
    let size = text.parse();
    size.map_err(|why| anyhow!("the size {text:?}: {why}"))
}

impl Measure {
    /// The fraction of the mechanism's points for this number.
    pub fn credit(&self, number: f64) -> f64 {
        let reached = self.degree.iter().filter(|one| {
            one.at_most.is_none_or(|most| number <= most)
                && one.at_least.is_none_or(|least| number >= least)
        });
        reached.map(|one| one.credit).fold(0.0, f64::max)
    }
}
