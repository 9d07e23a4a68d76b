//! The constants of a card; each card has a file in `cards/`.
use serde::{Deserialize, Serialize};

/// How fast each part of an SM is, in clocks. The comments of `cards/*.toml` name the source of each number.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The name that the driver reports.
    pub name: String,
    /// Number of SMs.
    pub sms: u32,
    /// SM clock in MHz when nothing throttles it.
    pub mhz: f64,
    /// Clocks between two warp instructions of the same pipe.
    pub interval: Interval,
    /// Clocks from an instruction's issue to its result.
    pub latency: Latency,
    /// Bytes per clock and SM.
    pub bytes: Bytes,
    /// Sizes of queues and caches.
    pub queue: Queue,
    /// What does not follow the clock of the SMs.
    pub memory: OwnClock,
}

/// L2 and DRAM have clocks of their own.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each is explained in cards/*.toml")]
pub struct OwnClock {
    pub l2_ns: f64,
    pub dram_ns: f64,
}

/// Clocks between two warp instructions of a sub-partition's pipe; for tensor cores, FLOP per clock.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each is explained in cards/*.toml")]
pub struct Interval {
    pub fma: f64,
    pub alu: f64,
    pub imad: f64,
    pub imad_wide: f64,
    pub half: f64,
    pub double: f64,
    pub uniform: f64,
    pub special: f64,
    pub convert: f64,
    pub mma_flop: f64,
    pub wgmma_flop: f64,
    pub shuffle: f64,
    pub mbarrier_arrive: f64,
}

/// Clocks from issue to result.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each is explained in cards/*.toml")]
pub struct Latency {
    pub fixed: f64,
    pub special: f64,
    pub constant: f64,
    pub shared: f64,
    pub shared_wavefront: f64,
    pub l1: f64,
    pub l2: f64,
    pub dram: f64,
    pub tma: f64,
    pub mma: f64,
    pub wgmma_drain: f64,
    pub barrier: f64,
    pub barrier_warp: f64,
    pub mbarrier: f64,
    pub mbarrier_arrive: f64,
    pub mbarrier_test: f64,
    pub mbarrier_remote: f64,
    pub cluster_barrier: f64,
    pub membar_cta: f64,
    pub membar_gpu: f64,
    pub proxy_fence: f64,
    pub launch: f64,
    pub cta: f64,
    pub start: f64,
}

/// Bytes per clock and SM.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each is explained in cards/*.toml")]
pub struct Bytes {
    pub l2_port: f64,
    pub l2_port_copy: f64,
    pub l2_own: f64,
    pub tma: f64,
    pub dram: f64,
    pub store: f64,
}

/// Sizes of queues and caches.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each is explained in cards/*.toml")]
pub struct Queue {
    pub memory_instructions: f64,
    pub copy_passes: f64,
    pub l1_bytes: u32,
    pub l2_bytes: f64,
    pub gpcs: f64,
}

