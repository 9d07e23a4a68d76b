//! What a rung's `bench --json` prints, as far as tables and plots need it.
use harness::{Contest, OnGpu, Size};
use serde::{Deserialize, Deserializer, de::Error as _};

/// The baseline that sets the ratio.
pub const CUBLAS: &str = "cuBLAS f16";

/// One rung, with its kernels for one architecture.
#[derive(Clone, Debug, Deserialize)]
pub struct Bench {
    /// Such as `05_swizzle` or `06_pipeline sm_90a`.
    pub rung: String,
    /// One for each size.
    pub sizes: Vec<Run>,
}

/// One size.
#[derive(Clone, Debug, Deserialize)]
pub struct Run {
    #[serde(deserialize_with = "size")]
    pub size: Size,
    /// The tile that ran, such as `128x256`; older records do not say.
    #[serde(default)]
    pub tile: Option<String>,
    pub verify: Verify,
    /// None if C was wrong.
    pub time: Option<Time>,
    pub provenance: Provenance,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Verify {
    pub ok: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Time {
    /// The kernel's, at the median.
    pub tflops: f64,
    /// Samples of each contestant.
    pub rounds: u64,
    /// Launches that a sample is the mean of.
    pub launches_per_sample: u64,
    /// The kernel first, then the baselines.
    pub contestants: Vec<Contest>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Provenance {
    #[serde(flatten)]
    pub gpu: OnGpu,
    pub commit: Option<String>,
    pub date: String,
}

impl Run {
    /// Whether everything that is divided by is there and above 0.
    ///
    /// # Errors
    /// Says what is not.
    pub fn check(&self) -> Result<(), String> {
        let Some(time) = &self.time else {
            return Ok(());
        };
        if time
            .contestants
            .first()
            .is_none_or(|first| first.name != "kernel")
        {
            return Err(format!("at {}, the kernel was not timed", self.size));
        }
        if self.contest(CUBLAS).is_none() {
            return Err(format!("at {}, {CUBLAS} was not timed", self.size));
        }
        let rounds = time.contestants[0].samples_ms.len();
        for one in &time.contestants {
            let figures = [one.median_ms, one.tflops, one.kernel_speed];
            let positive = |value: &f64| value.is_finite() && *value > 0.0;
            let sound = figures.iter().chain(&one.samples_ms).all(positive);
            if !sound || rounds == 0 || one.samples_ms.len() != rounds {
                return Err(format!(
                    "at {}, the samples of {} cannot be used",
                    self.size, one.name
                ));
            }
        }
        Ok(())
    }

    /// A contestant by its name, if C was right and it took part.
    pub fn contest(&self, name: &str) -> Option<&Contest> {
        let mut all = self.time.iter().flat_map(|time| &time.contestants);
        all.find(|contest| contest.name == name)
    }

    /// The kernel's speed as a fraction of cuBLAS's f16 GEMM.
    pub fn of_cublas(&self) -> Option<f64> {
        self.contest(CUBLAS).map(|contest| contest.kernel_speed)
    }

    /// How far that fraction was from its median in the middle 80% of the rounds, as a part of it.
    pub fn spread_of_cublas(&self) -> Option<f64> {
        let kernel = self.time.as_ref()?.contestants.first()?;
        let theirs = &self.contest(CUBLAS)?.samples_ms;
        let rounds = theirs.iter().zip(&kernel.samples_ms);
        let mut ratios: Vec<f64> = rounds.map(|(theirs, ours)| theirs / ours).collect();
        ratios.sort_by(f64::total_cmp);
        let last = ratios.len().checked_sub(1)?;
        let at = |percent: usize| ratios[last * percent / 100];
        let median = at(50);
        Some((at(90) - median).max(median - at(10)) / median)
    }
}

fn size<'de, D: Deserializer<'de>>(from: D) -> Result<Size, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}
