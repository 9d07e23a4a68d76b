//! Bulk copies: the source of each byte, elements outside the tensor, completion, and typical mistakes.
use crate::common;
mod loads;
mod pipeline;
mod reductions;
mod runs;
mod stores;
mod tiles;

use common::tma::{Tensor, matrix};
use common::{Outcome, Setup, threads};
use emulator::{FindingKind, Swizzle};

/// Thread 0 initializes `bars[0]` and issues a copy of the tile at COORDINATES; all threads wait.
const LOAD: &str = "@%p0 bra READY;
    mbarrier.init.shared::cta.b64 [%bar], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], BYTES;
    cp.async.bulk.tensor.RANKd.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%map, {COORDINATES}], [%bar];
    READY: bar.sync 0;
    W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bar], 0; @!%p1 bra W;";
/// Each thread copies words of the tile to the output.
const SHOW: &str = "mov.u32 %r0, 0;
    mad.lo.u32 %r1, %tid, 4, %s;
    NEXT: ld.shared.u32 %r2, [%r1];
    st.global.u32 [%at], %r2;
    add.u32 %r1, %r1, 128; add.u64 %at, %at, 128; add.u32 %r0, %r0, 32;
    setp.lt.u32 %p2, %r0, WORDS; @%p2 bra NEXT;";

const FENCE: &str = "fence.proxy.async.shared::cta;";

fn load(rank: usize, coordinates: &str, bytes: u32) -> String {
    LOAD.replace("RANK", &rank.to_string())
        .replace("COORDINATES", coordinates)
        .replace("BYTES", &bytes.to_string())
}

fn show(bytes: u32) -> String {
    SHOW.replace("WORDS", &(bytes / 4).to_string())
}

/// The 16-bit elements of the output.
fn elements(words: &[u32]) -> Vec<u16> {
    words
        .iter()
        .flat_map(|&word| [word as u16, (word >> 16) as u16])
        .collect()
}

/// A tensor of 40 rows of 100 elements, 112 apart, and a tile of it.
fn tensor(tile: &'static [u32; 2], swizzle: Swizzle) -> Tensor<'static> {
    matrix(&[100, 40], &[224], tile, swizzle)
}

fn setup(x: u32) -> Setup {
    Setup {
        words: 8192,
        ..threads(x)
    }
}

/// The findings' kinds, each with its line.
fn kinds(outcome: &Outcome) -> Vec<(String, u32)> {
    let name = |kind: &FindingKind| {
        let text = format!("{kind:?}");
        text.split([' ', '{', '('])
            .next()
            .unwrap_or_default()
            .to_string()
    };
    outcome
        .findings
        .iter()
        .map(|f| (name(&f.kind), f.location.ptx_line))
        .collect()
}

/// Whether a finding of this kind has one of its accesses at this line.
fn has(outcome: &Outcome, kind: &str, line: u32) -> bool {
    outcome
        .findings
        .iter()
        .zip(kinds(outcome))
        .any(|(f, (name, at))| {
            let other = match &f.kind {
                FindingKind::Race(race) => race.other.ptx_line,
                _ => at,
            };
            name == kind && (at == line || other == line)
        })
}
