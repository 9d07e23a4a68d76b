//! `mma_*.bin` and `wgmma_*.bin`: results of tensor cores.
//!
//! A record is A 16x16 u16 row-major, B 16x8 u16 (k, n), C 16x8 f32 and D 16x8 f32, as little-endian bits;
//! m16n8k8 uses k < 8. A record of `wgmma` is one warp's 16 of the 64 rows.
use std::slice::ChunksExact;

use anyhow::{Result, ensure};
use emulator::Card;
use harness::TableError;

use super::{Comparison, Difference, Experiment, Recorder, Recording, check_count, options, words};

pub(super) const RECORD: usize = 1792;
/// Offset of D in a record.
const D: usize = 1280;
/// Bytes of D.
const OUTPUT: usize = RECORD - D;
/// Columns of C and D.
const N: usize = 8;

/// A shape and a type; the files are named after them.
#[derive(Clone, Copy)]
pub(super) struct Mma {
    pub name: &'static str,
    k: u32,
    /// `f16` or `bf16`.
    pub factor: &'static str,
}

/// All of them.
pub(super) const SHAPES: [Mma; 6] = [
    Mma::new("mma_m16n8k8_f16", 8, "f16"),
    Mma::new("mma_m16n8k8_bf16", 8, "bf16"),
    Mma::new("mma_m16n8k16_f16", 16, "f16"),
    Mma::new("mma_m16n8k16_bf16", 16, "bf16"),
    Mma::new("wgmma_m64n8k16_f16", 16, "f16"),
    Mma::new("wgmma_m64n8k16_bf16", 16, "bf16"),
];

impl Mma {
    const fn new(name: &'static str, k: u32, factor: &'static str) -> Self {
        Self { name, k, factor }
    }

    /// Computes D for each of these records, in order.
    pub(super) fn experiment(self, records: &[u8]) -> Experiment {
        let (text, threads) = match self.name.starts_with("wgmma") {
            true => (include_str!("wgmma.ptx"), 128),
            false => (include_str!("mma.ptx"), 32),
        };
        let (a, b) = match self.k {
            8 => ("{%a0, %a1}", "{%b0}"),
            _ => ("{%a0, %a1, %a2, %a3}", "{%b0, %b1}"),
        };
        let count = records.len() / RECORD;
        Experiment {
            ptx: text
                .replace("$K", &self.k.to_string())
                .replace("$FACTOR", self.factor)
                .replace("$A", a)
                .replace("$B", b),
            blocks: u32::try_from(count).unwrap_or(u32::MAX),
            threads,
            dynamic_shared: 0,
            input: records.to_vec(),
            output_bytes: count * OUTPUT,
            tensor: None,
        }
    }
}

/// The records of a file.
fn records(bytes: &[u8]) -> Result<ChunksExact<'_, u8>> {
    let records = bytes.chunks_exact(RECORD);
    ensure!(
        records.remainder().is_empty(),
        "record {} is truncated: {} bytes are not a multiple of a record's {RECORD}",
        records.len(),
        bytes.len()
    );
    ensure!(records.len() > 0, TableError::Empty("records"));
    Ok(records)
}

impl Recording for Mma {
    fn compare(&self, bytes: &[u8], card: Card) -> Result<Comparison> {
        let records = records(bytes)?;
        let observed = self.experiment(bytes).on_emulator(&options(card))?;
        let pairs = records.clone().zip(observed.output.chunks_exact(OUTPUT));
        let differences = pairs.enumerate().filter_map(|(record, (recorded, found))| {
            let outputs = words(&recorded[D..]).zip(words(found)).enumerate();
            let mut wrong = outputs.filter(|(_, (expected, found))| expected != found);
            let (at, (expected, found)) = wrong.next()?;
            Some(Difference {
                place: format!("record {record}"),
                what: format!(
                    "D[{}][{}], the first of {} outputs that differ",
                    at / N,
                    at % N,
                    1 + wrong.count()
                ),
                expected: format!("{expected:#010x}"),
                found: format!("{found:#010x}"),
            })
        });
        Ok(Comparison {
            unit: "records",
            all: records.len(),
            differences: differences.collect(),
        })
    }

    fn experiments(&self, bytes: &[u8]) -> Result<Vec<Experiment>> {
        records(bytes).map(|_| vec![self.experiment(bytes)])
    }

    fn record(&self, bytes: &[u8], recorder: &mut dyn Recorder) -> Result<Vec<u8>> {
        let records = records(bytes)?;
        let output = recorder.output(&self.experiment(bytes))?;
        check_count(output.len() / OUTPUT, records.len())?;
        let pairs = records.zip(output.chunks_exact(OUTPUT));
        Ok(pairs
            .flat_map(|(record, d)| record[..D].iter().chain(d).copied())
            .collect())
    }
}
