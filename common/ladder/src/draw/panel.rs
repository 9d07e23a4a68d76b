//! One of a sheet's panels: its axes, and the names of its lines at their right ends.
use std::ops::Range;

use anyhow::Result;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::Ceiling;
use super::sheet::{Area, Ink};
use super::spread::spread;

pub struct Panel<'a, Y: Ranged> {
    chart: ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, Y>>,
    /// Its left and right edge.
    x: Range<f64>,
}

/// The margins: left of the panel for its axis, right of it for the names of lines.
pub const LEFT: u32 = 74;
pub const RIGHT: u32 = 176;

/// Font size, in pixels.
pub const SIZE: u32 = 12;
/// The distance of two names.
const LINE: f64 = 17.0;

/// The level of a line at its right end, its name and its color.
pub type Name = (f64, String, Ink);

/// An axis: its grid lines, their labels, and its title.
pub struct Axis<'a> {
    pub title: &'a str,
    pub ticks: Vec<f64>,
    pub label: &'a dyn Fn(f64) -> String,
}

impl Axis<'_> {
    /// The ratio to cuBLAS.
    pub fn of_cublas() -> Self {
        Self {
            title: "of cuBLAS f16",
            ticks: vec![0.0, 0.25, 0.5, 0.75, 1.0],
            label: &|ratio| format!("{:.0}%", 100.0 * ratio),
        }
    }
}

impl<'a, Y: Ranged<ValueType = f64>> Panel<'a, Y> {
    /// A panel with the horizontal lines of its axis.
    pub fn new(
        area: &Area<'a>,
        x: Range<f64>,
        y: impl AsRangedCoord<CoordDescType = Y, Value = f64>,
        axis: &Axis,
    ) -> Result<Self> {
        let chart = ChartBuilder::on(area)
            .margin_left(LEFT)
            .margin_right(RIGHT)
            .build_cartesian_2d(x.clone(), y)?;
        let panel = Self { chart, x };
        let style = Ink::Text.text(SIZE, HPos::Right, VPos::Center);
        for &tick in &axis.ticks {
            panel.level(tick, Ink::Rule.line(1))?;
            let label = (axis.label)(tick);
            panel.text((panel.x.start, tick), (-8, 0), &label, &style)?;
        }
        let middle = area.dim_in_pixel().1 as i32 / 2;
        let style = Ink::Text.text(SIZE, HPos::Center, VPos::Center);
        let upwards = style.transform(FontTransform::Rotate270);
        area.draw_text(axis.title, &upwards, (20, middle))?;
        Ok(panel)
    }

    /// Draws the ceilings, and returns their names.
    pub fn ceilings(&self, ceilings: &[Ceiling]) -> Result<Vec<Name>> {
        let one = |Ceiling { name, tflops }: &Ceiling| {
            self.level(*tflops, Ink::Faint.line(1))?;
            Ok((*tflops, format!("{name}, {tflops:.0}"), Ink::Faint))
        };
        ceilings.iter().map(one).collect()
    }

    /// Writes the names of lines beside their right ends, with a stroke where a name was moved to avoid an overlap.
    pub fn names(&self, lines: &[Name]) -> Result<()> {
        let x = self.x.end;
        let wanted: Vec<f64> = lines.iter().map(|(y, ..)| self.pixel((x, *y))).collect();
        let moved = wanted.iter().zip(spread(&wanted, LINE));
        for ((y, name, ink), (wanted, found)) in lines.iter().zip(moved) {
            let down = (found - wanted).round() as i32;
            let style = ink.text(SIZE, HPos::Left, VPos::Center);
            let label = EmptyElement::at((x, *y))
                + PathElement::new([(2, 0), (14, down)], ink.line(1))
                + Text::new(name.clone(), (18, down), style);
            self.chart.plotting_area().draw(&label)?;
        }
        Ok(())
    }

    /// The y coordinate of a point, in pixels.
    pub fn pixel(&self, at: (f64, f64)) -> f64 {
        self.chart.backend_coord(&at).1.into()
    }

    /// Text at a point, moved by an offset in pixels.
    pub fn text(
        &self,
        at: (f64, f64),
        moved: (i32, i32),
        words: &str,
        style: &TextStyle<'static>,
    ) -> Result<()> {
        let text = Text::new(words.to_owned(), moved, style.clone());
        let text = EmptyElement::at(at) + text;
        Ok(self.chart.plotting_area().draw(&text)?)
    }

    /// A line through points.
    pub fn line(&self, points: impl Into<Vec<(f64, f64)>>, style: ShapeStyle) -> Result<()> {
        let path = PathElement::new(points, style);
        Ok(self.chart.plotting_area().draw(&path)?)
    }

    /// A horizontal line across the panel.
    pub fn level(&self, y: f64, style: ShapeStyle) -> Result<()> {
        self.line([(self.x.start, y), (self.x.end, y)], style)
    }

    /// A dot of this radius.
    pub fn dot(&self, at: (f64, f64), radius: u32, ink: Ink) -> Result<()> {
        let dot = Circle::new(at, radius, ink.filled());
        Ok(self.chart.plotting_area().draw(&dot)?)
    }

    /// A rectangle between two corners.
    pub fn bar(&self, corners: [(f64, f64); 2], ink: Ink) -> Result<()> {
        let bar = Rectangle::new(corners, ink.filled());
        Ok(self.chart.plotting_area().draw(&bar)?)
    }
}

/// The multiples 1, 2 and 5 of powers of ten in a range.
pub fn ticks(least: f64, most: f64) -> Vec<f64> {
    let powers = (0..7).map(|power| 10f64.powi(power));
    powers
        .flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * power))
        .filter(|tick| (least..most).contains(tick))
        .collect()
}

/// The least and the greatest of some levels; `None` if none is above 0.
pub fn ends(levels: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let levels: Vec<f64> = levels.filter(|level| level.is_finite()).collect();
    let least = levels.iter().copied().reduce(f64::min)?;
    let most = levels.iter().copied().reduce(f64::max)?;
    (least > 0.0).then_some((least, most))
}
