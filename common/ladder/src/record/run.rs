//! The output of a rung's `bench --json`, with the fields that tables and plots use.
use harness::{CUBLAS_LT, Contest, OnGpu, Size, TENSOR_FLOP_PER_CLOCK};
use serde::{Deserialize, Deserializer, de::Error as _};

pub use harness::CUBLAS;

/// One rung, with its kernels for one architecture.
#[derive(Clone, Debug, Deserialize)]
pub struct Bench {
    /// Such as `05_swizzle` or `06_pipeline sm_90a`.
    pub rung: String,
    /// The runs, one for each size.
    pub sizes: Vec<Run>,
}

/// One size.
#[derive(Clone, Debug, Deserialize)]
pub struct Run {
    #[serde(deserialize_with = "size")]
    pub size: Size,
    /// The tile that ran, such as `128x256`; missing in older records.
    #[serde(default)]
    pub tile: Option<String>,
    pub verify: Verify,
    /// `None` if C was wrong.
    pub time: Option<Time>,
    pub provenance: Provenance,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Verify {
    pub ok: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Time {
    /// The kernel's TFLOP/s at the median.
    pub tflops: f64,
    /// Samples of each contestant.
    pub rounds: u64,
    /// Launches in a sample, which is their mean.
    pub launches_per_sample: u64,
    /// The kernel first, then the baselines.
    pub contestants: Vec<Contest>,
    /// The same with idle time between the samples; missing in older records.
    #[serde(default)]
    pub cool: Option<harness::Regime>,
}

/// How a kernel was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// Sample after sample, at the card's power limit.
    Sustained,
    /// With idle time, so that the card is below its power limit when a sample begins.
    Cool,
}

/// The measurements of one regime.
#[derive(Clone, Copy, Debug)]
pub struct Figures<'a> {
    /// Samples of each contestant.
    pub rounds: u64,
    /// Launches in a sample, which is their mean.
    pub launches_per_sample: u64,
    /// The kernel first, then the baselines.
    pub contestants: &'a [Contest],
    /// Clock of the SMs: least, median, greatest.
    pub sm_mhz: Option<[f64; 3]>,
    /// Power drawn: least, median, greatest.
    pub power_watts: Option<[f64; 3]>,
}

impl Figures<'_> {
    /// The faster of cuBLAS and cuBLASLt.
    pub fn better(&self) -> Option<&Contest> {
        let named = |name| self.contestants.iter().find(move |one| one.name == name);
        let both = [CUBLAS, CUBLAS_LT].into_iter().filter_map(named);
        both.min_by(|a, b| a.kernel_speed.total_cmp(&b.kernel_speed))
    }

    /// The kernel's speed as a fraction of that of the faster of cuBLAS and cuBLASLt.
    pub fn of_better(&self) -> Option<f64> {
        self.better().map(|one| one.kernel_speed)
    }

    /// The kernel's clock and that of the faster of cuBLAS and cuBLASLt in MHz, if the SMs counted both.
    pub fn clocks(&self) -> Option<[f64; 2]> {
        Some([self.contestants.first()?.sm_mhz?, self.better()?.sm_mhz?])
    }

    /// The SMs' clock while the kernel ran, in MHz, as the SMs counted it. Older records have only the sensor's, which
    /// covers all contestants and the idle time between samples.
    pub fn kernel_mhz(&self) -> Option<f64> {
        let counted = self.contestants.first()?.sm_mhz;
        counted.or(self.sm_mhz.map(|[_, median, _]| median))
    }

    /// The kernel's fraction of the tensor cores' peak at that clock. `None` if only a sensor gave the clock, which
    /// reads up to an eighth more than the SMs count.
    pub fn of_tensor_cores(&self, sms: u32) -> Option<f64> {
        let kernel = self.contestants.first()?;
        let per_second = kernel.sm_mhz? * 1e6 * f64::from(sms) * TENSOR_FLOP_PER_CLOCK;
        Some(kernel.tflops * 1e12 / per_second)
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct Provenance {
    #[serde(flatten)]
    pub gpu: OnGpu,
    pub commit: Option<String>,
    pub date: String,
}

impl Run {
    /// Checks that every divisor is present and above 0.
    ///
    /// # Errors
    /// If one is not; the error names it.
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
        for regime in [Regime::Sustained, Regime::Cool] {
            let contestants = self
                .figures(regime)
                .map_or(&[][..], |these| these.contestants);
            let rounds = contestants
                .first()
                .map_or(0, |kernel| kernel.samples_ms.len());
            for one in contestants {
                let figures = [one.median_ms, one.tflops, one.kernel_speed];
                let positive = |value: &f64| value.is_finite() && *value > 0.0;
                let sound = figures.iter().chain(&one.samples_ms).all(positive);
                // Every other round reports cuBLASLt's algorithm.
                let samples = one.samples_ms.len();
                let all = samples == rounds || one.name == CUBLAS_LT && samples == rounds / 2;
                if !sound || samples == 0 || !all {
                    return Err(format!(
                        "at {}, the samples of {} cannot be used",
                        self.size, one.name
                    ));
                }
            }
        }
        Ok(())
    }

    /// The measurements of a regime, if C was right.
    pub fn figures(&self, regime: Regime) -> Option<Figures<'_>> {
        let time = self.time.as_ref()?;
        Some(match regime {
            Regime::Sustained => Figures {
                rounds: time.rounds,
                launches_per_sample: time.launches_per_sample,
                contestants: &time.contestants,
                sm_mhz: self.provenance.gpu.sm_mhz,
                power_watts: self.provenance.gpu.power_watts,
            },
            Regime::Cool => {
                let cool = time.cool.as_ref()?;
                Figures {
                    rounds: cool.rounds as u64,
                    launches_per_sample: cool.launches_per_sample as u64,
                    contestants: &cool.contestants,
                    sm_mhz: cool.sm_mhz,
                    power_watts: cool.power_watts,
                }
            }
        })
    }

    /// A contestant by its name, if C was right and the contestant took part.
    pub fn contest(&self, name: &str) -> Option<&Contest> {
        let mut all = self.time.iter().flat_map(|time| &time.contestants);
        all.find(|contest| contest.name == name)
    }

    /// The kernel's speed as a fraction of cuBLAS's f16 GEMM.
    pub fn of_cublas(&self) -> Option<f64> {
        self.contest(CUBLAS).map(|contest| contest.kernel_speed)
    }

    /// How far that fraction was from its median in the middle 80% of the rounds, relative to it.
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
