//! `mma_*.bin` and `wgmma_*.bin`: what tensor cores computed.
//!
//! A record is A 16x16 u16 row-major, B 16x8 u16 (k, n), C 16x8 f32 and D 16x8 f32, as little-endian bits;
//! m16n8k8 uses k < 8. A record of `wgmma` is one warp's 16 of the 64 rows. Each of its outputs is computed as
//! `mma.sync` m16n8k16 computes it, so both are executed as that.
use super::{CalibrateError, Compare, Comparison, Difference, Experiment, is_named};
use crate::Options;

const RECORD: usize = 1792;
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
struct Mma {
    name: &'static str,
    k: u32,
    factor: &'static str,
}

const SHAPES: [Mma; 6] = [
    Mma::new("mma_m16n8k8_f16", 8, "f16"),
    Mma::new("mma_m16n8k8_bf16", 8, "bf16"),
    Mma::new("mma_m16n8k16_f16", 16, "f16"),
    Mma::new("mma_m16n8k16_bf16", 16, "bf16"),
    Mma::new("wgmma_m64n8k16_f16", 16, "f16"),
    Mma::new("wgmma_m64n8k16_bf16", 16, "bf16"),
];

pub(super) fn kind(stem: &str) -> Option<Compare> {
    let mma = SHAPES.into_iter().find(|mma| is_named(stem, mma.name))?;
    Some(Box::new(move |bytes| mma.compare(bytes)))
}

impl Mma {
    const fn new(name: &'static str, k: u32, factor: &'static str) -> Self {
        Self { name, k, factor }
    }

    fn compare(self, bytes: &[u8]) -> Result<Comparison, CalibrateError> {
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
        let observed = self.experiment(bytes).on_emulator(&Options::default())?;
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

    /// A warp for each record: it loads its fragments, multiplies, and stores D. Which lane holds what is
    /// in the PTX ISA, "Matrix Fragments for mma.m16n8k8" and "... mma.m16n8k16".
    fn experiment(self, records: &[u8]) -> Experiment {
        let (k, factor) = (self.k, self.factor);
        let (a, b) = match k {
            8 => ("{%a0, %a1}", "{%b0}"),
            _ => ("{%a0, %a1, %a2, %a3}", "{%b0, %b1}"),
        };
        // Lane 4 g + t: rows g and g + 8 of A and C, column g of B; columns of A and rows of B from 2 t.
        let body = format!(
            ".reg .b32 %lane, %g, %t, %byte, %record, %a<4>, %b<2>;\n\
             .reg .b16 %h<4>;\n.reg .f32 %c<4>, %d<4>;\n.reg .b64 %at;\n\
             mov.u32 %lane, %tid.x;\n\
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
             mad.wide.u32 %at, %t, 32, %in;\n\
             mad.wide.u32 %at, %g, 2, %at;\n\
             ld.global.u16 %h0, [%at+{B}];\n\
             ld.global.u16 %h1, [%at+{b1}];\n\
             ld.global.u16 %h2, [%at+{b8}];\n\
             ld.global.u16 %h3, [%at+{b9}];\n\
             mov.b32 %b0, {{%h0, %h1}};\n\
             mov.b32 %b1, {{%h2, %h3}};\n\
             shl.b32 %byte, %g, 5;\n\
             mad.lo.u32 %byte, %t, 8, %byte;\n\
             cvt.u64.u32 %at, %byte;\n\
             add.u64 %in, %in, %at;\n\
             add.u64 %out, %out, %at;\n\
             ld.global.v2.f32 {{%c0, %c1}}, [%in+{C}];\n\
             ld.global.v2.f32 {{%c2, %c3}}, [%in+{c8}];\n\
             mma.sync.aligned.m16n8k{k}.row.col.f32.{factor}.{factor}.f32 {{%d0, %d1, %d2, %d3}}, {a}, {b}, \
             {{%c0, %c1, %c2, %c3}};\n\
             st.global.v2.f32 [%out], {{%d0, %d1}};\n\
             st.global.v2.f32 [%out+256], {{%d2, %d3}};\n",
            b1 = B + 16,
            b8 = B + 128,
            b9 = B + 144,
            c8 = C + 256,
        );
        let count = records.len() / RECORD;
        Experiment {
            ptx: Experiment::module("", &body),
            blocks: u32::try_from(count).unwrap_or(u32::MAX),
            threads: 32,
            dynamic_shared: 0,
            input: records.to_vec(),
            output_bytes: count * OUTPUT,
        }
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}
