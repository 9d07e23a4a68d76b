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

    /// An H200 with some constants replaced, for what-if questions: `latency.dram` = 900 clocks.
    ///
    /// # Errors
    /// If a constant does not exist.
    pub fn h200_with(constants: &[(String, f64)]) -> Result<Self, toml::de::Error> {
        let mut card: toml::Table = toml::from_str(H200)?;
        for (name, value) in constants {
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
        card.try_into()
    }
}

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
