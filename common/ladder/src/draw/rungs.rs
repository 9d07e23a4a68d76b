//! Every rung at one size: TFLOP/s under the card's ceilings, and percent of cuBLAS.
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::panel::{Axis, Panel, SIZE, ends, ticks};
use super::sheet::{self, Area, Ink, Words, clocks, provenance};
use super::{Ceiling, ceilings};
use crate::record::{CUBLAS, Record, Run};
use harness::table::percent;

const HEIGHT: u32 = 680;
/// Height of the upper of the two panels, and of the rungs' names in the lower one.
const UPPER: u32 = 350;
const NAMES: u32 = 48;

/// The plot; `None` if there is no size at which all rungs were timed.
pub fn rungs(record: &Record) -> anyhow::Result<Option<String>> {
    let Some(size) = record.common_size() else {
        return Ok(None);
    };
    let columns: Vec<(&str, &Run)> = record.runs().filter(|(_, run)| run.size == size).collect();
    let gpu = columns
        .first()
        .map_or("", |(_, run)| &run.provenance.gpu.name);
    let (ceilings, mhz) = ceilings(gpu, &["FMA lanes", "mma.sync", "wgmma"])?;
    let all = columns.iter();
    let said: Vec<String> = all
        .map(|(rung, run)| format!("{rung}: {}", said(run)))
        .collect();
    let mut foot = clocks(mhz, columns.iter().map(|(_, run)| *run));
    foot.push(provenance(record));
    let words = Words {
        title: format!("Every rung at {size}: TFLOP/s, and percent of cuBLAS"),
        description: format!("{}.", said.join("; ")),
        key: "f16 in and out, f32 sums. Medians; each rung interleaved with cuBLAS in one process."
            .into(),
        foot,
    };
    let draw = |area: &Area| {
        let (upper, lower) = area.split_vertically(UPPER);
        speeds(&upper, &columns, &ceilings)?;
        percents(&lower.margin(18, NAMES, 0, 0), &columns)
    };
    sheet::sheet(HEIGHT, &words, draw).map(Some)
}

/// A column's part of the description.
fn said(run: &Run) -> String {
    match (&run.time, run.of_cublas()) {
        (Some(time), Some(ratio)) => {
            format!("{:.1} TFLOP/s, {} of cuBLAS", time.tflops, percent(ratio))
        }
        (Some(time), None) => format!("{:.1} TFLOP/s", time.tflops),
        (None, _) => "a wrong C".into(),
    }
}

/// The x axis: column i is at x = i.
fn across(columns: &[(&str, &Run)]) -> std::ops::Range<f64> {
    -0.5..columns.len() as f64 - 0.5
}

/// TFLOP/s of a contestant, in each column that has it.
fn tflops<'a>(columns: &'a [(&str, &Run)], name: &'a str) -> impl Iterator<Item = (f64, f64)> + 'a {
    let columns = columns.iter().enumerate();
    columns.filter_map(move |(column, (_, run))| Some((column as f64, run.contest(name)?.tflops)))
}

/// The upper panel.
fn speeds(area: &Area, columns: &[(&str, &Run)], ceilings: &[Ceiling]) -> anyhow::Result<()> {
    let cublas: Vec<_> = tflops(columns, CUBLAS).collect();
    let measured = tflops(columns, "kernel").chain(cublas.iter().copied());
    let levels = measured.map(|(_, tflops)| tflops);
    let levels = levels.chain(ceilings.iter().map(|ceiling| ceiling.tflops));
    let Some((least, most)) = ends(levels) else {
        return Ok(());
    };
    // Space below the lowest point for its number.
    let (least, most) = (least / 1.8, most * 1.3);
    let axis = Axis {
        title: "TFLOP/s (logarithmic)",
        ticks: ticks(least, most),
        label: &|tflops| tflops.to_string(),
    };
    let panel = Panel::new(area, across(columns), (least..most).log_scale(), &axis)?;

    let mut names = panel.ceilings(ceilings)?;
    for (column, tflops) in &cublas {
        let step = [(column - 0.5, *tflops), (column + 0.5, *tflops)];
        panel.line(step, Ink::Cublas.line(2))?;
    }
    let range = ends(cublas.iter().map(|(_, tflops)| *tflops));
    if let (Some((_, last)), Some((least, most))) = (cublas.last(), range) {
        let name = format!("{CUBLAS}, {least:.0} to {most:.0}");
        names.push((*last, name, Ink::Cublas));
    }
    panel.names(&names)?;

    let number = Ink::Kernel.text(SIZE + 1, HPos::Left, VPos::Top);
    let kernel: Vec<_> = tflops(columns, "kernel").collect();
    panel.line(kernel.clone(), Ink::Kernel.line(1))?;
    for (column, tflops) in kernel {
        panel.dot((column, tflops), 5, Ink::Kernel)?;
        panel.text((column, tflops), (6, 6), &format!("{tflops:.1}"), &number)?;
    }
    Ok(())
}

/// The lower panel, with the rungs' names below it.
fn percents(area: &Area, columns: &[(&str, &Run)]) -> anyhow::Result<()> {
    let ratios = columns.iter().filter_map(|(_, run)| run.of_cublas());
    // Space above the highest point for its number.
    let top = 1.18 * ratios.fold(1.0, f64::max);
    let panel = Panel::new(area, across(columns), 0.0..top, &Axis::of_cublas())?;
    let columns = columns.iter().enumerate();
    let columns = columns.map(|(column, (label, run))| (column as f64, label, run));
    for (column, _, run) in columns.clone() {
        if let Some(ratio) = run.of_cublas() {
            panel.bar([(column - 0.3, 0.0), (column + 0.3, ratio)], Ink::Kernel)?;
        }
    }
    panel.level(1.0, Ink::Cublas.line(2))?;
    panel.names(&[(1.0, CUBLAS.into(), Ink::Cublas)])?;
    let number = |ink: Ink| ink.text(SIZE + 1, HPos::Center, VPos::Bottom);
    for (column, _, run) in columns.clone() {
        let (level, words, ink) = match run.of_cublas() {
            Some(ratio) => (ratio, percent(ratio), Ink::Kernel),
            None if run.time.is_none() => (0.0, "WRONG".into(), Ink::Older),
            None => continue,
        };
        panel.text((column, level), (0, -4), &words, &number(ink))?;
    }
    let style = Ink::Text.text(SIZE, HPos::Center, VPos::Top);
    for (column, label, _) in columns {
        for (row, word) in (0..).zip(label.split(' ')) {
            panel.text((column, 0.0), (0, 8 + 18 * row), word, &style)?;
        }
    }
    Ok(())
}
