//! One of a sheet's panels: its axes, and the names of its lines at their right ends.
use std::ops::Range;

use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::sheet::{Area, Ink};
use super::spread::spread;

pub type Chart<'a, Y> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, Y>>;

/// Left of the panel, for its axis; right of it, for the names of lines; below it, for what its columns are.
pub const LEFT: u32 = 74;
pub const RIGHT: u32 = 176;

/// Of a character, in pixels.
pub const SIZE: u32 = 12;
/// From one line's name to the next.
const LINE: f64 = 17.0;

/// An axis: where its lines are, what they say, and what it shows.
pub struct Axis<'a> {
    pub title: &'a str,
    pub ticks: Vec<f64>,
    pub label: &'a dyn Fn(f64) -> String,
}

/// A panel with the horizontal lines of its axis.
pub fn panel<'a, Y>(
    area: &Area<'a>,
    x: Range<f64>,
    y: impl AsRangedCoord<CoordDescType = Y, Value = f64>,
    axis: &Axis,
) -> anyhow::Result<Chart<'a, Y>>
where
    Y: Ranged<ValueType = f64>,
{
    let chart = ChartBuilder::on(area)
        .margin_left(LEFT)
        .margin_right(RIGHT)
        .build_cartesian_2d(x.clone(), y)?;
    for &tick in &axis.ticks {
        line(
            &chart,
            vec![(x.start, tick), (x.end, tick)],
            Ink::Rule.line(1),
        )?;
        let style = Ink::Text.text(SIZE, HPos::Right, VPos::Center);
        text(&chart, (x.start, tick), (-8, 0), &(axis.label)(tick), style)?;
    }
    let (height, style) = (
        area.dim_in_pixel().1,
        Ink::Text.text(SIZE, HPos::Center, VPos::Center),
    );
    let upwards = style.transform(FontTransform::Rotate270);
    area.draw_text(axis.title, &upwards, (20, height as i32 / 2))?;
    Ok(chart)
}

/// Writes the names of lines beside their right ends at `x`, with a stroke where a name had to give way to another.
pub fn names<Y>(chart: &Chart<'_, Y>, x: f64, lines: &[(f64, String, Ink)]) -> anyhow::Result<()>
where
    Y: Ranged<ValueType = f64>,
{
    let pixel = |y: f64| f64::from(chart.backend_coord(&(x, y)).1);
    let wanted: Vec<f64> = lines.iter().map(|(y, ..)| pixel(*y)).collect();
    for ((y, name, ink), (wanted, found)) in
        lines.iter().zip(wanted.iter().zip(spread(&wanted, LINE)))
    {
        let down = (found - wanted).round() as i32;
        let label = EmptyElement::at((x, *y))
            + PathElement::new([(2, 0), (14, down)], ink.line(1))
            + Text::new(
                name.clone(),
                (18, down),
                ink.text(SIZE, HPos::Left, VPos::Center),
            );
        chart.plotting_area().draw(&label)?;
    }
    Ok(())
}

/// Text at a point of the panel, moved by so many pixels.
pub fn text<Y>(
    chart: &Chart<'_, Y>,
    at: (f64, f64),
    moved: (i32, i32),
    words: &str,
    style: TextStyle<'static>,
) -> anyhow::Result<()>
where
    Y: Ranged<ValueType = f64>,
{
    let text = EmptyElement::at(at) + Text::new(words.to_owned(), moved, style);
    Ok(chart.plotting_area().draw(&text)?)
}

/// A line through points.
pub fn line<Y>(
    chart: &Chart<'_, Y>,
    points: Vec<(f64, f64)>,
    style: ShapeStyle,
) -> anyhow::Result<()>
where
    Y: Ranged<ValueType = f64>,
{
    Ok(chart
        .plotting_area()
        .draw(&PathElement::new(points, style))?)
}

/// 1, 2 and 5 times the powers of ten in a range.
pub fn ticks(least: f64, most: f64) -> Vec<f64> {
    let powers = (0..7).map(|power| 10f64.powi(power));
    powers
        .flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * power))
        .filter(|tick| (least..most).contains(tick))
        .collect()
}

/// The least and the greatest of some levels; none if there is none above 0.
pub fn ends(levels: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let levels: Vec<f64> = levels.filter(|level| level.is_finite()).collect();
    let least = levels.iter().copied().reduce(f64::min)?;
    let most = levels.iter().copied().reduce(f64::max)?;
    (least > 0.0).then_some((least, most))
}
