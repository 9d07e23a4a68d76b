//! The last rung by size: TFLOP/s compared with cuBLAS, and percent of it.
use std::ops::Range;

use plotters::coord::types::RangedCoordf64;
use plotters::style::text_anchor::{HPos, VPos};

use super::panel::{Axis, Panel, SIZE, ends};
use super::sheet::{self, Area, Ink, Words, clocks, provenance};
use super::spread::spread;
use super::{Ceiling, ceilings};
use crate::record::{Bench, CUBLAS, Record, Run, is_square};
use harness::CUBLAS_LT;
use harness::table::percent;

const HEIGHT: u32 = 718;
/// Height of the upper of the two panels, and of the sizes' labels in the lower one.
const UPPER: u32 = 300;
const NAMES: u32 = 48;

type Points = Vec<(f64, f64)>;

/// A rung's kernels for one architecture, over the sizes.
struct Series<'a> {
    label: &'a str,
    ink: Ink,
    /// Runs by log2 of the size.
    runs: Vec<(f64, &'a Run)>,
}

/// The plot; `None` if no square size of the last rung was timed.
pub fn sizes(record: &Record) -> anyhow::Result<Option<String>> {
    let Some(rung) = record.last_rung() else {
        return Ok(None);
    };
    let series = series(record, rung);
    let runs = series.iter().flat_map(|one| &one.runs);
    let Some((least, most)) = ends(runs.clone().map(|(place, _)| place.max(0.1))) else {
        return Ok(None);
    };
    let first = runs.clone().next();
    let gpu = first.map_or("", |(_, run)| &run.provenance.gpu.name);
    let (ceilings, mhz) = ceilings(gpu, &["mma.sync", "wgmma"])?;
    let said: Vec<String> = series.iter().map(said).collect();
    let mut foot = clocks(mhz, runs.clone().map(|(_, run)| *run));
    if let Some(newest) = series.last() {
        let label = newest.label;
        let above = format!("cuBLAS and cuBLASLt above: interleaved with {label}.");
        foot.insert(0, above);
    }
    foot.push(provenance(record));
    let words = Words {
        title: format!("{rung} by size: TFLOP/s, and percent of cuBLAS"),
        description: said.join(" "),
        key: format!(
            "f16 in and out, f32 sums. Medians, the kernel interleaved with cuBLAS in one process; {}",
            steadiness(runs.map(|(_, run)| *run))
        ),
        foot,
    };
    let across = least - 0.3..most + 0.2;
    let draw = |area: &Area| {
        let (upper, lower) = area.split_vertically(UPPER);
        speeds(&upper, across.clone(), &series, &ceilings)?;
        ratios(&lower.margin(18, NAMES, 0, 0), across.clone(), &series)
    };
    sheet::sheet(HEIGHT, &words, draw).map(Some)
}

/// The spread of the ratio to cuBLAS over the rounds.
fn steadiness<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let widest = runs.filter_map(Run::spread_of_cublas).fold(0.0, f64::max);
    format!(
        "80% of the rounds are within {:.1}% of the ratio.",
        100.0 * widest
    )
}

/// One series for each architecture, the newest last, in the kernel's color.
fn series<'a>(record: &'a Record, rung: &str) -> Vec<Series<'a>> {
    let benches = record.benches().iter();
    let of_rung = benches.filter(|bench| Record::name_of(&bench.rung) == rung);
    let one = |bench: &'a Bench| {
        let all = bench.sizes.iter();
        let squares = all.filter(|run| is_square(&run.size) && run.time.is_some());
        let by_size = squares.map(|run| (f64::from(run.size.m).log2(), run));
        let mut runs: Vec<_> = by_size.collect();
        runs.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        Series {
            label: &bench.rung,
            ink: Ink::Older,
            runs,
        }
    };
    let mut all: Vec<Series> = of_rung.map(one).collect();
    if let Some(newest) = all.last_mut() {
        newest.ink = Ink::Kernel;
    }
    all
}

/// A series' part of the description.
fn said(series: &Series) -> String {
    let of = |(_, run): &(f64, &Run)| {
        let ratio = run.of_cublas().map_or("?".into(), percent);
        format!("{ratio} at {}", run.size.m)
    };
    let all: Vec<String> = series.runs.iter().map(of).collect();
    format!("{}, of cuBLAS: {}.", series.label, all.join(", "))
}

impl Series<'_> {
    /// TFLOP/s of a contestant at each size.
    fn tflops(&self, name: &str) -> Points {
        let of = |(size, run): &(f64, &Run)| Some((*size, run.contest(name)?.tflops));
        self.runs.iter().filter_map(of).collect()
    }
}

