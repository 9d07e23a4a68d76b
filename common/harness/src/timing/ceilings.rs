//! The peak rate of each resource of an SM, per clock: the ceilings for a kernel's bound.
//!
//! `cargo ladder ceilings` measures them (`measure`), with a short kernel for each resource beside this file. The
//! records of an H200 and of an H100 are committed under results/, and [`Ceilings`] reads only those: no ceiling is
//! defined anywhere else.
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The records: path in the workspace and text.
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
    /// Number of SMs.
    pub multiprocessors: u32,
    /// The highest SM clock in MHz, which converts clocks to seconds.
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
    /// The unit.
    pub unit: String,
    /// The rate per clock and SM, with all SMs active.
    pub per_clock: f64,
    /// The source of the number.
    pub source: String,
}

impl Ceilings {
    /// The ceilings that bounds are computed with.
    ///
    /// # Errors
    /// [`Error::Ceilings`] if the record cannot be read.
    pub fn recorded() -> Result<Self> {
        Self::parse(RECORDS[0])
    }

    /// The ceilings of a GPU by its name; none if it is not recorded.
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

    /// The rate of a resource, per clock and SM.
    ///
    /// # Errors
    /// [`Error::Ceilings`] if the record does not have the resource.
    pub fn per_clock(&self, name: &str) -> Result<f64> {
        let rate = self.rates.iter().find(|rate| rate.name == name);
        rate.map(|rate| rate.per_clock)
            .ok_or_else(|| Error::Ceilings(RECORD, format!("it has no `{name}`")))
    }

    /// The rate of all SMs per second, if each has the rate `per_clock`.
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
        // More than the hardware has would be a mistake in a kernel. The margin of a thousandth is needed because a
        // block reads its first clock when some of its warps have already begun.
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
    fn an_invalid_record_is_named() {
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
