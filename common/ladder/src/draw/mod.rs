//! Plots of a record as SVG.
//!
//! | file | what it draws |
//! | --- | --- |
//! | `clock` | predicted against measured clocks |
//! | `rungs` | every rung at one size, under the card's ceilings |
//! | `sizes` | the last rung by size, compared with cuBLAS |
//! | `panel` | axes, and names at the ends of lines |
//! | `sheet` | the frame of both: background, colors for light and dark, title, provenance |
//! | `spread` | labels that do not overlap |
mod clock;
mod panel;
mod rungs;
mod sheet;
mod sizes;
mod spread;

use harness::ceilings::Ceilings;

pub use clock::{Points, clock};
pub use rungs::rungs;
pub use sheet::Ink;
pub use sizes::sizes;

/// A level that no kernel exceeds.
struct Ceiling {
    name: &'static str,
    tflops: f64,
}

/// The ceilings of the GPU of this name, in TFLOP/s, for these resources of the record; empty for a GPU without
/// recorded ceilings.
fn ceilings(gpu: &str, names: &[&str]) -> anyhow::Result<(Vec<Ceiling>, Option<f64>)> {
    let Some(recorded) = Ceilings::of(gpu)? else {
        return Ok((Vec::new(), None));
    };
    // A multiply-add counts as two operations; the other ceilings are recorded in FLOP.
    let all = [
        ("FMA lanes", "fma", 2.0),
        ("mma.sync", "mma_sync", 1.0),
        ("wgmma", "wgmma", 1.0),
    ];
    let wanted = all.into_iter().filter(|(name, ..)| names.contains(name));
    let ceilings = wanted
        .map(|(name, rate, flop)| {
            let per_clock = flop * recorded.per_clock(rate)?;
            let tflops = recorded.per_second(per_clock) / 1e12;
            Ok(Ceiling { name, tflops })
        })
        .collect::<anyhow::Result<_>>()?;
    Ok((ceilings, Some(recorded.sm_mhz)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::record::for_tests::{bench, right, wrong};

    /// The bounding box of a text of a plot: left, right, top, bottom. `None` for rotated text.
    fn box_of(text: &str) -> Option<[f64; 4]> {
        let (tag, rest) = text.split_once('>')?;
        let (words, _) = rest.split_once("</text>")?;
        let attribute = |name: &str| tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next();
        let number = |name: &str| attribute(name)?.parse::<f64>().ok();
        if attribute("transform").is_some() {
            return None;
        }
        let (x, y, size) = (number("x")?, number("y")?, number("font-size")?);
        // The average character width of a proportional font.
        let width = 0.5 * size * words.trim().chars().count() as f64;
        let left = match attribute("text-anchor")? {
            "start" => x,
            "middle" => x - width / 2.0,
            _ => x - width,
        };
        let top = match attribute("dy")? {
            "0.76em" => y,
            "0.5ex" => y - size / 2.0,
            _ => y - size,
        };
        Some([left, left + width, top, top + size])
    }

    /// Fails if texts overlap or leave the sheet.
    fn assert_legible(svg: &str) {
        let boxes: Vec<_> = svg.split("<text").skip(1).filter_map(box_of).collect();
        assert!(boxes.len() > 10, "{svg}");
        for (index, a) in boxes.iter().enumerate() {
            assert!(
                a[0] >= 0.0 && a[1] <= f64::from(sheet::WIDTH) && a[2] >= 0.0,
                "{a:?}"
            );
            for b in &boxes[index + 1..] {
                let apart = a[1] <= b[0] || b[1] <= a[0] || a[3] <= b[2] || b[3] <= a[2];
                assert!(apart, "{a:?} and {b:?} overlap in\n{svg}");
            }
        }
    }

    /// Two architectures of the last rung, both `speed` times as fast as cuBLAS, at all sizes.
    fn record(speed: f64) -> Record {
        let sizes = || {
            let sizes = [512, 1024, 2048, 4096, 8192, 16384];
            let run = |n: u32| {
                // 700 TFLOP/s.
                let cublas = 2.0 * f64::from(n).powi(3) / 700e6;
                right(&format!("{n}x{n}x{n}"), "", [cublas / speed, cublas])
            };
            sizes.map(run).to_vec()
        };
        let rungs = [
            "01_naive",
            "02_smem",
            "03_padded",
            "04_mma",
            "05_swizzle",
            "06_pipeline sm_80",
            "06_pipeline sm_90a",
        ];
        Record::new(rungs.map(|rung| bench(rung, sizes())).to_vec()).expect("a record")
    }

    #[test]
    fn labels_do_not_overlap_however_fast_the_rungs_are() {
        for speed in [0.005, 0.3, 0.97, 1.0, 1.04, 1.5] {
            let record = record(speed);
            assert_legible(&rungs(&record).expect("a plot").expect("a size"));
            assert_legible(&sizes(&record).expect("a plot").expect("sizes"));
        }
    }

    #[test]
    fn plots_say_what_they_show_in_words() {
        let record = record(0.5);
        for svg in [rungs(&record), sizes(&record)] {
            let svg = svg.expect("a plot").expect("sizes");
            assert!(svg.contains("role=\"img\"") && svg.contains("<title>"));
            assert!(
                svg.contains("50.0% of cuBLAS") || svg.contains("50.0% at 16384"),
                "{svg}"
            );
            assert!(svg.contains("1980 MHz") && svg.contains("commit abc1234, 2026-11-21"));
            assert!(svg.contains("wgmma, 1070") && svg.contains("mma.sync, 692"));
        }
    }

    #[test]
    fn a_wrong_rung_is_labeled_wrong() {
        let naive = bench("01_naive", vec![right("64x64x64", "", [1.0, 1.0])]);
        let smem = bench("02_smem", vec![wrong("64x64x64")]);
        let record = Record::new(vec![naive, smem]).expect("a record");
        let svg = rungs(&record).expect("a plot").expect("a size");
        assert!(
            svg.contains("WRONG") && svg.contains("02_smem: a wrong C"),
            "{svg}"
        );
        assert_eq!(sizes(&record).expect("no plot"), None);
    }

    #[test]
    fn another_card_has_no_ceilings() {
        let (of_another, mhz) = ceilings("NVIDIA A100", &["wgmma"]).expect("a record of ceilings");
        assert!(of_another.is_empty() && mhz.is_none());
    }
}