/// The upper panel. cuBLAS is drawn as timed with the newest kernel: its speed depends on the kernel that it is
/// interleaved with, since both share the power limit.
fn speeds(
    area: &Area,
    across: Range<f64>,
    series: &[Series],
    ceilings: &[Ceiling],
) -> anyhow::Result<()> {
    let mut lines: Vec<(&str, Ink, Points)> = Vec::new();
    if let Some(newest) = series.last() {
        lines.push((CUBLAS_LT, Ink::CublasLt, newest.tflops(CUBLAS_LT)));
        lines.push((CUBLAS, Ink::Cublas, newest.tflops(CUBLAS)));
    }
    let kernels = series.iter();
    lines.extend(kernels.map(|one| (one.label, one.ink, one.tflops("kernel"))));
    lines.retain(|(.., points)| !points.is_empty());

    let measured = lines.iter().flat_map(|(.., points)| points);
    let levels = measured.map(|(_, tflops)| *tflops);
    let levels = levels.chain(ceilings.iter().map(|ceiling| ceiling.tflops));
    let Some((_, top)) = ends(levels) else {
        return Ok(());
    };
    let top = 1.05 * top;
    let ticks = (0..50).map(|step| f64::from(step) * 200.0);
    let axis = Axis {
        title: "TFLOP/s",
        ticks: ticks.take_while(|tick| *tick < top).collect(),
        label: &|tflops| tflops.to_string(),
    };
    let panel = Panel::new(area, across.clone(), 0.0..top, &axis)?;
    let mut names = panel.ceilings(ceilings)?;
    for (name, ink, points) in lines {
        if let Some((size, tflops)) = points.last() {
            panel.line([(*size, *tflops), (across.end, *tflops)], ink.line(1))?;
            names.push((*tflops, name.to_owned(), ink));
        }
        panel.line(points.clone(), ink.line(2))?;
        if ink != Ink::CublasLt {
            for point in points {
                panel.dot(point, 4, ink)?;
            }
        }
    }
    panel.names(&names)
}

/// The lower panel, with the sizes below it.
fn ratios(area: &Area, across: Range<f64>, series: &[Series]) -> anyhow::Result<()> {
    let all = series.iter().flat_map(|one| &one.runs);
    let ratios = all.clone().filter_map(|(_, run)| run.of_cublas());
    let top = 1.18 * ratios.fold(1.0, f64::max);
    let panel = Panel::new(area, across.clone(), 0.0..top, &Axis::of_cublas())?;
    panel.level(1.0, Ink::Cublas.line(2))?;
    let mut names = vec![(1.0, CUBLAS.to_owned(), Ink::Cublas)];
    for one in series {
        let ratio = |(size, run): &(f64, &Run)| Some((*size, run.of_cublas()?));
        let points: Points = one.runs.iter().filter_map(ratio).collect();
        panel.line(points.clone(), one.ink.line(2))?;
        for &point in &points {
            panel.dot(point, 3, one.ink)?;
        }
        let last = points.last();
        names.extend(last.map(|(_, ratio)| (*ratio, one.label.to_owned(), one.ink)));
    }
    panel.names(&names)?;

    let mut sizes: Vec<_> = all.map(|(place, run)| (*place, run.size.m)).collect();
    sizes.sort_by_key(|(_, size)| *size);
    sizes.dedup();
    let style = Ink::Text.text(SIZE, HPos::Center, VPos::Top);
    for (place, size) in sizes {
        numbers(&panel, place, series)?;
        panel.text((place, 0.0), (0, 8), &size.to_string(), &style)?;
    }
    let middle = (across.start + across.end) / 2.0;
    panel.text((middle, 0.0), (0, 26), "M = N = K", &style)
}

/// The numbers at one size: below their points if those are below the line of cuBLAS, so that they do not overlap it;
/// else above.
fn numbers(panel: &Panel<RangedCoordf64>, place: f64, series: &[Series]) -> anyhow::Result<()> {
    let here = |one: &Series| {
        let (_, run) = one.runs.iter().find(|(size, _)| *size == place)?;
        Some((run.of_cublas()?, one.ink))
    };
    let numbers: Vec<(f64, Ink)> = series.iter().filter_map(here).collect();
    let pixel = |ratio: f64| panel.pixel((place, ratio));
    let wanted = numbers.iter().map(|&(ratio, _)| match ratio {
        0.1..1.0 => pixel(ratio) + 14.0,
        _ => pixel(ratio) - 14.0,
    });
    let found = spread(&wanted.collect::<Vec<_>>(), f64::from(SIZE) + 2.0);
    for ((ratio, ink), y) in numbers.into_iter().zip(found) {
        let down = (y - pixel(ratio)).round() as i32;
        let style = ink.text(SIZE, HPos::Center, VPos::Center);
        panel.text((place, ratio), (0, down), &percent(ratio), &style)?;
    }
    Ok(())
}
