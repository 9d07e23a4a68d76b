//! `rubric.toml`: what an assignment asks, and for how many points.
use std::collections::BTreeMap;
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
    /// Of the assignment.
    pub name: String,
    #[serde(default)]
    pub task: AssignmentKind,
    /// What the kernel is compiled for.
    #[serde(default = "sm_80")]
    pub arch: String,
    /// Points that pass.
    pub pass: f64,
    pub points: Points,
    /// The public one, then its variants: a hidden launch takes one of all.
    #[serde(default)]
    pub tile: Vec<TileVariant>,
    /// Whether kernels choose a tile of their own: the rubric's is then what sizes and budgets are counted in.
    #[serde(default)]
    pub own_tile: bool,
    #[serde(default)]
    pub sizes: Sizes,
    /// What the kernel's file is compiled for and graded as, once for each; at least one after reading.
    #[serde(default)]
    pub part: Vec<Part>,
    /// What the mechanism is; the least of their credits counts.
    #[serde(default)]
    pub measure: Vec<Measure>,
    /// What a kernel does, in every part.
    #[serde(default)]
    pub budget: Vec<Budget>,
    #[serde(default)]
    pub wrong: Wrong,
    #[serde(default)]
    pub prediction: Vec<Prediction>,
    /// Of an assignment that is made of questions.
    pub exam: Option<Exam>,
    /// Of an assignment whose kernel has a bug that is to be found.
    pub bug: Option<Bug>,
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
pub enum AssignmentKind {
    /// A kernel that multiplies matrices.
    #[default]
    Gemm,
    /// A kernel that transposes one.
    Transpose,
    /// Answers.
    Predict,
}

impl AssignmentKind {
    /// Whether a kernel is handed in, and not answers.
    pub fn is_kernel(self) -> bool {
        match self {
            Self::Gemm | Self::Transpose => true,
            Self::Predict => false,
        }
    }

    /// What the file is called that counts.
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
    /// What the bug is: a size that shows it, the line, the cause.
    pub diagnosis: f64,
    pub values: f64,
    pub mechanism: f64,
    pub sanitizer: f64,
}

/// What a block computes at a time: the kernel finds it in the macros TILE_M, TILE_N and TILE_K.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TileVariant {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Of K.
    pub k: u32,
    /// The most bytes of shared memory that a block may have.
    pub shared_bytes: u64,
    /// What [`What::GlobalLoads`] and [`What::SharedTraffic`] are counted in.
    #[serde(default = "one")]
    pub global_loads: f64,
    #[serde(default = "one")]
    pub shared_traffic: f64,
}

fn one() -> f64 {
    1.0
}

impl TileVariant {
    /// As the grader calls it.
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
    pub budget: Vec<Budget>,
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
    /// Sectors that are loaded or copied over those of the operands' tiles at each step, in units of the tile's `global_loads`.
    GlobalLoads,
    /// Sectors that are stored over those of the tiles that come out.
    GlobalStores,
    /// All wavefronts over those that would hold the tiles once, in units of the tile's `shared_traffic`: lanes that take
    /// turns have no conflicts, and take as long as if they had.
    SharedTraffic,
    /// Wavefronts of shared loads over those that hold what the tensor cores multiply, once for each warp and step, and
    /// the tile of C.
    OperandTraffic,
    /// Products of the problem that tensor cores compute, over all of them: read off their operands.
    TensorProducts,
    /// How early copies are issued: the steps along K that a warp multiplies between the issue of a tile's last copy and
    /// the moment when it waits for it or reads it.
    CopiesAhead,
    /// How often a warp that multiplies waits for other warps in each tile of C, at whatever kind of barrier.
    BlockBarriers,
    /// Copies whose issuing warp multiplies too, over all of them.
    MultiplyingProducers,
    /// Blocks of a launch for each SM: at most 1 where blocks take one tile after the other.
    PersistentBlocks,
    /// Bytes of a row that TMA brings at a time: the narrower of A's and B's boxes.
    BoxBytes,
    /// Clocks that the timed launch is predicted to take.
    PredictedClocks,
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
        let hint =
            "which thread writes the first wrong element, and from which elements of A and B?";
        Self {
            hint: hint.into(),
            mistake: super::NO_MISTAKE.into(),
        }
    }
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
    /// Why; if it does not say, as in the list of reasons ([`REASONS`]).
    #[serde(default)]
    pub reason: String,
}

/// By assignment and key.
const REASONS: &str = include_str!("reasons.toml");

impl Prediction {
    /// Looks the reason up, unless there is one.
    fn explain(&mut self, assignment: &str) -> Result<()> {
        if !self.reason.is_empty() {
            return Ok(());
        }
        let all: BTreeMap<String, BTreeMap<String, String>> = toml::from_str(REASONS)?;
        let found = all
            .get(assignment)
            .and_then(|reasons| reasons.get(&self.key));
        let none = || {
            let key = &self.key;
            format!(
                "the prediction {key} has no reason: add it to reasons.toml, under [{assignment}]"
            )
        };
        self.reason = found.with_context(none)?.clone();
        Ok(())
    }

    /// Whether there is such an access.
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
    /// Why it worked.
    pub passed: String,
}

impl Rubric {
    /// Reads that of an assignment's folder.
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
            // What is launched belongs to the rubric.
            rubric.hash = harness::hex(&Sha256::digest(format!("{}{}", rubric.hash, bug.text)));
        }
        Ok(rubric)
    }

    /// Its text; line ends do not matter, for the hash either.
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

    /// Those of an assignment that is made of questions: with a secret, of this student.
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
        for degree in self.measure.iter().flat_map(|measure| &measure.degree) {
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
    /// The part of the mechanism's points that this number has.
    pub fn credit(&self, number: f64) -> f64 {
        let reached = self.degree.iter().filter(|one| {
            one.at_most.is_none_or(|most| number <= most)
                && one.at_least.is_none_or(|least| number >= least)
        });
        reached.map(|one| one.credit).fold(0.0, f64::max)
    }
}
