//! Every rung at one size: TFLOP/s under the card's ceilings, and percent of cuBLAS.
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::panel::{Axis, SIZE, ends, line, names, panel, text, ticks};
use super::sheet::{self, Area, Ink, Words, clocks, provenance};
use super::{Ceiling, ceilings};
use crate::record::{CUBLAS, Record, Run};
use crate::table::percent;

const HEIGHT: u32 = 680;
/// Of the upper of the two panels, and what the lower keeps free for the rungs' names.
const UPPER: u32 = 350;
const NAMES: u32 = 48;

/// The plot; none if there is no size at which all rungs were timed.
pub fn rungs(record: &Record) -> anyhow::Result<Option<String>> {
    let Some(size) = record.common_size() else {
        return Ok(None);
    };
    let columns: Vec<(&str, &Run)> = record.runs().filter(|(_, run)| run.size == size).collect();
    let gpu = columns.first().map_or("", |(_, run)| &run.provenance.gpu);
    let (ceilings, mhz) = ceilings(gpu, &["FMA lanes", "mma.sync", "wgmma"])?;
    let said: Vec<String> = columns
        .iter()
        .map(|(rung, run)| format!("{rung}: {}", said(run)))
        .collect();
    let mut foot = clocks(mhz, columns.iter().map(|(_, run)| *run));
    foot.push(provenance(record));
    let words = Words {
        title: format!("Every rung at {size}: TFLOP/s, and percent of cuBLAS"),
        description: format!("{}.", said.join("; ")),
        key: "f16 in and out, f32 sums. Medians; each rung by turns with cuBLAS in one process."
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

/// What the description says of a column.
fn said(run: &Run) -> String {
    match (&run.time, run.of_cublas()) {
        (Some(time), Some(ratio)) => {
            format!("{:.1} TFLOP/s, {} of cuBLAS", time.tflops, percent(ratio))
        }
        (Some(time), None) => format!("{:.1} TFLOP/s", time.tflops),
        (None, _) => "a wrong C".into(),
    }
}

/// Column i is at x = i.
fn across(columns: &[(&str, &Run)]) -> std::ops::Range<f64> {
    -0.5..columns.len() as f64 - 0.5
}

/// TFLOP/s of a contestant in each column that has it.
fn tflops<'a>(columns: &'a [(&str, &Run)], name: &'a str) -> impl Iterator<Item = (f64, f64)> + 'a {
    let of = move |(column, (_, run)): (usize, &(&str, &Run))| {
        run.contest(name)
            .map(|contest| (column as f64, contest.tflops))
    };
    columns.iter().enumerate().filter_map(of)
}

/// The upper panel.
fn speeds(area: &Area, columns: &[(&str, &Run)], ceilings: &[Ceiling]) -> anyhow::Result<()> {
    let cublas: Vec<_> = tflops(columns, CUBLAS).collect();
    let measured = tflops(columns, "kernel").chain(cublas.iter().copied());
    let levels = measured.map(|(_, tflops)| tflops);
    let Some((least, most)) = ends(levels.chain(ceilings.iter().map(|ceiling| ceiling.tflops)))
    else {
        return Ok(());
    };
    // Room below the lowest for its number.
    let (least, most) = (least / 1.8, most * 1.3);
    let right = across(columns).end;
    let axis = Axis {
        title: "TFLOP/s (logarithmic)",
        ticks: ticks(least, most),
        label: &|tflops| tflops.to_string(),
    };
    let chart = panel(area, across(columns), (least..most).log_scale(), &axis)?;

    let mut lines = Vec::new();
    for Ceiling { name, tflops } in ceilings {
        line(
            &chart,
            vec![(-0.5, *tflops), (right, *tflops)],
            Ink::Faint.line(1),
        )?;
        lines.push((*tflops, format!("{name}, {tflops:.0}"), Ink::Faint));
    }
    for (column, tflops) in &cublas {
        line(
            &chart,
            vec![(column - 0.5, *tflops), (column + 0.5, *tflops)],
            Ink::Cublas.line(2),
        )?;
    }
    if let (Some((_, last)), Some((least, most))) = (
        cublas.last(),
        ends(cublas.iter().map(|(_, tflops)| *tflops)),
    ) {
        lines.push((
            *last,
            format!("{CUBLAS}, {least:.0} to {most:.0}"),
            Ink::Cublas,
        ));
    }
    names(&chart, right, &lines)?;

    let number = Ink::Kernel.text(SIZE + 1, HPos::Left, VPos::Top);
    let kernel: Vec<_> = tflops(columns, "kernel").collect();
    line(&chart, kernel.clone(), Ink::Kernel.line(1))?;
    for (column, tflops) in kernel {
        chart
            .plotting_area()
            .draw(&Circle::new((column, tflops), 5, Ink::Kernel.filled()))?;
        text(
            &chart,
            (column, tflops),
            (6, 6),
            &format!("{tflops:.1}"),
            number.clone(),
        )?;
    }
    Ok(())
}

/// The lower panel, with the rungs' names under it.
fn percents(area: &Area, columns: &[(&str, &Run)]) -> anyhow::Result<()> {
    let most = columns
        .iter()
        .filter_map(|(_, run)| run.of_cublas())
        .fold(1.0, f64::max);
    let right = across(columns).end;
    // Room above the highest for its number.
    let axis = Axis {
        title: "of cuBLAS f16",
        ticks: vec![0.0, 0.25, 0.5, 0.75, 1.0],
        label: &|ratio| format!("{:.0}%", 100.0 * ratio),
    };
    let chart = panel(area, across(columns), 0.0..1.18 * most, &axis)?;
    let number = Ink::Kernel.text(SIZE + 1, HPos::Center, VPos::Bottom);
    let wrong = Ink::Older.text(SIZE + 1, HPos::Center, VPos::Bottom);
    let bars = columns
        .iter()
        .enumerate()
        .map(|(column, (_, run))| (column as f64, run));
    for (column, run) in bars.clone() {
        if let Some(ratio) = run.of_cublas() {
            let bar = [(column - 0.3, 0.0), (column + 0.3, ratio)];
            chart
                .plotting_area()
                .draw(&Rectangle::new(bar, Ink::Kernel.filled()))?;
        }
    }
    line(&chart, vec![(-0.5, 1.0), (right, 1.0)], Ink::Cublas.line(2))?;
    names(&chart, right, &[(1.0, CUBLAS.into(), Ink::Cublas)])?;
    for (column, run) in bars {
        match run.of_cublas() {
            Some(ratio) => text(
                &chart,
                (column, ratio),
                (0, -4),
                &percent(ratio),
                number.clone(),
            )?,
            None if run.time.is_none() => {
                text(&chart, (column, 0.0), (0, -4), "WRONG", wrong.clone())?
            }
            None => {}
        }
    }
    for (column, (label, _)) in columns.iter().enumerate() {
        for (row, word) in label.split(' ').enumerate() {
            let style = Ink::Text.text(SIZE, HPos::Center, VPos::Top);
            text(
                &chart,
                (column as f64, 0.0),
                (0, 8 + 18 * row as i32),
                word,
                style,
            )?;
        }
    }
    Ok(())
}
