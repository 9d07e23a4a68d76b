//! `mma_*.bin` and `wgmma_*.bin`: what tensor cores computed.
//!
//! A record is A 16x16 u16 row-major, B 16x8 u16 (k, n), C 16x8 f32 and D 16x8 f32, as little-endian bits;
//! m16n8k8 uses k < 8. A record of `wgmma` is one warp's 16 of the 64 rows.
use super::{
    CalibrateError, Comparison, Difference, Experiment, Hardware, RecordError, Recording, all,
    is_named, on,
};
use crate::Card;
use std::slice::ChunksExact;

pub(super) const RECORD: usize = 1792;
/// Where B, C and D start in a record.
const B: usize = 512;
const C: usize = 768;
const D: usize = 1280;
/// Bytes of D.
const OUTPUT: usize = RECORD - D;
/// Columns of C and D.
const N: usize = 8;

/// A shape and a type that the files are named after.
#[derive(Clone, Copy)]
pub(super) struct Mma {
    name: &'static str,
    k: u32,
    factor: &'static str,
}

/// All that there are.
pub(super) const SHAPES: [Mma; 6] = [
    Mma::new("mma_m16n8k8_f16", 8, "f16"),
    Mma::new("mma_m16n8k8_bf16", 8, "bf16"),
    Mma::new("mma_m16n8k16_f16", 16, "f16"),
    Mma::new("mma_m16n8k16_bf16", 16, "bf16"),
    Mma::new("wgmma_m64n8k16_f16", 16, "f16"),
    Mma::new("wgmma_m64n8k16_bf16", 16, "bf16"),
];

pub(super) fn kind(stem: &str) -> Option<Box<dyn Recording>> {
    let mma = SHAPES.into_iter().find(|mma| is_named(stem, mma.name))?;
    Some(Box::new(mma))
}

impl Mma {
    const fn new(name: &'static str, k: u32, factor: &'static str) -> Self {
        Self { name, k, factor }
    }

    fn is_wgmma(self) -> bool {
        self.name.starts_with("wgmma")
    }

    pub(super) fn name(self) -> &'static str {
        self.name
    }

    /// `f16` or `bf16`.
    pub(super) fn factor(self) -> &'static str {
        self.factor
    }

    /// D of each of these records, in their order.
    pub(super) fn experiment(self, records: &[u8]) -> Experiment {
        match self.is_wgmma() {
            true => self.with_wgmma(records),
            false => self.with_mma(records),
        }
    }

    /// A warp for each record: it loads its fragments, multiplies, and stores D.
    fn with_mma(self, records: &[u8]) -> Experiment {
        let (k, factor) = (self.k, self.factor);
        let (a, b) = match k {
            8 => ("{%a0, %a1}", "{%b0}"),
            _ => ("{%a0, %a1, %a2, %a3}", "{%b0, %b1}"),
        };
        let body = format!(
            "{}.reg .b32 %b<2>;\n.reg .b16 %h<4>;\n\
             mad.wide.u32 %at, %t, 32, %in;\n\
             mad.wide.u32 %at, %g, 2, %at;\n\
             ld.global.u16 %h0, [%at+{B}];\n\
             ld.global.u16 %h1, [%at+{b1}];\n\
             ld.global.u16 %h2, [%at+{b8}];\n\
             ld.global.u16 %h3, [%at+{b9}];\n\
             mov.b32 %b0, {{%h0, %h1}};\n\
             mov.b32 %b1, {{%h2, %h3}};\n\
             mma.sync.aligned.m16n8k{k}.row.col.f32.{factor}.{factor}.f32 {SUMS}, {a}, {b}, {SUMS};\n\
             {}",
            load_a_and_c(),
            store_d(""),
            b1 = B + 16,
            b8 = B + 128,
            b9 = B + 144,
        );
        experiment(records, 32, Experiment::module("", &body))
    }

    /// A warpgroup for each record: A from registers, the same 16 rows in each warp; B in shared memory, without
    /// a swizzle, as two core matrices of 8 columns x 8 k, each column 16 bytes (PTX ISA, "Asynchronous Warpgroup
    /// Level Matrix Shared Memory Layout"). The first warp stores D.
    fn with_wgmma(self, records: &[u8]) -> Experiment {
        // A descriptor counts in units of 16 bytes: 128 bytes from one core matrix to the next along k, at bit 16;
        // 256 to the next 8 columns, at bit 32, of which there are none.
        let strides: u64 = ((128 / 16) << 16) | ((256 / 16) << 32);
        let factor = self.factor;
        let body = format!(
            "{}.reg .b32 %k, %n, %to, %tile;\n.reg .b16 %h;\n.reg .b64 %descriptor;\n.reg .pred %first, %add;\n\
             mov.u32 %k, %tid.x;\n\
             mad.wide.u32 %at, %k, 2, %in;\n\
             ld.global.u16 %h, [%at+{B}];\n\
             and.b32 %n, %k, 7;\n\
             shr.u32 %k, %k, 3;\n\
             mov.u32 %tile, tile;\n\
             mad.lo.u32 %to, %n, 16, %tile;\n\
             shr.u32 %n, %k, 3;\n\
             mad.lo.u32 %to, %n, 128, %to;\n\
             and.b32 %k, %k, 7;\n\
             mad.lo.u32 %to, %k, 2, %to;\n\
             st.shared.u16 [%to], %h;\n\
             fence.proxy.async.shared::cta;\n\
             bar.sync 0;\n\
             shr.u32 %tile, %tile, 4;\n\
             and.b32 %tile, %tile, 16383;\n\
             cvt.u64.u32 %descriptor, %tile;\n\
             or.b64 %descriptor, %descriptor, {strides};\n\
             setp.eq.u32 %add, 0, 0;\n\
             wgmma.fence.sync.aligned;\n\
             wgmma.mma_async.sync.aligned.m64n8k16.f32.{factor}.{factor} {SUMS}, {{%a0, %a1, %a2, %a3}}, \
             %descriptor, %add, 1, 1, 0;\n\
             wgmma.commit_group.sync.aligned;\n\
             wgmma.wait_group.sync.aligned 0;\n\
             mov.u32 %k, %tid.x;\n\
             setp.lt.u32 %first, %k, 32;\n\
             {}",
            load_a_and_c(),
            store_d("@%first "),
        );
        let tile = ".shared .align 128 .b8 tile[256];\n";
        experiment(records, 128, Experiment::module_for("sm_90a", tile, &body))
    }
}

