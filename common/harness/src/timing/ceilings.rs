//! What an SM can do in a clock: the ceilings that a kernel's bound is held against.
//!
//! `cargo ladder ceilings` measures them (`measure`), with a kernel of a page for each resource beside this file.
//! What it wrote on an H200 and on an H100 is committed under results/ and is all that [`Ceilings`] reads: no ceiling
//! stands anywhere else.
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The records, by their place in the workspace, with their text.
pub const RECORDS: [(&str, &str); 2] = [
    (
        "results/h200/ceilings.json",
        include_str!("../../../../results/h200/ceilings.json"),
    ),
    (
        "results/h100-80gb-hbm3/ceilings.json",
        include_str!("../../../../results/h100-80gb-hbm3/ceilings.json"),
    ),
];

/// The record that bounds are computed with.
pub const RECORD: &str = RECORDS[0].0;

/// The ceilings of one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// The GPU's name.
    pub gpu: String,
    /// Its SMs.
    pub multiprocessors: u32,
    /// Their highest clock, in MHz: what turns clocks into seconds.
    pub sm_mhz: f64,
    /// cuBLAS, f16 with f32 sums, at 4096: TFLOP/s.
    pub cublas_tflops: f64,
    /// One for each resource.
    pub rates: Vec<Rate>,
}

/// The ceiling of one resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// `issue`, `fma`, `mma_sync`, `wgmma`, `shared`, `l2` or `dram`: the name of its kernel beside this file.
    pub name: String,
    /// What is counted.
    pub unit: String,
    /// So much of it a clock and SM, if all SMs ask.
    pub per_clock: f64,
    /// Where the figure is from.
    pub source: String,
}

impl Ceilings {
    /// Those that bounds are computed with.
    ///
    /// # Errors
    /// [`Error::Ceilings`] if the record cannot be read.
    pub fn recorded() -> Result<Self> {
        Self::parse(RECORDS[0])
    }

    /// Those of this GPU, by its name; none if it is not recorded.
    ///
    /// # Errors
    /// [`Error::Ceilings`] if a record cannot be read.
    pub fn of(gpu: &str) -> Result<Option<Self>> {
        let all = RECORDS.into_iter().map(Self::parse);
        let is_it = |one: &Result<Self>| one.as_ref().map_or(true, |one| one.gpu == gpu);
        all.into_iter().find(is_it).transpose()
    }

    fn parse((path, text): (&'static str, &str)) -> Result<Self> {
        let wrong = |why: String| Error::Ceilings(path, why);
        let ceilings: Self =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let all = ceilings.rates.iter().map(|rate| rate.per_clock);
        if ceilings.multiprocessors == 0
            || !all
                .chain([ceilings.sm_mhz, ceilings.cublas_tflops])
                .all(positive)
        {
            return Err(wrong("a figure is not above 0".into()));
        }
        Ok(ceilings)
    }

    /// What an SM does in a clock.
    ///
    /// # Errors
    /// [`Error::Ceilings`] if the record does not have it.
    pub fn per_clock(&self, name: &str) -> Result<f64> {
        let rate = self.rates.iter().find(|rate| rate.name == name);
        rate.map(|rate| rate.per_clock)
            .ok_or_else(|| Error::Ceilings(RECORD, format!("it has no `{name}`")))
    }

    /// All SMs together: so many of a thing a second, if each does `per_clock` of it a clock.
    pub fn per_second(&self, per_clock: f64) -> f64 {
        per_clock * f64::from(self.multiprocessors) * self.sm_mhz * 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_has_every_ceiling() {
        let ceilings = Ceilings::recorded().expect("a record");
        assert!(ceilings.rates.iter().all(|rate| !rate.source.is_empty()));
        // More than the hardware has would be a mistake in a kernel; a block's first clock is read when some of
        // its warps are already at work, hence a thousandth.
        for (name, most) in [
            ("issue", 4.0),
            ("fma", 128.0),
            ("shared", 1.0),
            ("wgmma", 4096.0),
        ] {
            let found = ceilings.per_clock(name).expect("it is there");
            assert!(found <= 1.001 * most, "{name}: {found}");
        }
    }

    #[test]
    fn a_record_that_is_none_is_named() {
        for (from, to, word) in [
            ("{", "", "ceilings.json"),
            (
                "\"multiprocessors\": 132",
                "\"multiprocessors\": 0",
                "above 0",
            ),
            ("\"l2\"", "\"l3\"", "no `l2`"),
        ] {
            let text = RECORDS[0].1.replacen(from, to, 1);
            let found =
                Ceilings::parse((RECORD, &text)).and_then(|ceilings| ceilings.per_clock("l2"));
            let error = found.expect_err("an error").to_string();
            assert!(error.contains(word), "{error}");
        }
        for wrong in [0.0, -1.0] {
            let mut ceilings = Ceilings::recorded().expect("a record");
            ceilings.rates[0].per_clock = wrong;
            let text = serde_json::to_string(&ceilings).expect("numbers");
            let error = Ceilings::parse((RECORD, &text))
                .expect_err("an error")
                .to_string();
            assert!(error.contains("above 0"), "{error}");
        }
    }
}