impl Card {
    /// Parses a card's file.
    ///
    /// # Errors
    /// If it is not TOML, a constant is missing, or the model does not know one of them.
    pub fn of_toml(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// An H200: the SMs of an H100 with faster memory.
    ///
    /// # Errors
    /// If the built-in file is wrong; a test holds that it is not.
    pub fn h200() -> Result<Self, toml::de::Error> {
        Self::of_toml(H200)
    }

    /// The GPC of the SM that gets the launch's CTA of this number: GPCs are filled one after the other, each with neighbours
    /// (microbenchmarks `tma/neighbours` and `tma/strided`).
    pub fn gpc(&self, sm: u32) -> u32 {
        (f64::from(sm) * self.queue.gpcs / f64::from(self.sms)) as u32
    }

    /// The same card with its SMs at another clock, as a card at its power limit chooses it: the same nanoseconds of L2 and DRAM
    /// are fewer clocks of an SM then, and they deliver as many bytes in each.
    #[must_use]
    pub fn at(mut self, mhz: f64) -> Self {
        let faster = self.mhz / mhz;
        let fewer = (self.mhz - mhz) / 1e3;
        let Self {
            latency,
            bytes,
            memory,
            ..
        } = &mut self;
        for to_the_l2 in [&mut latency.l2, &mut latency.tma, &mut latency.membar_gpu] {
            *to_the_l2 -= memory.l2_ns * fewer;
        }
        latency.dram -= memory.dram_ns * fewer;
        for rate in [&mut bytes.l2_own, &mut bytes.dram, &mut bytes.store] {
            *rate *= faster;
        }
        self.mhz = mhz;
        self
    }

    /// An H200 with other constants, such as `latency.dram` of 900 clocks: what would be, if. With another `mhz` it is the card
    /// [`at`](Self::at) that clock.
    ///
    /// # Errors
    /// If there is no such constant, or the clock is none that a GPU has.
    pub fn h200_with(constants: &[(String, f64)]) -> Result<Self, toml::de::Error> {
        let mut card: toml::Table = toml::from_str(H200)?;
        let is_clock = |name: &str| name == "mhz";
        let others = constants.iter().filter(|(name, _)| !is_clock(name));
        for (name, value) in others {
            let (table, key) = name.split_once('.').unwrap_or(("", name));
            let table = match table {
                "" => Some(&mut card),
                table => card.get_mut(table).and_then(toml::Value::as_table_mut),
            };
            let found = table.and_then(|table| table.get_mut(key));
            let no_constant = || {
                let of = "a table of the card and one of its numbers, such as latency.dram";
                serde::de::Error::custom(format!("there is no constant {name}: name {of}"))
            };
            *found
                .filter(|found| found.is_float())
                .ok_or_else(no_constant)? = (*value).into();
        }
        let card: Self = card.try_into()?;
        let mhz = constants.iter().rfind(|(name, _)| is_clock(name));
        let mhz = mhz.map_or(card.mhz, |(_, mhz)| *mhz);
        if !MHZ.contains(&mhz) {
            let (from, to) = (MHZ.start(), MHZ.end());
            let why = format!("mhz={mhz} is no clock of an SM: it is from {from} to {to} MHz");
            return Err(serde::de::Error::custom(why));
        }
        Ok(card.at(mhz))
    }
}

/// Clocks of an SM that a card may choose.
const MHZ: std::ops::RangeInclusive<f64> = 200.0..=3000.0;

/// The constants of an H200.
const H200: &str = include_str!("../cards/h200.toml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cards_are_read() {
        let card = Card::h200().expect("the file that was compiled in");
        assert_eq!((card.sms, card.name.as_str()), (132, "NVIDIA H200"));
    }

    #[test]
    fn memory_keeps_its_own_clock() {
        let card = Card::h200().expect("the file that was compiled in");
        assert_eq!(card.clone().at(card.mhz), card);
        let slow = Card::h200_with(&[("mhz".into(), 990.0)]).expect("a clock");
        // Half the clock: twice the bytes in each, and 72 of an L2 load's nanoseconds are 71 clocks fewer.
        assert_eq!(slow.bytes.l2_own, 2.0 * card.bytes.l2_own);
        assert!((card.latency.l2 - slow.latency.l2 - 71.28).abs() < 1e-9);
        assert_eq!(slow.latency.l1, card.latency.l1);
        for mhz in [0.0, 199.0, 3001.0] {
            let error = Card::h200_with(&[("mhz".into(), mhz)]).expect_err("no clock");
            assert!(error.to_string().contains("no clock of an SM"), "{error}");
        }
    }

    #[test]
    fn gpcs_are_filled_one_after_the_other() {
        let card = Card::h200().expect("the file that was compiled in");
        let of = |sms: [u32; 5]| sms.map(|sm| card.gpc(sm));
        assert_eq!(of([0, 16, 17, 66, 131]), [0, 0, 1, 4, 7]);
    }

    #[test]
    fn constants_are_replaced() {
        let with = |name: &str| Card::h200_with(&[(name.into(), 900.0)]);
        let card = Card::h200().expect("the file that was compiled in");
        let slower = with("latency.dram").expect("a constant");
        assert_eq!(slower.latency.dram, 900.0);
        let back = Latency {
            dram: card.latency.dram,
            ..slower.latency
        };
        assert_eq!(back, card.latency);
        for name in ["dram", "latency", "latency.none", "none.dram", "name", ""] {
            assert!(
                with(name).is_err_and(|why| why.to_string().contains("no constant")),
                "{name}"
            );
        }
    }
}
