//! A row a rung: what was predicted, what was counted on both sides, and the time.
use harness::{Size, thousands};

use super::Line;
use crate::calibrate::Counts;
use crate::table::{head, markdown_table};

/// Counters are those of loads and stores at [`crate::calibrate::SIZE_OF_COUNTERS`], emulated first; the rest is at the
/// size of the bound.
pub fn table(lines: &[Line], counted: &[Option<[Counts; 2]>]) -> String {
    let mut rows = vec![head(&[
        "rung",
        "limited by",
        "TFLOP/s at most",
        "measured",
        "time",
        "shared wavefronts, emulated",
        "on the H100",
        "global sectors, emulated",
        "on the H100",
    ])];
    for (line, counted) in lines.iter().zip(counted) {
        let tflops = line.measured.map(|(tflops, _)| tflops);
        let size = line.size.parse::<Size>().ok();
        let time = tflops.zip(size).map(|(tflops, size)| {
            // A product and a sum for each of M, N and K.
            let flop = 2.0
                * [size.m, size.n, size.k]
                    .map(f64::from)
                    .iter()
                    .product::<f64>();
            time(flop / (tflops * 1e12))
        });
        let mut row = vec![
            line.rung.clone(),
            line.limited_by.clone(),
            format!("{:.1}", line.predicted.0),
            tflops.map_or(String::new(), |tflops| format!("{tflops:.1}")),
            time.unwrap_or_default(),
        ];
        let columns: [fn(&Counts) -> u64; 2] =
            [|counts| counts.wavefronts, |counts| counts.sectors];
        for column in columns {
            for side in 0..2 {
                let counts = counted.as_ref().map(|sides| column(&sides[side]));
                row.push(counts.map_or(String::new(), thousands));
            }
        }
        rows.push(row);
    }
    markdown_table(&rows)
}

fn time(seconds: f64) -> String {
    match seconds {
        ms if ms >= 1e-3 => format!("{:.2} ms", ms * 1e3),
        us if us >= 1e-6 => format!("{:.1} us", us * 1e6),
        ns => format!("{:.0} ns", ns * 1e9),
    }
}