/// The registers of C, then of D.
const SUMS: &str = "{%c0, %c1, %c2, %c3}";

/// A block for each record. Which lane holds what is in the PTX ISA, "Matrix Fragments for mma.m16n8k8" and
/// "... mma.m16n8k16": lane 4 g + t has rows g and g + 8 of A and C, and columns from 2 t.
fn load_a_and_c() -> String {
    format!(
        ".reg .b32 %lane, %g, %t, %byte, %record, %a<4>;\n.reg .f32 %c<4>;\n.reg .b64 %at;\n\
         mov.u32 %lane, %laneid;\n\
         shr.u32 %g, %lane, 2;\n\
         and.b32 %t, %lane, 3;\n\
         mov.u32 %record, %ctaid.x;\n\
         mad.wide.u32 %in, %record, {RECORD}, %in;\n\
         mad.wide.u32 %out, %record, {OUTPUT}, %out;\n\
         mad.wide.u32 %at, %g, 32, %in;\n\
         mad.wide.u32 %at, %t, 4, %at;\n\
         ld.global.u32 %a0, [%at];\n\
         ld.global.u32 %a1, [%at+256];\n\
         ld.global.u32 %a2, [%at+16];\n\
         ld.global.u32 %a3, [%at+272];\n\
         shl.b32 %byte, %g, 5;\n\
         mad.lo.u32 %byte, %t, 8, %byte;\n\
         cvt.u64.u32 %at, %byte;\n\
         add.u64 %out, %out, %at;\n\
         add.u64 %at, %at, %in;\n\
         ld.global.v2.f32 {{%c0, %c1}}, [%at+{C}];\n\
         ld.global.v2.f32 {{%c2, %c3}}, [%at+{c8}];\n",
        c8 = C + 256,
    )
}

fn store_d(guard: &str) -> String {
    format!(
        "{guard}st.global.v2.f32 [%out], {{%c0, %c1}};\n\
         {guard}st.global.v2.f32 [%out+256], {{%c2, %c3}};\n"
    )
}

fn experiment(records: &[u8], threads: u32, ptx: String) -> Experiment {
    let count = records.len() / RECORD;
    Experiment {
        ptx,
        blocks: u32::try_from(count).unwrap_or(u32::MAX),
        threads,
        dynamic_shared: 0,
        input: records.to_vec(),
        output_bytes: count * OUTPUT,
        tensor: None,
    }
}

/// The records of a file.
fn records(bytes: &[u8]) -> Result<ChunksExact<'_, u8>, CalibrateError> {
    let records = bytes.chunks_exact(RECORD);
    if !records.remainder().is_empty() {
        return Err(CalibrateError::CutOff {
            record: records.len(),
            bytes: bytes.len(),
            record_bytes: RECORD,
        });
    }
    if records.len() == 0 {
        return Err(CalibrateError::Empty("records"));
    }
    Ok(records)
}

impl Recording for Mma {
    fn compare(&self, bytes: &[u8], card: Card) -> Result<Comparison, CalibrateError> {
        let records = records(bytes)?;
        let observed = self.experiment(bytes).on_emulator(&on(card))?;
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

    fn experiments(&self, bytes: &[u8]) -> Result<Vec<Experiment>, CalibrateError> {
        records(bytes).map(|_| vec![self.experiment(bytes)])
    }

    fn record(&self, bytes: &[u8], hardware: &mut dyn Hardware) -> Result<Vec<u8>, RecordError> {
        let experiments = self.experiments(bytes)?;
        let outputs = hardware.outputs(&experiments);
        let outputs = all(outputs.map_err(RecordError::Hardware)?, experiments.len())?;
        let records = bytes.chunks_exact(RECORD);
        let results = outputs
            .iter()
            .flat_map(|output| output.chunks_exact(OUTPUT));
        let pairs = records.zip(all(results.collect(), bytes.len() / RECORD)?);
        Ok(pairs
            .flat_map(|(record, d)| record[..D].iter().chain(d).copied())
            .collect())
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}
