//! Some neighboring words in each of several rows.
use super::Draft;
use crate::exam::access::{Op, WarpAccess};
use crate::exam::formula::{COL, LANE, ROW};
use crate::exam::random::SeededRandom;

/// The words that a lane loads for a tensor core.
pub fn fragment(draw: &mut SeededRandom) -> Draft {
    let run = draw.pick(&[2, 4, 4, 4, 8]);
    let pitch = draw.pick(&[32, 48, 64, 80, 96, 128, 136, 144, 160, 192, 256, 264, 272]);
    let runs = 32 / run;
    Draft {
        story: format!(
            "{runs} rows of {run} words, as a fragment is read from a tile with rows of {pitch} bytes"
        ),
        access: WarpAccess::new(Op::Load, 4, ROW * pitch + COL * 4).at([LANE / run, LANE % run]),
        reason: format!(
            "The {run} lanes with one `row` want neighboring words. Rows begin {} words apart: {}.",
            pitch / 4,
            meet(runs, run, pitch / 4)
        ),
    }
}

/// Loads rows and stores columns: each lane stores what it loaded along K.
pub fn transposed_store(draw: &mut SeededRandom) -> Draft {
    let runs = draw.pick(&[2, 4, 8, 16]);
    let brings = draw.pick(&[1, 2, 4]);
    let pitch = draw.pick(&[64, 66, 68, 72, 128, 129, 130, 132, 136]);
    let number = draw.below(brings);
    let run = 32 / runs;
    let row = match brings {
        1 => LANE % runs,
        _ => (LANE % runs) * brings + number,
    };
    let what = match brings {
        1 => "the one f32".into(),
        _ => format!("number {number} of the {brings} f32"),
    };
    Draft {
        story: format!("{what} of every lane, transposed, into a tile with rows of {pitch} f32"),
        access: WarpAccess::new(Op::Store, 4, (ROW * pitch + COL) * 4).at([row, LANE / runs]),
        reason: format!(
            "The {run} lanes with one `row` store neighboring words. The rows that are met begin {} words apart: {}.",
            brings * pitch,
            meet(runs, run, brings * pitch)
        ),
    }
}

/// Whether runs of this many banks overlap if each begins `step` words after the previous one.
fn meet(runs: u32, length: u32, step: u32) -> String {
    let first = (1..runs).find(|run| {
        let at = run * step % 32;
        at < length || at > 32 - length
    });
    let round = match step % 32 {
        0 => "whole turns around the banks".into(),
        banks => format!("{banks} banks further on"),
    };
    match first {
        None => format!("{round}, and no two of these runs of {length} banks touch"),
        Some(run) => format!("{round}, and run {run} of {length} banks is on banks of run 0"),
    }
}
